"""What the adapter of StructMem calls of LightMem, written for its tests: the same calls, results and habits.

A test copies this file to `src/lightmem/memory/lightmem.py` of a folder that it passes off as a checkout. `SEGMENTS` is
the habit of some versions to store nothing unless a segmenter cuts the conversation.
"""

import concurrent.futures
import json
import uuid
from datetime import datetime, timedelta
from types import SimpleNamespace

import httpx
import tiktoken
from openai import OpenAI
from qdrant_client import QdrantClient
from qdrant_client import models as qdrant
from sentence_transformers import SentenceTransformer

SEGMENTS = True
GLOBAL_LAST_SUMMARY_TIME = None


class Manager:
    def __init__(self, model, api_key, openai_base_url, max_tokens):
        self.model, self.max_tokens = model, max_tokens
        self.client = OpenAI(api_key=api_key, base_url=openai_base_url, http_client=httpx.Client(verify=False))

    def generate_response(self, messages, response_format=None):
        options = {"response_format": response_format} if response_format else {}
        response = self.client.chat.completions.create(
            model=self.model, messages=messages, max_tokens=self.max_tokens, **options
        )
        return response.choices[0].message.content, {"total_tokens": response.usage.total_tokens}

    def extract(self, task, messages):
        said = "\n".join(f"{i // 2}.{m['role']}: {m['content']}" for i, m in enumerate(messages) if m["role"] == "user")
        try:
            reply, _ = self.generate_response(
                messages=[{"role": "system", "content": task}, {"role": "user", "content": said}],
                response_format={"type": "json_object"},
            )
            return json.loads(reply)["data"]
        except Exception as error:
            print(f"Error processing API call: {error}")
            return []


class Embedder:
    def __init__(self, model, embedding_dims, model_kwargs):
        self.model = SentenceTransformer(model, **model_kwargs)

    def embed(self, text):
        return self.model.encode(text, convert_to_numpy=True).tolist()


class Retriever:
    def __init__(self, collection_name, path, on_disk, embedding_model_dims):
        assert on_disk, "another one deletes the folder"
        self.client, self.name = QdrantClient(path=path), collection_name
        if not self.client.collection_exists(collection_name):
            vectors = qdrant.VectorParams(size=embedding_model_dims, distance=qdrant.Distance.COSINE, on_disk=True)
            self.client.create_collection(collection_name, vectors_config=vectors)

    def insert(self, vectors, payloads, ids):
        points = [qdrant.PointStruct(id=i, vector=v, payload=p) for i, v, p in zip(ids, vectors, payloads, strict=True)]
        self.client.upsert(self.name, points=points)

    def search(self, query_vector, limit=5, filters=None, return_full=False):
        hits = self.client.query_points(self.name, query=query_vector, limit=limit, with_payload=True).points
        return [{"id": h.id, "score": h.score} | ({"payload": h.payload} if return_full else {}) for h in hits]

    def delete(self, vector_id):
        self.client.delete(self.name, points_selector=qdrant.PointIdsList(points=[vector_id]))

    def get_all(self, with_vectors=True):
        points, _ = self.client.scroll(self.name, limit=10_000, with_payload=True, with_vectors=with_vectors)
        return [point.model_dump() for point in points]

    def close(self):
        self.client.close()


class LightMemory:
    @classmethod
    def from_config(cls, config):
        return cls(config)

    def __init__(self, config):
        assert config["extraction_mode"] == "event" and not config["pre_compress"]
        self.config = SimpleNamespace(**config)
        self.manager = Manager(**config["memory_manager"]["configs"])
        self.tokenizer = tiktoken.encoding_for_model(self.manager.model)
        self.text_embedder = Embedder(**config["text_embedder"]["configs"])
        self.embedding_retriever = Retriever(**config["embedding_retriever"]["configs"])
        self.summary_retriever = Retriever(**config["summary_retriever"]["configs"])

    def add_memory(self, messages, METADATA_GENERATE_PROMPT=None, *, force_segment=False, force_extract=False):
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2)
        if SEGMENTS and not self.config.topic_segment:
            return {"triggered": True, "emitted_messages": messages, "carryover_size": 0}
        segments = [messages]
        if self.config.topic_segment:
            segments = self.senmem_buffer_manager.add_messages(messages, self.segmenter, self.text_embedder)
            if force_segment:
                segments = self.senmem_buffer_manager.cut_with_segmenter(self.segmenter, self.text_embedder, True)
        assert force_extract and self.tokenizer.encode(messages[0]["content"])
        for segment in segments:
            for task in ("Extract facts.", "Extract relations."):
                for entry in self.manager.extract(task, segment):
                    self._insert(entry["fact"], segment[entry["source_id"] * 2]["time_stamp"])
        return {"add_input_prompt": [], "add_output_prompt": [], "api_call_nums": 2}

    def _insert(self, memory, time):
        moment = datetime.fromisoformat(time)
        payload = {
            "time_stamp": moment.isoformat(timespec="milliseconds"),
            "float_time_stamp": moment.timestamp(),
            "weekday": moment.strftime("%a"),
            "memory": memory,
        }
        self.embedding_retriever.insert([self.text_embedder.embed(memory)], [payload], [str(uuid.uuid4())])

    def summarize(self, *, time_window=3600, process_all=False, retrieval_scope="global", top_k_seeds=15):
        global GLOBAL_LAST_SUMMARY_TIME
        times = sorted(entry["payload"]["float_time_stamp"] for entry in self.embedding_retriever.get_all())
        new = [time for time in times if GLOBAL_LAST_SUMMARY_TIME is None or time > GLOBAL_LAST_SUMMARY_TIME]
        if not new:
            return
        text, _ = self.manager.generate_response(
            messages=[{"role": "user", "content": f"Summarize {len(new)} entries."}]
        )
        payload = {"summary": text, "until": str(datetime.fromtimestamp(new[-1]) + timedelta(seconds=time_window))}
        self.summary_retriever.insert([self.text_embedder.embed(text)], [payload], [str(uuid.uuid4())])
        GLOBAL_LAST_SUMMARY_TIME = new[-1]

    def construct_update_queue_all_entries(self, top_k=20, keep_top_n=10, max_workers=8):
        pass

    def offline_update_all_entries(self, score_threshold=0.9, max_workers=5):
        """Ask about pairs of entries that are near; what a thread raises is lost, as in LightMem."""

        def update(entry):
            near = self.embedding_retriever.search(entry["vector"], limit=2)
            if not any(hit["id"] != entry["id"] and hit["score"] >= score_threshold for hit in near):
                return
            reply, _ = self.manager.generate_response(
                messages=[{"role": "user", "content": f"Target memory:{entry['payload']['memory']}"}],
                response_format={"type": "json_object"},
            )
            if json.loads(reply)["action"] == "delete":
                self.embedding_retriever.delete(entry["id"])

        with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
            pool.map(update, self.embedding_retriever.get_all())
