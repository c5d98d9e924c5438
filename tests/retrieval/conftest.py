"""A sentence-transformers model of a few kilobytes, and an embeddings endpoint on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.retrieval.counting_embedder import vector

WORDS = "the red blue green cat dog fox bird sat ran sang at in on park river hill who where was".split()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of one layer that reads 24 tokens, with mean pooling."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    bert, out = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("models") / "tiny"
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{x}" for x in letters),
        *WORDS,
        ":",
        "?",
    ]
    (bert / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=24,
    )  # fmt: skip
    BertModel(config).save_pretrained(bert)
    BertTokenizerFast(vocab=str(bert / "vocab.txt"), model_max_length=24).save_pretrained(bert)
    words = Transformer(str(bert), max_seq_length=24)
    SentenceTransformer(modules=[words, Pooling(16, "mean")], device="cpu").save(str(out))
    return out


class Endpoint:
    """`/v1/embeddings` that fails on request and records what it was asked."""

    def __init__(self) -> None:
        self.failures: list[int] = []
        """Statuses of the next answers."""
        self.most_texts, self.most_characters, self.reverse, self.size = 2048, 10_000, False, 8
        self.asked: list[list[str]] = []
        self.keys: list[str | None] = []
        self.queries: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.keys.append(self.headers["Authorization"])
                path, _, query = self.path.partition("?")
                endpoint.queries.append(query)
                status, answer = endpoint.answer(path, body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Retry-After-Ms", "20")
                if status in (302, 307):
                    self.send_header("Location", f"{endpoint.url}/elsewhere?token=abc")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path: str, body: dict) -> tuple[int, object]:
        def error(status: int, message: str) -> tuple[int, object]:
            return status, {"error": {"message": message}}

        if self.failures:
            return error(self.failures.pop(0), "on purpose")
        texts = body["input"]
        if path != "/v1/embeddings" or body["model"] not in ("m", "BAAI/bge-small-en-v1.5"):
            return error(404, f"no {body['model']} at {path}")
        if len(texts) > self.most_texts:
            return error(413, f"batch of {len(texts)}")
        if any(len(text) > self.most_characters for text in texts):
            return error(400, "maximum context length")
        self.asked.append(texts)
        rows = [vector(text, self.size) for text in texts]
        coded = body.get("encoding_format") == "base64"
        vectors = [base64.b64encode(row.tobytes()).decode() if coded else row.tolist() for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": one} for i, one in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, {
            "object": "list",
            "model": body["model"],
            "data": data[:: -1 if self.reverse else 1],
            "usage": usage,
        }


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    pytest.importorskip("openai", reason="openai is not installed")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running = Endpoint()
    yield running
    running.server.shutdown()
    running.server.server_close()
