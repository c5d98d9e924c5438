"""SimpleMem 0.1.0: a language model restates windows of turns, and plans the searches for a query.

MemFail, Section 5.2 and Appendix A. A memory is the restatement of a fact, which is what the published evaluation shows to
the reader. Searches are made one after the other: SimpleMem merges parallel ones in the order in which they end, and
this order decides which memories the cut to k keeps. Version 0.1.0 can search for keywords, but its retrieval never does.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epbench.memories.protocol import Conversation
from epbench.memories.systems.sentence_embeddings import EmbeddingsFailed, stand_in

DEFAULTS: dict[str, Any] = {
    "window_size": 20,
    "overlap_size": 2,
    "enable_planning": True,
    "enable_reflection": True,
    "max_reflection_rounds": 2,
}
"""Settings of the published evaluation, by SimpleMem's names. In version 0.1.0 windows do not overlap, whatever this says."""


class SimpleMem:
    """One store of SimpleMem, in a folder of LanceDB.

    A conversation can take several writes. `progress.json` tells which conversation was stored last, or which version
    the table had before the one that has begun; what was stopped in between is undone.
    """

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
        self._table = self._system.vector_store.table
        self._progress_file = folder / "progress.json"
        self._progress: dict[str, Any] = {"last": None, "version": None}
        if self._progress_file.exists():
            self._progress = json.loads(self._progress_file.read_text())
            self._undo()
        self._chat_errors = self._unparsable = self._swallowed = 0
        self._count_failures()

    def store_conversation(self, conversation: Conversation) -> None:
        """Give all turns to SimpleMem, and have it process those that fill no window."""
        first = conversation[0]["timestamp"]
        if first == self._progress["last"]:
            return
        self._note(version=self._table.version)
        try:
            with self._counting_errors():
                for turn in conversation:
                    self._system.add_dialogue(turn["role"].capitalize(), turn["content"], turn["timestamp"])
                self._system.finalize()
        except BaseException:
            self._undo()
            raise
        self._note(last=first, version=None)

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Find up to k memories by each planned search, and keep the first k of all, as in the published evaluation.

        Raises:
            EmbeddingsFailed: a search cannot be embedded. SimpleMem itself would find nothing.
        """
        retriever = self._system.hybrid_retriever
        retriever.semantic_top_k = retriever.keyword_top_k = retriever.structured_top_k = k
        failures = self._embedder.failures
        with self._counting_errors():
            entries = retriever.retrieve(query)
            if self._embedder.failures > failures:
                raise EmbeddingsFailed("a search could not be embedded")
        return [str(entry.lossless_restatement) for entry in entries[:k]]

    def get_all_memories(self) -> list[str]:
        """List all restatements."""
        return [str(entry.lossless_restatement) for entry in self._system.get_all_memories()]

    def usage(self) -> dict[str, int]:
        """Return how many errors the system kept to itself, and how many replies were not the JSON it asked for."""
        return {"swallowed": self._swallowed, "unparsable": self._unparsable}

    def _note(self, **changes: Any) -> None:
        self._progress |= changes
        new = self._progress_file.with_suffix(".new")
        new.write_text(json.dumps(self._progress))
        new.replace(self._progress_file)

    def _undo(self) -> None:
        """Take back what was stored of a conversation that has not come to its end."""
        self._system.memory_builder.dialogue_buffer.clear()
        if (version := self._progress["version"]) is not None:
            self._table.restore(version)
            self._note(version=None)

    def _count_failures(self) -> None:
        """Count replies without usable JSON, and requests that fail after SimpleMem's retries."""
        client, builder = self._system.llm_client, self._system.memory_builder
        chat, extract, parse = client.chat_completion, client.extract_json, builder._parse_llm_response

        def chat_completion(*args: Any, **options: Any) -> Any:
            try:
                return chat(*args, **options)
            except Exception:
                self._chat_errors += 1
                raise

        def extract_json(text: str) -> Any:
            try:
                return extract(text)
            except ValueError:
                self._unparsable += 1
                raise

        def parse_llm_response(*args: Any) -> Any:
            before = self._unparsable
            try:
                return parse(*args)
            except Exception:  # JSON, but not a list of memories; what is no JSON has been counted
                self._unparsable = before + 1
                raise

        client.chat_completion, client.extract_json = chat_completion, extract_json
        builder._parse_llm_response = parse_llm_response

    @contextmanager
    def _counting_errors(self) -> Iterator[None]:
        """Count errors that do not leave the block. If one leaves it, it is not swallowed but raised."""
        before = self._chat_errors + self._embedder.failures
        yield
        self._swallowed += self._chat_errors + self._embedder.failures - before
