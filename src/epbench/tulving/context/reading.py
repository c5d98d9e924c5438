"""How a reader is asked about a book: with which memory, in which words, and how its answers are sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import without_login
from epbench.hub.rows import Row
from epbench.journals.answers import fingerprint_of
from epbench.memories.guard import Limits
from epbench.memories.load import BASELINES, BRING_YOUR_OWN, SYSTEMS, load_memory
from epbench.memories.protocol import SystemSpec
from epbench.models.protocol import Model, Request, Sampling, weights_of
from epbench.progress import Progress
from epbench.retrieval.load import load_retriever
from epbench.retrieval.protocol import MakeSearcher, Searcher
from epbench.tulving.context.memory_system import gold_texts, remember, remembered_requests
from epbench.tulving.context.prompts import Prompts, load_prompts
from epbench.tulving.context.requests import MEMORIES, QuestionView, published_top_k, requests_for
from epbench.tulving.dataset.load import Loaded
from epbench.tulving.reader.everything import EVERYTHING

MOST_REPEATS = 10_000


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a reader is shown and asked.

    Attributes:
        memory: One of `MEMORIES`, `everything` (nothing is shown, as for `none`), or the name of a memory system.
        top_k: The number of passages or memories for a question; None for the published number.
        keep_order: Whether passages appear in the order of the book instead of best first.
        retriever: The name of the retriever, as `load_retriever` takes it.
        retriever_url: The address of an embeddings endpoint, or None.
        request_timeout: How many seconds one attempt at one request to that endpoint may take.
        prompts: The prompt pack.
        sampling: How answers are sampled.
        repeats: How often each question is asked, 1 to `MOST_REPEATS`.
        limits: What one call to a memory system, and its process, may take.
        installed: What else `load_memory` takes: isolation, and for an installed system endpoint, settings and source.

    Raises:
        BadInput: repeats is out of its range.
    """

    memory: str
    top_k: int | None = None
    keep_order: bool = False
    retriever: str = "bm25"
    retriever_url: str | None = None
    request_timeout: float = 300.0
    prompts: Prompts = field(default_factory=load_prompts)
    sampling: Sampling = field(default_factory=Sampling)
    repeats: int = 1
    limits: Limits = field(default_factory=Limits)
    installed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise BadInput(f"repeats: expected at least 1, got {self.repeats}")
        if self.repeats > MOST_REPEATS:
            raise BadInput(f"repeats: expected at most {MOST_REPEATS:,}, got {self.repeats:,}")

    def system(self, data: Loaded) -> SystemSpec | None:
        """Find the memory system; None if the memory is one of `MEMORIES`, or `everything`.

        Raises:
            BadInput: There is no such memory or system, or retrieval is set up for a memory system, which has its own.
        """
        if self.memory in (*MEMORIES, EVERYTHING):
            return None
        names = dict.fromkeys([*MEMORIES, EVERYTHING, *BASELINES, *SYSTEMS])
        if self.memory not in names and ":" not in self.memory:
            raise BadInput(f"unknown memory {self.memory!r}; there are: {', '.join(names)}; {BRING_YOUR_OWN}")
        if self.keep_order or self.retriever != "bm25":
            raise BadInput(
                "a retriever and the order of passages go with rag-paragraph and rag-chapter, not with a memory system"
            )
        matching = {row["id"]: row["chapters"] for row in data.rows}
        gold = gold_texts(data.book, _views(data.rows), matching, data.evidence)
        return load_memory(self.memory, gold, limits=self.limits, **self.installed)

    def requests(self, data: Loaded, rows: Sequence[Row], memory: str | None = None) -> list[Request]:
        """Build the requests about some questions of a book.

        Args:
            data: The dataset. The published number of passages depends on all of its questions, so that a part of them
                is asked in the same way as the whole.
            rows: The questions to ask.
            memory: Another memory than that of this reading, one of `MEMORIES`: for comparison, or to stand for that of a
                memory system, whose memories are not known yet (see `stand_in`).
        """
        memory = memory or ("none" if self.memory == EVERYTHING else self.memory)
        return list(
            requests_for(
                memory, data.book, _views(rows), top_k=self._k(data, memory), keep_order=self.keep_order,
                search=self._search, prompts=self.prompts, sampling=self.sampling, repeats=self.repeats,
            )
        )  # fmt: skip

    def requests_of_system(
        self, folder: Path, system: SystemSpec, data: Loaded, rows: Sequence[Row], progress: Progress
    ) -> tuple[list[Request], Sequence[str]]:
        """Have a memory system read the book and retrieve; what the folder's journals hold is not done again.

        Returns:
            The requests with what it remembers, and what a reader of the results has to know.
        """
        k = self._k(data, "rag-chapter")
        assert k
        views, chapters = _views(rows), {row["id"]: row["chapters"] for row in rows}
        remembered = remember(folder, system, data.book, views, chapters, k, progress, self.limits)
        requests = remembered_requests(remembered, views, self.prompts, self.sampling, self.repeats)
        return list(requests), remembered.warnings

    def identity(self, data: Loaded) -> dict[str, Any]:
        """What tells readings of a book apart, under the names of run.json."""
        memory = self.memory if self.memory in (*MEMORIES, EVERYTHING) else "rag-chapter"
        return {
            "memory": self.memory,
            "top_k": self._k(data, memory),
            "keep_order": self.keep_order,
            "retriever": self.retriever,
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "seed": self.sampling.seed,
            "repeats": self.repeats,
            "prompts": fingerprint_of(self.prompts),
        }

    def run_identity(
        self, data: Loaded, model: Model, base_url: str | None = None, system: SystemSpec | None = None
    ) -> dict[str, Any]:
        """The field `identity` of run.json: a folder is resumed only by a run of the same identity.

        Args:
            data: The dataset.
            model: The model that reads.
            base_url: The address of the model's endpoint, if it is behind one; a login in it is left out.
            system: The memory system, if there is one.
        """
        about_system = system.identity if system else {}
        identity = {"benchmark": "tulving", **data.identity, "model": model.name}
        return (
            identity
            | self.identity(data)
            | {"base_url": without_login(base_url or "")}
            | weights_of(model)
            | about_system
        )

    def _k(self, data: Loaded, memory: str) -> int | None:
        return published_top_k(memory, _views(data.rows)) if self.top_k is None else self.top_k

    def _search(self, chunks: Sequence[str]) -> Searcher:
        """Build an index; the retriever is loaded only now, as most memories search nothing, and serves all books."""
        return self._indexes(chunks)

    @cached_property
    def _indexes(self) -> MakeSearcher:
        return load_retriever(self.retriever, base_url=self.retriever_url, request_timeout=self.request_timeout)


def _views(rows: Sequence[Row]) -> list[QuestionView]:
    return [QuestionView(row["id"], row["question"], row["n_chapters"]) for row in rows]
