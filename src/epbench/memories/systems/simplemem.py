"""SimpleMem 0.1.0: a language model restates windows of turns, and plans the searches for a query.

MemFail, Section 5.2 and Appendix A. A memory is the restatement of a fact, which is what the published evaluation shows to
the reader. Searches are made one after the other: SimpleMem merges parallel ones in the order in which they end, and
this order decides which memories the cut to k keeps. Version 0.1.0 can search for keywords, but its retrieval never does.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.memories.protocol import Conversation
from epbench.memories.systems.adapter import EmbeddingsFailed, Watch, stand_in

DEFAULTS: dict[str, Any] = {
    "window_size": 20,
    "overlap_size": 2,
    "enable_planning": True,
    "enable_reflection": True,
    "max_reflection_rounds": 2,
}
"""Settings of the published evaluation, by SimpleMem's names. In version 0.1.0 windows do not overlap, whatever this says."""


class SimpleMem:
    """One store of SimpleMem, in a folder of LanceDB."""

    durable = True

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self._embedder = stand_in(settings)
        config = importlib.import_module("simplemem.config")
        config.set_config(
            config.SimpleMemConfig(
                openai_api_key=settings["api_key"],
                openai_base_url=settings["base_url"],
                llm_model=settings["model"],
                embedding_model=settings["embedding_model"],
                embedding_dimension=settings["dimensions"],
                lancedb_path=str(folder / "lancedb"),
                use_streaming=False,
                enable_parallel_processing=False,
                enable_parallel_retrieval=False,
                **{name: settings[name] for name in DEFAULTS},
            )
        )
        self._system = importlib.import_module("simplemem.system").SimpleMemSystem()
        self._watch = Watch()
        self.usage = self._watch.usage
        self._count_failures()

    def store_conversation(self, conversation: Conversation) -> None:
        """Give all turns to SimpleMem, and have it process those that fill no window."""
        with self._watch.watching():
            for turn in conversation:
                self._system.add_dialogue(turn["role"].capitalize(), turn["content"], turn["timestamp"])
            self._system.finalize()

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Find up to k memories by each planned search, and keep the first k of all, as in the published evaluation.

        Raises:
            EmbeddingsFailed: a search cannot be embedded. SimpleMem itself would find nothing.
        """
        retriever = self._system.hybrid_retriever
        retriever.semantic_top_k = retriever.keyword_top_k = retriever.structured_top_k = k
        failures = self._embedder.failures
        with self._watch.watching():
            entries = retriever.retrieve(query)
            if self._embedder.failures > failures:
                raise EmbeddingsFailed("a search could not be embedded")
        return [str(entry.lossless_restatement) for entry in entries[:k]]

    def get_all_memories(self) -> list[str]:
        """List all restatements."""
        return [str(entry.lossless_restatement) for entry in self._system.get_all_memories()]

    def _count_failures(self) -> None:
        """Count replies without usable JSON, and requests that fail after SimpleMem's retries."""
        client, builder = self._system.llm_client, self._system.memory_builder
        extract, parse = client.extract_json, builder._parse_llm_response

        def extract_json(text: str) -> Any:
            try:
                return extract(text)
            except ValueError:
                self._watch.unparsable += 1
                raise

        def parse_llm_response(*args: Any) -> Any:
            before = self._watch.unparsable
            try:
                return parse(*args)
            except Exception:  # JSON, but not a list of memories; what is no JSON has been counted
                self._watch.unparsable = before + 1
                raise

        client.chat_completion = self._watch.counting_errors_of(client.chat_completion)
        client.extract_json = extract_json
        builder._parse_llm_response = parse_llm_response
