"""What harnesses ask, the requests of our own evaluation, and what an answer counts for: Tulving books, then Book-SORT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import LABELS, requests_for
from epbench.booksort.dataset.load import Pair, load_pairs
from epbench.booksort.judging import predicted
from epbench.errors import BadInput
from epbench.hub.rows import Row
from epbench.judges.replies import kind_of_reply
from epbench.models.protocol import Request, Sampling
from epbench.tulving.answers import score_answer
from epbench.tulving.context.requests import Reading
from epbench.tulving.dataset.load import load_book
from epbench.tulving.judging.load import RULE_JUDGES
from epbench.tulving.judging.verdicts import Judge, judged, missing_verdict
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import Get
from epbench.tulving.scores.scoring import awareness_of, f1_by_bin, has_order, is_latest, mean, tau_of

MAX_TOKENS = 1024
"""The longest answer about a book in tokens, as in our own evaluation."""

SCORES = (
    "simple_recall",
    *(f"f1_bin_{bin_}" for bin_ in BINS),
    "latest",
    "all_matched",
    "kendall_tau",
    "chronological_awareness",
)
"""The names of what `scores` returns."""

book = lru_cache(maxsize=4)(load_book)
"""Return a Tulving book and its questions; they are read once."""


class Mark(NamedTuple):
    """What one answer about a book counts for."""

    get: Get  # what the question asks for: all items, the latest, or all in chronological order
    bin: str  # the bin of the number of matching chapters
    f1: float  # F1 of the answer, 0 to 1
    is_latest: bool  # whether the question counts for `latest`
    has_order: bool  # whether the question counts for Kendall's tau
    # Kendall's tau, -1 to 1; None if not all true items were found, or if the question does not count for it.
    tau: float | None
    missing: bool  # whether there is no answer, which is wrong


@lru_cache(maxsize=4)
def rows(name: str) -> Mapping[str, Row]:
    """Return the questions about a book by their ids."""
    return {row["id"]: row for row in book(name).rows}


@lru_cache(maxsize=8)
def book_requests(name: str, memory: str) -> Mapping[str, Request]:
    """Return what our own evaluation asks, by the id of the question; `memory` is `in-context` or `none`."""
    data = book(name)
    reading = Reading(memory=memory, sampling=Sampling(MAX_TOKENS))
    return {request.id: request for request in reading.requests(data, data.rows)}


@lru_cache(maxsize=4)
def judge_of(name: str) -> Judge:
    """Return a judge that follows rules, `lexical` or `minilm`, with what it needs loaded; BadInput if that is not here."""
    if name not in RULE_JUDGES:
        raise BadInput(f"judge: expected one of {', '.join(RULE_JUDGES)}, got {name!r}")
    judge = RULE_JUDGES[name]()
    _ = judge.prompt_hash  # tells the weights, so that it loads them
    return judge


def mark(row: Row, answer: str, judge: str = "lexical") -> Mark:
    """Judge one answer to a row of the dataset.

    An empty one is missing: it is no abstention, which would be right where nothing has happened. So is one that refuses:
    harnesses have no third outcome for it.
    """
    result = score_answer(row, answer, judge_of(judge))
    missing = kind_of_reply(answer) != "answer"
    verdict = {"items": result.items, "scores": result.scores, "order": result.order}
    scored = judged(row, missing_verdict(row["answer"]) if missing else verdict)
    ordered = has_order(scored)
    tau = tau_of(scored) if ordered else None
    return Mark(scored.get, scored.bin, result.f1 or 0.0, is_latest(scored), ordered, tau, missing)


def scores(marks: Sequence[Mark]) -> dict[str, float]:
    """Compute the scores of a run under the names in `SCORES`; nan for a score that no question counts for."""
    recall = f1_by_bin(marks, [marked.f1 for marked in marks])  # type: ignore[arg-type]  # it looks at get and bin alone
    by_bin = {f"f1_bin_{bin_}": recall.get(bin_) for bin_ in BINS}
    latest = [marked.f1 for marked in marks if marked.is_latest]
    taus = [marked.tau for marked in marks if marked.has_order]
    by_name = {"simple_recall": mean(list(recall.values())), **by_bin, **awareness_of(latest, taus)}
    return {name: math.nan if value is None else value for name, value in by_name.items()}


@lru_cache(maxsize=16)
def pairs(name: str, config: str) -> Mapping[str, Pair]:
    """Return the pairs of a config of Book-SORT by their ids; they are read once."""
    return {pair.id: pair for pair in load_pairs(name, [config])}


@lru_cache(maxsize=16)
def pair_requests(name: str, config: str, memory: str) -> Mapping[str, Request]:
    """Return what our own evaluation asks with its usual prompt, by the id of the pair; `memory` is `in-context` or `none`."""
    pack = load_prompts()
    asked = requests_for(memory, list(pairs(name, config).values()), pack, pack.usual)
    return {request.id: request for request in asked}


def answer_of(log_likelihoods: Sequence[float], greedy: Sequence[bool] = ()) -> Literal["A", "B", "X"]:
    """Return the answer, as our own evaluation reads it from the log-likelihoods of A and of B, in nats.

    If they are equal, the label that is the most probable next token of all (`greedy`) decides; else it is X, which is
    wrong, as is an answer that failed.
    """
    if is_failed(log_likelihoods):
        return "X"
    most_likely = max(log_likelihoods)
    shares = [1.0 if value == most_likely else math.exp(value - most_likely) for value in log_likelihoods]
    greedy_labels = [label for label, most in zip(LABELS, greedy, strict=False) if most]
    return predicted({"answer": "".join(greedy_labels), "probabilities": dict(zip(LABELS, shares, strict=True))})


def is_failed(log_likelihoods: Sequence[float]) -> bool:
    """Return whether a number is missing, as from a model whose arithmetic overflows: then there is no answer."""
    return any(map(math.isnan, log_likelihoods))


def label_mass(log_likelihoods: Sequence[float]) -> float:
    """Return the probability that the next token is A or B at all, 0 to 1."""
    return math.fsum(map(math.exp, log_likelihoods))
