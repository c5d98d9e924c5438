"""Book-SORT from top to bottom: a model says which of two segments of a book came first, and its answers are scored.

`prepare` loads the pairs, makes what the model is shown and checks that it fits; nothing is asked. `run` chooses a prompt if
that is wanted, asks, reads A or B off the replies, and scores them.

Paper: Section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from epbench.booksort.context import retrieval
from epbench.booksort.context.reader import OwnAnswers
from epbench.booksort.context.remembered import MemoryRun, Told
from epbench.booksort.context.requests import MEMORIES, Store, memory_named, requests_for
from epbench.booksort.dataset.load import (
    SWAPPED,
    Pair,
    answered_pairs,
    asked_pairs,
    both_orders,
    config_names,
    fingerprint,
    is_whole_book,
    load_books,
    load_pairs,
)
from epbench.booksort.dataset.released import is_published
from epbench.booksort.evaluation import Evaluation, select_prompt
from epbench.booksort.scores.results import finish
from epbench.files.json_files import read_json
from epbench.files.secrets import without_login
from epbench.hub.rows import dataset_revision
from epbench.journals.answers import ANSWERS, ask, fingerprint_of, retire_others
from epbench.memories.between import unrelated
from epbench.memories.load import load_memory
from epbench.memories.recall import Budget
from epbench.models.estimate import check_window, estimate
from epbench.models.protocol import Request, by_context, engine_of, variant_of, weights_of
from epbench.progress import Progress, no_progress
from epbench.reports.comparison import after_tokens
from epbench.retrieval.load import load_retriever
from epbench.runs.folder import is_finished, note_asked, open_run, read_scores
from epbench.runs.usage import usage_line


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that may start.

    Attributes:
        evaluation: What is run.
        everything: All pairs of the configs and the split.
        pairs: Those that are asked, with both orders each of them twice.
        held_out: Pairs of the validation split on which a prompt or a reading is chosen.
        store: What the memory draws from; before a memory system was asked, texts stand for what it retrieves.
        memory_run: The memory system, and what it is told; None for a memory in `MEMORIES`.
        warnings: What to know before the run starts.
    """

    evaluation: Evaluation
    everything: Sequence[Pair]
    pairs: Sequence[Pair]
    held_out: Sequence[Pair] = ()
    store: Store
    memory_run: MemoryRun | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The name of the run in tables."""
        if isinstance(own := self.evaluation.model, OwnAnswers):
            return f"{own.memory}, {own.name}"
        books = " (whole books)" if self.evaluation.by_book else ""
        after = after_tokens(self.evaluation.between)
        return f"{self.evaluation.memory}{books}, {self.evaluation.model.name}{after}"

    @property
    def plan(self) -> list[str]:
        """What the run will cost, as lines of text."""
        lines = self.memory_run.plan([*self.pairs, *self.held_out]) if self.memory_run else ()
        return [*lines, *estimate(self.everything_asked, self.evaluation.model).lines()]

    @property
    def is_free(self) -> bool:
        """Whether the model costs nothing."""
        return self.evaluation.model.costs_nothing

    @property
    def everything_asked(self) -> list[Request]:
        """All requests, those of the sweep in the order in which prompts with one reading share it."""
        sweep = by_context(request for requests in self.sweep.values() for request in requests)
        return [*(request for group in sweep for request in group), *self.requests]

    @cached_property
    def requests(self) -> list[Request]:
        """What is asked about the pairs. Before a prompt is chosen, the longest one stands for it."""
        return self.requests_about(self.pairs)

    @cached_property
    def sweep(self) -> dict[int, list[Request]]:
        """By number of the prompt or the reading, the requests about the pairs that are held out for choosing it."""
        pack, ask_about = self.evaluation.pack, partial(self.requests_about, self.held_out)
        if self.evaluation.choose == "prompt":
            return {number: ask_about(prompt=number) for number in pack.prompts}
        if self.evaluation.choose == "reading":
            return {number: ask_about(reading=number) for number in range(len(pack.passage_readings))}
        return {}

    def requests_about(
        self, pairs: Sequence[Pair], prompt: int | None = None, reading: int | None = None, memory: str | None = None
    ) -> list[Request]:
        """Return one request for each pair, with the prompt, reading and memory of the evaluation unless given.

        A pair for which a memory system could retrieve nothing has failed, and gets none.
        """
        evaluation, store = self.evaluation, self.store if reading is None else replace(self.store, reading=reading)
        if memory is None and store.memories is not None:
            pairs = [pair for pair in pairs if pair.id in store.memories]
        number = self._prompt if prompt is None else prompt
        return requests_for(
            memory or evaluation.memory, pairs, evaluation.pack, number, store=store, max_tokens=self._max_tokens
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this run from another one: a folder is resumed only by a run of the same identity."""
        evaluation = self.evaluation
        identity: dict[str, Any] = {"benchmark": "booksort", "fingerprint": fingerprint(self.everything)}
        identity |= {"memory": evaluation.memory} | weights_of(evaluation.model)
        identity |= {"config": list(evaluation.configs), "split": evaluation.split}
        identity |= {"books": None if evaluation.books is None else list(evaluation.books)}
        identity |= {"model": evaluation.model.name, "base_url": without_login(evaluation.base_url or "")}
        identity |= {"max_tokens": self._max_tokens}
        identity |= {"both_orders": evaluation.both_orders or None}  # None, as in the folders of earlier versions
        identity |= {"prompts": fingerprint_of(evaluation.pack)}
        identity |= {"prompt": "selected" if evaluation.choose == "prompt" else self._prompt}
        if memory_named(evaluation.memory).searched:
            identity |= {"query": evaluation.query, "top_k": evaluation.k}
            identity |= {"reading": "selected" if evaluation.choose == "reading" else evaluation.reading}
        if memory_named(evaluation.memory).passages:
            identity |= {"retriever": evaluation.retriever, "keep_order": evaluation.keep_order}
        if self.memory_run:
            identity |= {"stored": evaluation.remembering.stored, "conversation_words": evaluation.remembering.words}
            identity |= self.memory_run.system.identity
            if evaluation.remembering.tokens is not None:
                identity |= {"memory_tokens": evaluation.remembering.tokens}
        if evaluation.between:
            identity |= {"between": evaluation.between}
        if self.store.books:
            identity |= {"texts": fingerprint(self.store.books)}
        if self.held_out:
            identity |= {"held_out": fingerprint(self.held_out)}
        if isinstance(own := evaluation.model, OwnAnswers):
            identity |= {"memory": own.memory, "answers": fingerprint_of(own.answers)}
        return identity

    @property
    def _prompt(self) -> int:
        prompts = self.evaluation.pack.prompts
        if self.evaluation.choose == "prompt":
            return max(prompts, key=lambda number: len(prompts[number].reading + prompts[number].task))
        return self.evaluation.pack.usual if self.evaluation.prompt is None else self.evaluation.prompt

    @property
    def _max_tokens(self) -> int:
        """An endpoint writes its answer; of any other model only the first token counts."""
        return 1 if self.evaluation.model.continues_prompts else self.evaluation.max_tokens


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """A run that has ended.

    Attributes:
        label: The name of the run in tables.
        scores: The content of scores.json.
        choice: How a prompt or a reading was chosen, as in prompt_selection.json; None if none was.
        notes: What to say of the run, as lines of text.
    """

    label: str
    scores: dict[str, Any]
    choice: dict[str, Any] | None
    notes: list[str]


def prepare(evaluation: Evaluation) -> Prepared:
    """Load the pairs, make what the model is shown, and check that it fits. Nothing is asked, and no weights are loaded.

    Raises:
        BadInput: Two choices contradict one another, the dataset or a part of it does not exist, or a prompt does not fit
            into the model's window; the message has the tokens, and what would fit.
    """
    evaluation.check()
    # 1. The pairs, and what the model is shown of their books.
    prepared = _load(evaluation)
    # 2. What is asked, and whether it fits.
    if prepared.memory_run is None:  # what a memory system returns is not known yet
        _check_window(prepared)
    return prepared


def run(prepared: Prepared, out: Path, *, progress: Progress = no_progress) -> Evaluated:
    """Ask, and score the answers. A run that was stopped goes on; one that has ended is shown without computing it again.

    Args:
        prepared: The run.
        out: Its folder.
        progress: Shows a progress bar.

    Raises:
        BadInput: The folder holds another run or other files, or another process is at work in it.
        RunFailed: There is no answer, or no prompt can be chosen.
    """
    evaluation, label, identity = prepared.evaluation, prepared.label, prepared.identity
    if not evaluation.choose and is_finished(out, identity, limit=evaluation.limit, shard=evaluation.shard):
        return Evaluated(label=label, scores=(scores := read_scores(out)), choice=None, notes=_notes(out, scores))
    dataset = evaluation.dataset
    revision = None if is_published(dataset) else dataset_revision(dataset, prepared.pairs[0].config)
    about: dict[str, Any] = {"dataset": dataset, "dataset_revision": revision, "label": label}
    if isinstance(evaluation.model, OwnAnswers) and evaluation.model.n_people:
        about |= {"people": evaluation.model.n_people}
    with open_run(out, identity, about | engine_of(evaluation.model) | variant_of(evaluation.model)) as folder:
        retrieval.record(folder, prepared.store.found, prepared.store.passages)
        if prepared.memory_run:
            prepared = _remember(prepared, prepared.memory_run, folder, progress)
        # 3. The prompt, chosen on pairs that are held out.
        requests, choice = prepared.requests, None
        if what := evaluation.choose:
            choice = select_prompt(folder, prepared.sweep, prepared.held_out, evaluation.model, progress, what)
            requests = prepared.requests_about(prepared.pairs, **{what: choice[what]})
        # 4. The answers, journaled as they come; 5. the scores, from the journals alone.
        if prepared.memory_run:
            retire_others(folder / ANSWERS, requests, evaluation.model)
        ask(folder / ANSWERS, requests, evaluation.model, progress)
        note_asked(folder, limit=evaluation.limit, shard=evaluation.shard)
        keys = {request.id: request.key(evaluation.model.identity) for request in requests}
        scores = finish(folder, prepared.pairs, keys, label, prepared.memory_run)
    return Evaluated(label=label, scores=scores, choice=choice, notes=_notes(out, scores))


def _remember(prepared: Prepared, memory: MemoryRun, folder: Path, progress: Progress) -> Prepared:
    """Have a memory system store the texts and retrieve for each pair, and check that what it returned fits."""
    evaluation, asked = prepared.evaluation, [*prepared.pairs, *prepared.held_out]
    query, limits = evaluation.pack.queries[evaluation.query], evaluation.remembering.limits
    budget = Budget(evaluation.model, evaluation.remembering.tokens)
    found = memory.remember(folder, asked, query, limits, progress, budget).found
    store = replace(prepared.store, memories={id_: one.memories for id_, one in found.items()})
    prepared = replace(prepared, store=store)
    if prepared.requests:
        _check_window(prepared)
    return prepared


def _check_window(prepared: Prepared) -> None:
    warning = check_window(prepared.everything_asked, prepared.evaluation.model, _alternatives(prepared))
    prepared.warnings.extend([warning] if warning else [])


def _load(evaluation: Evaluation) -> Prepared:
    everything, limit = load_pairs(evaluation.dataset, evaluation.configs, evaluation.split), evaluation.limit
    if isinstance(own := evaluation.model, OwnAnswers):
        pairs = answered_pairs(everything, own.answers, str(own.path))
    else:
        pairs = asked_pairs(everything, evaluation.books, limit, evaluation.shard, by_book=evaluation.by_book)
    held_out: list[Pair] = []
    if evaluation.choose:
        validation = load_pairs(evaluation.dataset, evaluation.configs, "validation")
        held_out = asked_pairs(validation, evaluation.books, limit)
    needs, asked = memory_named(evaluation.memory), [*pairs, *held_out]
    query = evaluation.pack.queries[evaluation.query]
    books = load_books(evaluation.dataset) if needs.books or evaluation.by_book else []
    passages = retrieval.split_books(books) if needs.passages else []
    retrieved: list[retrieval.Retrieved] = []
    if needs.passages:
        url = evaluation.retriever_url or evaluation.base_url
        search = _retriever(evaluation.retriever, base_url=url, request_timeout=evaluation.request_timeout)
        retrieved = retrieval.retrieve(
            asked, books, passages, search, query=query, top_k=evaluation.k, keep_order=evaluation.keep_order
        )
    segments = (segment for pair in asked for segment in pair.segments)
    between = unrelated(evaluation.between, evaluation.model, segments)
    memory_run = None
    if evaluation.memory not in MEMORIES:
        told, remembering = Told(asked, books, evaluation.remembering.words), evaluation.remembering
        gold = {retrieval.query_for(pair, query): told.needed(pair) for pair in asked}
        system = load_memory(evaluation.memory, gold, limits=remembering.limits, **remembering.options)
        memory_run = MemoryRun(system, told, evaluation.k, between)
    if evaluation.both_orders:  # a prompt is still chosen on pairs that are asked once, as they stand in the dataset
        pairs = both_orders(pairs)
        retrieved = [order for hit in retrieved for order in (hit, replace(hit, id=hit.id + SWAPPED))]
    memories = memory_run.stand_in([*pairs, *held_out]) if memory_run else None
    return Prepared(
        evaluation=evaluation,
        everything=everything,
        pairs=pairs,
        held_out=held_out,
        store=Store(books, passages, retrieved, evaluation.reading, memories, between),
        memory_run=memory_run,
    )


_retriever = cache(load_retriever)  # a model that embeds texts is loaded once for all datasets


def _alternatives(prepared: Prepared) -> dict[str, Callable[[], list[Request]]]:
    """What else could be asked if this does not fit: less text, or none."""
    evaluation, pairs, ask_about = prepared.evaluation, prepared.pairs, prepared.requests_about

    def excerpts(config: str) -> list[Request]:
        return ask_about(load_pairs(evaluation.dataset, [config], evaluation.split), memory="in-context")

    others: dict[str, Callable[[], list[Request]]] = {}
    memory = memory_named(evaluation.memory)
    if memory.whole_books:
        for book in sorted({pair.book_idx for pair in pairs}):
            others[f"{evaluation.memory} with --books {book}"] = partial(ask_about, asked_pairs(pairs, [book]))
    if memory.excerpts or memory.whole_books:
        longest = max(pair.excerpt_length for pair in pairs)
        for config in config_names(evaluation.dataset):
            if not is_whole_book(config) and (memory.whole_books or int(config[1:].split("_")[0]) < longest):
                others[f"in-context with --config {config}"] = partial(excerpts, config)
    if evaluation.memory != "none":
        others["none"] = partial(ask_about, pairs, memory="none")
    return others


def _notes(out: Path, scores: Mapping[str, Any]) -> list[str]:
    usage = read_json(out / "usage.json")
    line = usage_line(usage)
    notes = [line] if line else []
    notes += [f"failed {n} times: {reason}" for reason, n in usage["failed"].items()]
    if scores["n_failed"]:
        notes.append(
            f"{scores['n_failed']} questions have no answer. They count neither as right nor as wrong, so the accuracy is a "
            "range; give the same command again to send the failed requests again"
        )
    return [*notes, f"report: {out / 'report.html'}"]
