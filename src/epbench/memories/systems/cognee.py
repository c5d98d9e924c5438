"""Cognee: texts in chunks, with a graph and summaries that a model draws from them; chunks are searched by vectors.

For cognee 1.6 with its embedded databases. It was not part of the published evaluation, so that the settings are its own
defaults. A memory is a chunk: what cognee finds for a question without writing an answer itself. It keeps no time of a
conversation, and an equal text is one document, however often it is added.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from epbench.memories.systems.adapter import Watch

DEFAULTS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 16384}

_DATASET = "memories"
_KNOWN_EMBEDDER = (
    "openai/text-embedding-3-small"  # cognee asks a table for the limits of the name, the relay for vectors
)
_NO_JSON = ("JSON", "validation error", "structured output", "Expecting")


class Cognee:
    """Everything in databases inside the folder."""

    durable = True

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        os.environ |= _variables(folder, settings)  # all of them are read at import
        import cognee  # type: ignore[import-not-found]

        self._cognee = cognee
        self._watch = Watch("", logging.ERROR, _NO_JSON)
        self.usage = self._watch.usage
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._stored = folder / "stored"  # cognee raises an error if a search comes before the first text

    def store_conversation(self, conversation: list[dict[str, str]]) -> None:
        """Add the conversation as one text with a line for each turn, and have it worked into the graph.

        Raises:
            Exception: a step failed, for example because the model gave no answer that could be used. Cognee asks again
                for four minutes before it gives up.
        """
        if not conversation:
            return
        text = "\n".join(f"{turn['role']}: {turn['content']}" for turn in conversation)
        with self._watch.watching():
            self._run(self._cognee.add(text, dataset_name=_DATASET))
            self._run(self._cognee.cognify(datasets=[_DATASET]))
        self._stored.touch()

    def retrieve_memories(self, query: str, conversation: list[dict[str, str]], k: int) -> list[str]:
        """Return the texts of the k nearest chunks."""
        if not self._stored.exists():
            return []
        kind = self._cognee.SearchType.CHUNKS
        chunks = self._run(self._cognee.search(query_text=query, query_type=kind, top_k=k, datasets=[_DATASET]))
        return [chunk["text"] for chunk in chunks[:k]]

    def get_all_memories(self) -> list[str]:
        """Return the texts of all chunks, in the order of their creation."""
        if not self._stored.exists():
            return []
        chunks = [node for _, node in self._run(self._graph()) if node.get("type") == "DocumentChunk"]
        chunks.sort(key=lambda chunk: (chunk["created_at"], chunk["chunk_index"]))
        return [chunk["text"] for chunk in chunks]

    def close(self) -> None:
        """Close the event loop; the databases are closed with the process."""
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    async def _graph(self) -> Any:
        from cognee.infrastructure.databases.graph import get_graph_engine  # type: ignore[import-not-found]

        nodes, _ = await (await get_graph_engine()).get_graph_data()
        return nodes


def _variables(folder: Path, settings: dict[str, Any]) -> dict[str, str]:
    litellm = find_spec("litellm")
    assert litellm is not None and litellm.origin is not None
    roots = {
        "DATA_ROOT_DIRECTORY": "data",
        "SYSTEM_ROOT_DIRECTORY": "system",
        "CACHE_ROOT_DIRECTORY": "cache",
        "COGNEE_LOGS_DIR": "logs",
        "COGNEE_REPOS_DIR": "repos",
    }
    return {
        **{name: str(folder / room) for name, room in roots.items()},
        "LLM_PROVIDER": "custom",
        "LLM_MODEL": f"openai/{settings['model']}",
        "LLM_ENDPOINT": settings["base_url"],
        "LLM_API_KEY": settings["api_key"],
        "LLM_TEMPERATURE": str(settings["temperature"]),
        "LLM_MAX_COMPLETION_TOKENS": str(settings["max_tokens"]),
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": _KNOWN_EMBEDDER,
        "EMBEDDING_ENDPOINT": settings["base_url"],
        "EMBEDDING_API_KEY": settings["api_key"],
        "EMBEDDING_DIMENSIONS": str(settings["dimensions"]),
        "ENABLE_BACKEND_ACCESS_CONTROL": "false",
        "CACHING": "false",  # of sessions, which needs a server
        "AUTO_FEEDBACK": "false",
        "COGNEE_TRACING_ENABLED": "false",
        "COGNEE_SKIP_CONNECTION_TEST": "true",
        "TELEMETRY_DISABLED": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # The vocabulary with which tokens are counted is in litellm's package, so that none has to be downloaded.
        "TIKTOKEN_CACHE_DIR": str(Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"),
    }
