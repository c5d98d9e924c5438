"""What a reader of a Tulving book is asked: with which memory, in which words, and how its answers are sampled.

It gets to see the whole book, passages retrieved for the question, the memories of a system, or nothing. Everything that is
said to it stands in a prompt pack, one file that can be replaced (`data/prompts.toml` is ours). A run notes which passages
were shown. A memory system reads the book: it stores chapter after chapter, and then retrieves memories for each question.

Paper: Section 5.1 and Appendix D.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Source, load_pack
from epbench.files.secrets import without_login
from epbench.hub.rows import Row
from epbench.journals.answers import fingerprint_of
from epbench.journals.journal import Journal, read_journal
from epbench.memories.between import read_after, told_after
from epbench.memories.guard import Limits
from epbench.memories.load import BASELINES, BRING_YOUR_OWN, SYSTEMS, load_memory
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import Budget, check_budget, fit, read_recall
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.models.protocol import Model, Request, Sampling, weights_of
from epbench.progress import Progress
from epbench.retrieval.load import load_retriever
from epbench.retrieval.protocol import MakeSearcher
from epbench.tulving.dataset.load import Book, Loaded
from epbench.tulving.reader import EVERYTHING

MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "none")
PARAGRAPHS_PER_CHAPTER = 4
"""How many paragraphs are retrieved for each chapter: the published book has 68 paragraphs and 17 chapters."""


OWN = packaged("epbench.tulving", "prompts.toml")

# The placeholders that each prompt must have once, and those that it may have; the other prompts have none.
_HOLDS = {"book": ["book"], "passages": ["passages"], "passage": ["passage"], "question": ["question"]}
_HOLDS |= {"question_about_passages": ["question"], "question_about_nothing": ["question"]}
_MAY_HOLD = {"nothing": ["title"], "question_about_nothing": ["title"]}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A pack of prompts. One of `book`, `passages` and `nothing` is followed by a blank line and `question`."""

    system: str  # the system message; it may be empty
    book: str  # the words around the whole book, `{book}`
    passages: str  # the words around everything that was retrieved, `{passages}`
    passage: str  # the words around each retrieved passage, `{passage}`
    nothing: str  # the words in place of a book, which may name it by its `{title}`; they may be empty
    question: str  # the words around the question, `{question}`
    between_passages: str = "\n\n\n"  # what stands between two passages
    question_about_passages: str | None = None  # takes the place of `question` after passages; None for the same
    # Takes its place after `nothing`, and may have `{title}`, too; None for the same
    question_about_nothing: str | None = None


def load_prompts(source: Source | None = None) -> Prompts:
    """Load our pack, that of a TOML or JSON file with the same keys, or that of a file of wording; BadInput if it is not one."""
    return load_pack(source or OWN, Prompts, _HOLDS, _MAY_HOLD)


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
        between: Tokens of unrelated text between the book and the question, at least 0; for in-context and memory systems.
        unrelated: That text, in sentences.
        limits: What one call to a memory system, and its process, may take.
        installed: What else `load_memory` takes: isolation, and for an installed system endpoint, settings and source.
        memory_tokens: The most tokens of memories of a system that are shown for a question; None for any number.

    BadInput if a number is out of its range, or the memory has no place for text between book and question.
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
    between: int = 0
    unrelated: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    installed: Mapping[str, Any] = field(default_factory=dict)
    memory_tokens: int | None = None

    def __post_init__(self) -> None:
        check_budget(self.memory_tokens)
        if self.repeats < 1:
            raise BadInput(f"repeats: expected at least 1, got {self.repeats}")
        if self.repeats > MOST_REPEATS:
            raise BadInput(f"repeats: expected at most {MOST_REPEATS:,}, got {self.repeats:,}")
        if self.between and self.memory in (*MEMORIES, EVERYTHING) and self.memory != "in-context":
            raise BadInput(
                "--between puts text after what is remembered: expected --memory in-context or a memory system, got "
                f"{self.memory}"
            )

    def system(self, data: Loaded) -> SystemSpec | None:
        """Find the memory system; None if the memory is one of `MEMORIES`, or `everything`.

        BadInput if there is no such memory or system, or retrieval is set up for a memory system, which has its own.
        """
        if self.memory in (*MEMORIES, EVERYTHING):
            if self.memory_tokens is not None:
                raise BadInput(f"a budget of tokens goes with a memory system, not with memory {self.memory}")
            return None
        names = dict.fromkeys([*MEMORIES, EVERYTHING, *BASELINES, *SYSTEMS])
        if self.memory not in names and ":" not in self.memory:
            raise BadInput(f"unknown memory {self.memory!r}; there are: {', '.join(names)}; {BRING_YOUR_OWN}")
        if self.keep_order or self.retriever != "bm25":
            raise BadInput(
                "a retriever and the order of passages go with rag-paragraph and rag-chapter, not with a memory system"
            )
        gold = gold_texts(data.book, data.rows, data.evidence)
        return load_memory(self.memory, gold, limits=self.limits, **self.installed)

    def requests(self, data: Loaded, rows: Sequence[Row], memory: str | None = None) -> list[Request]:
        """Build the requests about some questions of a book; those with one context follow one another.

        The published number of passages depends on all questions of the dataset, so that a part of them is asked in the
        same way as the whole. Another `memory` than that of this reading is for comparison, or stands for that of a memory
        system, whose memories are not known yet (see `stand_in`). BadInput if it is none of `MEMORIES`, or top_k is below 1.
        """
        memory = memory or ("none" if self.memory == EVERYTHING else self.memory)
        if memory not in MEMORIES:
            raise BadInput(f"unknown memory {memory!r}; expected one of: {', '.join(MEMORIES)}")
        prompts, book, k = self.prompts, data.book, self._k(data, memory)
        if k is not None and k < 1:
            raise BadInput(f"top-k: expected at least 1, got {k}")
        question, title = prompts.question, " ".join(book.title.split())  # a title is no place for a heading
        if memory == "none":
            contexts = [prompts.nothing.format(title=title)] * len(rows)
            question = prompts.question_about_nothing or question
        elif memory == "in-context":
            contexts = [read_after(prompts.book.format(book=book.text), self.unrelated)] * len(rows)
        else:
            assert k
            chunks, question = list(passages_of(book.chapters, memory).values()), self._about_passages
            retrieved = self._indexes(chunks).search([row["question"] for row in rows], k)
            found = (sorted(hits) if self.keep_order else hits for hits in retrieved)
            contexts = [self._passages(chunks[place] for place in hits) for hits in found]
        asked = zip(rows, contexts, strict=True)
        return repeated((self._request(row, context, question, title) for row, context in asked), self.repeats)

    def requests_of_system(
        self, folder: Path, system: SystemSpec, data: Loaded, rows: Sequence[Row], progress: Progress, model: Model
    ) -> tuple[list[Request], Sequence[str]]:
        """Have a memory system read the book and retrieve for a model; what the folder's journals hold is not done again.

        Each chapter is stored in a conversation of its own, and `unrelated` sentences after the book. Returns the requests with
        what it remembers, and what a reader of the results has to know. A question has failed and is left out if there are no
        memories to show, or one of its chapters could not be stored. BadInput if no instance of the system can be made.
        """
        k = self._k(data, "rag-chapter")
        assert k
        conversations = []
        for i, ((number, _), text) in enumerate(passages_of(data.book.chapters, "rag-chapter").items()):
            turn = {"role": "user", "content": text, "timestamp": (FIRST + i * BETWEEN).isoformat()}
            conversations.append(Conversation(f"{number}", "", (f"{number}",), (turn,)))
        queries = [Query(f"{row['id']}@{k}", row["id"], "", row["question"], k) for row in rows]
        stored = told_after(conversations, self.unrelated)
        fill_and_ask(folder, system, stored, queries, limits=self.limits, progress=progress)
        recall = read_recall(folder, system, conversations, queries)
        shown = fit(folder, recall.found, queries, Budget(model, self.memory_tokens))
        requests = (
            self._request(row, self._passages(shown[query.id]), self._about_passages)
            for row, query in zip(rows, queries, strict=True)
            if query.id not in recall.failures
            and not any(("", f"{chapter}") in recall.unstored for chapter in row["chapters"])
        )
        return repeated(requests, self.repeats), recall.warnings

    def identity(self, data: Loaded) -> dict[str, Any]:
        """What tells readings of a book apart, under the names of run.json."""
        memory = self.memory if self.memory in (*MEMORIES, EVERYTHING) else "rag-chapter"
        identity: dict[str, Any] = {"memory": self.memory, "top_k": self._k(data, memory)}
        identity |= {"keep_order": self.keep_order, "retriever": self.retriever}
        identity |= {name: getattr(self.sampling, name) for name in ("temperature", "max_tokens", "seed")}
        identity |= {"repeats": self.repeats, "prompts": fingerprint_of(self.prompts)}
        identity |= {} if self.memory_tokens is None else {"memory_tokens": self.memory_tokens}
        return identity | ({"between": self.between} if self.between else {})

    def run_identity(
        self, data: Loaded, model: Model, base_url: str | None = None, system: SystemSpec | None = None
    ) -> dict[str, Any]:
        """The field `identity` of run.json, without a login in the address of the model's endpoint.

        A folder is resumed only by a run of the same identity.
        """
        identity = {"benchmark": "tulving", **data.identity, "model": model.name}
        identity |= self.identity(data) | {"base_url": without_login(base_url or "")}
        return identity | weights_of(model) | (system.identity if system else {})

    def _k(self, data: Loaded, memory: str) -> int | None:
        """How many passages are retrieved: by default, as in the paper, as many chapters as match any question at the most."""
        most = max([1, *(row["n_chapters"] for row in data.rows)])
        published = {"rag-chapter": most, "rag-paragraph": PARAGRAPHS_PER_CHAPTER * most}.get(memory)
        return published if self.top_k is None else self.top_k

    @cached_property
    def _indexes(self) -> MakeSearcher:
        """Builds an index; the retriever is loaded only when something is searched, and serves all books."""
        return load_retriever(self.retriever, base_url=self.retriever_url, request_timeout=self.request_timeout)

    @property
    def _about_passages(self) -> str:
        return self.prompts.question_about_passages or self.prompts.question

    def _request(self, row: Row, context: str, question: str, title: str = "") -> Request:
        asked = question.format(question=row["question"], title=title)
        return Request(row["id"], self.prompts.system, context, asked, self.sampling)

    def _passages(self, passages: Iterable[str]) -> str:
        shown = (self.prompts.passage.format(passage=passage) for passage in passages)
        return self.prompts.passages.format(passages=self.prompts.between_passages.join(shown))


def repeated(requests: Iterable[Request], repeats: int) -> list[Request]:
    """Return each request as often as its question is asked, one after another; they share their texts."""
    return [replace(request, repeat=repeat) for request in requests for repeat in range(repeats)]


# What of a book is retrieved: its passages, or the memories of a system


def passages_of(chapters: Sequence[tuple[int, str]], memory: str) -> dict[tuple[int, int], str]:
    """Split a book into chapters or paragraphs by number of the chapter and of the paragraph, each under a line with its numbers.

    Paragraphs count from 1; paragraph 0 is the whole chapter.
    """
    if memory == "rag-chapter":
        return {(number, 0): f"Chapter {number}\n\n{text}" for number, text in chapters}
    return {
        (number, i): f"Chapter {number}, Paragraph {i}\n\n{paragraph}"
        for number, text in chapters
        for i, paragraph in enumerate(filter(str.strip, text.split("\n")), 1)
    }


PASSAGES = "passages.jsonl"
_HEAD = re.compile(r"Chapter (\d+)(?:, Paragraph (\d+))?\n\n")
"""The line above each passage; see `passages_of`."""


def note_passages(folder: Path, requests: Iterable[Request]) -> None:
    """Note the passages of each request with retrieved passages, in the order in which they are shown; repeats have the same.

    Each is noted by the number of its chapter and of its paragraph; see `passages_of`.
    """
    journal = Journal(folder / PASSAGES)
    for request in requests:
        if not journal.done(request.id):
            places = [[int(chapter), int(paragraph or 0)] for chapter, paragraph in _HEAD.findall(request.context)]
            journal.add(request.id, id=request.id, passages=places)
    journal.close()


def read_passages(folder: Path, chapters: Sequence[tuple[int, str]]) -> Mapping[str, list[str]]:
    """The texts of the noted passages by id of the question, as a reader was shown them, if they are of one of these chapters."""
    records = read_journal(folder / PASSAGES) if chapters else {}
    texts = passages_of(chapters, "rag-chapter") | passages_of(chapters, "rag-paragraph") if records else {}
    return {
        id_: [texts[place] for place in map(tuple, record["passages"]) if place in texts]
        for id_, record in records.items()
    }


FIRST, BETWEEN = datetime(2025, 1, 6, 9), timedelta(minutes=10)
"""The simulated time at which the first chapter is stored, and the time to the next; the events have other dates."""


def gold_texts(
    book: Book, rows: Sequence[Row], evidence: Mapping[str, Sequence[tuple[int, int]]] | None = None
) -> dict[str, list[str]]:
    """By text of the question, what answers it, in the order of the book; this is what the oracle returns.

    It is the paragraphs of the evidence, or without evidence the matching chapters as they are stored.
    """
    needed: dict[str, set[tuple[int, int]]] = {}
    for row in rows:
        places = [(number, 0) for number in row["chapters"]] if evidence is None else evidence[row["id"]]
        needed.setdefault(row["question"], set()).update(places)
    text_of = passages_of(book.chapters, "rag-chapter" if evidence is None else "rag-paragraph")
    return {query: [text for place, text in text_of.items() if place in wanted] for query, wanted in needed.items()}


def stand_in(system: SystemSpec) -> str:
    """Name the memory whose requests are about as long as those with the memories of a system that holds none yet."""
    return "in-context" if system.beyond_k and not system.knows_gold else "rag-chapter"
