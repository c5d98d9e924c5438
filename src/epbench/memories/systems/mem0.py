"""Mem0: facts that a model extracts from each conversation, searched by embedding. For mem0ai 2.x and 1.x.

MemFail, Section 4 and Appendix B. The published evaluation gave each whole conversation, user and assistant, to one
`add()`, and had version 1.0.3. Version 1.x adds, changes and deletes what it holds, 2.x only adds. Neither takes the
time of a conversation into its prompts, which name the machine's date; the simulated time becomes the `created_at` of
the memories.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from epbench.memories.systems.adapter import Watch

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

        self._first_major = version("mem0ai").startswith("1.")
        self._threshold = settings["threshold"]
        self._watch = _Watch("mem0")
        self.usage = self._watch.usage
        api = {"api_key": settings["api_key"], "openai_base_url": settings["base_url"]}
        model = {name: settings[name] for name in ("model", "temperature", "top_p", "max_tokens")}
        vectors = {"embedding_model_dims": settings["dimensions"], "path": str(folder / "qdrant"), "on_disk": True}
        self._memory = Memory.from_config(
            {
                "llm": {"provider": "openai", "config": {**api, **model}},
                "embedder": {
                    "provider": "openai",
                    "config": {**api, "model": settings["embedding_model"], "embedding_dims": settings["dimensions"]},
                },
                "vector_store": {"provider": "qdrant", "config": {"collection_name": "memories", **vectors}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.llm.generate_response = self._watch.replies_of(self._memory.llm.generate_response)
        self._memory.embedding_model.embed = _of_length(settings["dimensions"], self._memory.embedding_model.embed)

    def store_conversation(self, conversation: list[dict[str, str]]) -> None:
        """Give the whole conversation to one `add()`.

        Raises:
            Exception: the model or the embedder gave no answer, or 2.x read one in which memories are no objects.
        """
        messages = [{"role": turn["role"], "content": turn["content"]} for turn in conversation]
        time = conversation[-1].get("timestamp") if conversation else None
        with self._watch.watching():
            self._memory.add(messages, user_id=_USER, metadata={"created_at": time} if time else None)

    def retrieve_memories(self, query: str, conversation: list[dict[str, str]], k: int) -> list[str]:
        """Return the k memories that `search()` finds. The conversation is not used, as in the published evaluation."""
        if self._first_major:
            # It compares similarities only if it gets a threshold, and 0 would leave out what is dissimilar.
            reply = self._memory.search(query, user_id=_USER, limit=k, threshold=self._threshold or None)
        else:
            reply = self._memory.search(query, filters={"user_id": _USER}, top_k=k, threshold=self._threshold)
        return [memory["memory"] for memory in reply["results"]]

    def get_all_memories(self) -> list[str]:
        """Return all memories."""
        if self._first_major:
            reply = self._memory.get_all(user_id=_USER, limit=_ALL)
        else:
            reply = self._memory.get_all(filters={"user_id": _USER}, top_k=_ALL)
        return [memory["memory"] for memory in reply["results"]]

    def close(self) -> None:
        """Close the files."""
        with suppress(AttributeError):  # it has been closed before
            self._memory.close()
            self._memory.vector_store.client.close()
            del self._memory


class _Watch(Watch):
    """Counts what goes wrong inside mem0, from its log and the model's replies, and prints its log."""

    _counted = False  # whether the last reply is among the unparsable ones

    def count(self, words: str) -> None:
        if words.startswith(_UNPARSED):
            self.unparsable += not self._counted
            self._counted = True
        elif not words.startswith(_HARMLESS):
            self.swallowed += 1

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
        content = json.loads(text[text.find("{") : text.rfind("}") + 1], strict=False)
    except ValueError:
        return False
    if not isinstance(content, dict):
        return False
    memories = content.get("memory")
    if isinstance(memories, list):
        return all(isinstance(memory, dict) for memory in memories)
    return isinstance(content.get("facts"), list)
