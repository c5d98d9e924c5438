"""Mem0: facts that a model extracts from each conversation, searched by embedding. For mem0ai 2.x and 1.x.

MemFail, Section 4 and Appendix B. The published evaluation gave each whole conversation, user and assistant, to one
`add()`, and had version 1.0.3. Version 1.x adds, changes and deletes what it holds, 2.x only adds. Neither takes the
time of a conversation into its prompts, which name the machine's date; the simulated time becomes the `created_at` of
the memories.

Mem0 writes its memories one by one, so a process that is killed would leave part of a conversation behind. Therefore the
store is copied before each conversation. Where a copy is found, the conversation was not finished: the copy takes the
place of the store.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "temperature": 0.1,
    "top_p": 0.1,
    "max_tokens": 2000,
    "threshold": 0.0,  # of similarity, for a memory to be returned; that of 2.x is 0.1 and returns fewer than k
}

_ALL = 100_000  # memories to list; by default 2.x lists 20, and 1.x lists 100
_USER = "user"
_UNPARSED = (
    "Error parsing extraction response",
    "Error in new_retrieved_facts",
    "Invalid JSON response",
    "Error iterating new_memories_with_actions",
)
_HARMLESS = (
    "fastembed not installed",  # extras for search by words, which the published evaluation did not have either
    "Failed to load spaCy",
    "Empty response from LLM",  # follows an error that has been counted, or an empty reply that has been
)


class Mem0:
    """A store in a folder: vectors in Qdrant's local files, and the history of changes in SQLite."""

    durable = True

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        os.environ |= {"MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False"}  # both are read at import
        os.environ.pop("OPENROUTER_API_KEY", None)  # with it, mem0 would leave base_url
        from mem0 import Memory  # type: ignore[import-not-found]

        self._make, self._first_major = Memory.from_config, version("mem0ai").startswith("1.")
        self._settings = settings
        self._store, self._copy, self._draft = folder / "store", folder / "copy", folder / "draft"
        self._watch = _Watch()
        logging.getLogger("mem0").addHandler(self._watch)
        self._open()

    def store_conversation(self, conversation: list[dict[str, str]]) -> None:
        """Give the whole conversation to one `add()`, unless it was the last one to be stored.

        Raises:
            Exception: the model or the embedder gave no answer, or 2.x read one in which memories are no objects.
                Nothing of the conversation is stored.
        """
        place = hashlib.sha256(json.dumps(conversation, sort_keys=True).encode()).hexdigest()
        last = self._store / "last-conversation"
        if last.exists() and last.read_text() == place:
            return
        shutil.rmtree(self._draft, ignore_errors=True)
        shutil.copytree(self._store, self._draft)
        self._draft.rename(self._copy)
        swallowed = self._watch.swallowed
        messages = [{"role": turn["role"], "content": turn["content"]} for turn in conversation]
        time = conversation[-1].get("timestamp") if conversation else None
        try:
            self._memory.add(messages, user_id=_USER, metadata={"created_at": time} if time else None)
        except BaseException:
            self._watch.swallowed = swallowed  # what was logged is raised, and not swallowed
            self._release()
            self._open()
            raise
        last.write_text(place)
        self._drop_copy()

    def retrieve_memories(self, query: str, conversation: list[dict[str, str]], k: int) -> list[str]:
        """Return the k memories that `search()` finds. The conversation is not used, as in the published evaluation."""
        if self._first_major:
            # It compares similarities only if it gets a threshold, and 0 would leave out what is dissimilar.
            found = self._memory.search(query, user_id=_USER, limit=k, threshold=self._settings["threshold"] or None)
        else:
            found = self._memory.search(
                query, filters={"user_id": _USER}, top_k=k, threshold=self._settings["threshold"]
            )
        return [memory["memory"] for memory in found["results"]]

    def get_all_memories(self) -> list[str]:
        """Return all memories."""
        if self._first_major:
            found = self._memory.get_all(user_id=_USER, limit=_ALL)
        else:
            found = self._memory.get_all(filters={"user_id": _USER}, top_k=_ALL)
        return [memory["memory"] for memory in found["results"]]

    def usage(self) -> dict[str, int]:
        """Return how many replies could not be parsed, and how many errors mem0 logged and went on from."""
        return {"unparsable": self._watch.unparsable, "swallowed": self._watch.swallowed}

    def close(self) -> None:
        """Close the files."""
        logging.getLogger("mem0").removeHandler(self._watch)
        self._release()

    def _open(self) -> None:
        """Open the store as it was after the last conversation that was stored whole."""
        if self._copy.exists():
            shutil.rmtree(self._store, ignore_errors=True)
            self._copy.rename(self._store)
        self._store.mkdir(parents=True, exist_ok=True)
        settings = self._settings
        api = {"api_key": settings["api_key"], "openai_base_url": settings["base_url"]}
        model = {name: settings[name] for name in ("model", "temperature", "top_p", "max_tokens")}
        vectors = {"embedding_model_dims": settings["dimensions"], "path": str(self._store / "qdrant"), "on_disk": True}
        self._memory = self._make(
            {
                "llm": {"provider": "openai", "config": {**api, **model}},
                "embedder": {
                    "provider": "openai",
                    "config": {**api, "model": settings["embedding_model"], "embedding_dims": settings["dimensions"]},
                },
                "vector_store": {"provider": "qdrant", "config": {"collection_name": "memories", **vectors}},
                "history_db_path": str(self._store / "history.db"),
            }
        )
        self._memory.llm.generate_response = self._watch.replies_of(self._memory.llm.generate_response)
        self._memory.embedding_model.embed = _of_length(settings["dimensions"], self._memory.embedding_model.embed)

    def _release(self) -> None:
        with suppress(AttributeError):  # it has been closed before
            self._memory.close()
            self._memory.vector_store.client.close()
            del self._memory

    def _drop_copy(self) -> None:
        self._copy.rename(self._draft)  # at once, so that half a copy is never taken for a whole one
        shutil.rmtree(self._draft)


class _Watch(logging.StreamHandler[Any]):
    """Counts what goes wrong inside mem0, from its log and the model's replies, and prints its log."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)
        self.unparsable = self.swallowed = 0
        self._counted = False  # whether the last reply is among the unparsable ones

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if words.startswith(_UNPARSED):
            self.unparsable += not self._counted
            self._counted = True
        elif not words.startswith(_HARMLESS):
            self.swallowed += 1
        super().emit(record)

    def replies_of(self, generate: Any) -> Any:
        """Wrap the method that calls the model, because 2.x takes an empty reply, or JSON without memories, silently."""

        def generate_and_look(*args: Any, **named: Any) -> Any:
            reply = generate(*args, **named)
            self._counted = not _says_memories(reply)
            self.unparsable += self._counted
            return reply

        return generate_and_look


def _of_length(dimensions: int, embed: Any) -> Any:
    """Wrap the method that embeds a text, because Qdrant's error would not name the cause, and 1.x would hide it."""

    def embed_and_look(*args: Any, **named: Any) -> Any:
        vector = embed(*args, **named)
        if len(vector) != dimensions:
            raise ValueError(f"embedding model: expected vectors of {dimensions} numbers, got {len(vector)}")
        return vector

    return embed_and_look


def _says_memories(reply: Any) -> bool:
    """Whether a reply contains a JSON object with a list of facts (1.x) or of memories, which are objects."""
    text = reply if isinstance(reply, str) else ""
    try:
        found = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return False
    memories = found.get("memory")
    if isinstance(memories, list):
        return all(isinstance(memory, dict) for memory in memories)
    return isinstance(found.get("facts"), list)
