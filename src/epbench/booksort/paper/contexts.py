"""What a context does to a model: a whole book (Figure 10), the middle of an excerpt (11), long ones (12), base models (14)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import lined
from epbench.booksort.paper.rates import (
    ACCURACY,
    FAILED,
    MODEL,
    RUN,
    SCORED,
    Group,
    N,
    P,
    Rates,
    about,
    by,
    by_distance,
    counted,
    distance,
)
from epbench.booksort.paper.results import BOOK
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.booksort.scores.scoring import LONG_EXCERPT
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_half, p_value
from epbench.statistics.estimate import Value, framed
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd

EDGES = (400, 1000, 1500, 4000, 10_000, 16_500, 25_000, 40_000)
"""Distances in words at which bins end, as in the paper's figures of distances in a whole book."""
THIRDS, APART = ("first", "middle", "last"), "in two thirds"

_TUNED = re.compile(r"inst|chat|dpo|sft|hermes|zephyr|tulu|(?:^|[-_])it(?:$|[-_])", re.IGNORECASE)
_BASE = re.compile(r"(?:^|[-_])(?:base|pt|pretrained)(?:$|[-_])", re.IGNORECASE)
_FAMILIES = re.compile(r"(?:^|[-_/])(?:llama|mistral|mixtral|smollm|pythia|gpt2|gemma|olmo|falcon|opt)", re.IGNORECASE)


def is_base(model: str) -> bool:
    """Whether a model seems not to be trained to follow instructions, by the last part of its name.

    Nothing else says so: the files of most base models have a chat template, too. Only models on this machine are taken for
    base models. Their name says so (`Qwen3-0.6B-Base`), or is one of a family whose tuned models have another name
    (`Llama-3.2-1B` beside `Llama-3.2-1B-Instruct`).

    >>> is_base("hf:meta-llama/Llama-3.2-1B"), is_base("hf:meta-llama/Llama-3.2-1B-Instruct")
    (True, False)
    >>> is_base("hf:Qwen/Qwen3-0.6B-Base"), is_base("hf:Qwen/Qwen3-0.6B"), is_base("openai:gpt-4o")
    (True, False, False)
    """
    kind, _, path = model.partition(":")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if kind not in ("hf", "vllm") or _TUNED.search(name):
        return False
    return bool(_BASE.search(name) or _FAMILIES.search(name))


def labels(questions: pd.DataFrame) -> Group:
    """What answers are beyond the more probable label: how often the written one is right, and p(A) + p(B)."""
    answered = questions[~questions["failed"]]
    known = answered["label_mass"].dropna()
    greedy = None if questions["failed"].any() else float((answered["written"] == answered["answer"]).mean())
    return {"greedy_accuracy": greedy, "label_mass": float(known.mean()) if len(known) else None}


def _in_context(run: PaperRun) -> bool:
    return run.memory == "in-context"


def _is_long(run: PaperRun) -> bool:
    return _in_context(run) and bool((run.questions["excerpt_length"] >= LONG_EXCERPT).any())


def _third(questions: pd.DataFrame) -> pd.DataFrame:
    """Questions with the third of the excerpt in which both segments begin, or that they begin in two."""
    first, second = (3 * questions[name] // questions["excerpt_length"] for name in ("seg1_pos", "seg2_pos"))
    names = dict(enumerate((*THIRDS, APART)))
    return questions.assign(position=first.clip(upper=2).where(first == second, 3).map(names))


def _mean_distance(questions: pd.DataFrame) -> Group:
    return {"mean_distance": float(questions["distance"].mean())}


_BY_THIRD = by("excerpt_length", "position", more=_mean_distance)
_DRAWN_BY_THIRD = lined(
    "position", lambda row: f"{row['excerpt_length']:,} words", "third of the excerpt", panel=lambda row: str(row["label"]),
    scale="names", order=THIRDS, columns=3,
)  # fmt: skip
_BY_LENGTH: dict[str, Any] = {
    "split": by("excerpt_length", "segment_length", more=labels),
    "columns": (
        RUN, MODEL, Column("excerpt", "excerpt_length"), Column("segment", "segment_length"), ACCURACY, P,
        Column("greedy", "greedy_accuracy"), Column("label mass", "label_mass"), N, FAILED,
    ),
    "plot": lined(
        "excerpt_length", lambda row: f"{row['label']}, {row['segment_length']} words", "length of the excerpt (words)"
    ),
    "together": True,
}  # fmt: skip
_GREEDY = (
    "greedy: the accuracy of what the model would have written; label mass: the probability that its first token is A or B. "
    "Where both are low, the accuracy says which label is the more probable one, and not what the model answers."
)

DECLARED = (
    Rates(
        name="Figure 10", title="Accuracy on SORT with a whole book in context, by the distance of the segments",
        needs="a run with memory full-book, on a book that fits into the window of the model",
        shows=lambda run: run.memory == "full-book", split=by_distance("book_idx", EDGES, labels), together=True,
        columns=(RUN, BOOK, Column("distance", distance), *SCORED),
        notes=("Distances are words from the start of one segment to that of the other. Bins without a pair are left out.",),
        plot=lined(
            "mean_distance", lambda row: "accuracy", "distance in words",
            panel=lambda row: f"{row['label']}, book {row['book_idx']}", beside="book_idx",
        ),
        reported=lambda row: row.memory == "read-once",
        scores={
            "accuracy_s20": {"label": "people, 20 words"}, "accuracy_s50": {"label": "people, 50 words"},
            "accuracy_s50.over_25000": {"label": "people, 50 words", "over": 25000},
        },
    ),
    Rates(
        name="Figure 11", title="Accuracy in-context by the third of the excerpt in which both segments begin",
        needs="in-context runs", shows=_in_context, split=lambda questions: _BY_THIRD(_third(questions)),
        columns=(RUN, MODEL, Column("excerpt", "excerpt_length"), Column("{}", counted(mean_half()))), across="position",
        order=(*THIRDS, APART),
        notes=(
            "Pairs within one third are near one another, and pairs in two thirds farther apart and easier: compare the thirds "
            "with one another, not with the last column.",
        ),
        plot=lambda rows: _DRAWN_BY_THIRD([row for row in rows if row["position"] in THIRDS]),
    ),
    Rates(
        name="Figure 12", title="Accuracy in-context by the length of the excerpt, of models that were asked about long ones",
        needs="in-context runs on excerpts of 10,000 words or more, by a model whose window was extended", shows=_is_long,
        notes=(
            "How long the window of a model was before it was extended is not known here; that of the paper's, Llama3-8b-inst, "
            "was 8k tokens, and its extended one 80k.",
            _GREEDY,
        ),
        **_BY_LENGTH,
    ),
    Rates(
        name="Figure 14", title="Accuracy in-context of models that were not trained to follow instructions",
        needs="in-context runs of a model that was not trained to follow instructions, such as Llama-3-8B or Mistral-7B",
        shows=lambda run: _in_context(run) and is_base(run.model),
        notes=("That a model was not trained to follow instructions is concluded from its name.", _GREEDY),
        reported=lambda row: row.table == "Appendix E.2", scores={"accuracy": {}}, **_BY_LENGTH,
    ),
)  # fmt: skip

_REGRESSION = (
    "A logistic regression of right answers on whether both segments begin in the middle third, on the length of the "
    "excerpt, on both together, and on the distance of the segments, with errors clustered by excerpt; failed questions "
    "are left out. An odds ratio below 1 says that the middle is harder. Wald tests, corrected by Holm for the number of "
    "runs, for each of the two terms. * p < .05, ** p < .01.",
    "The paper found an effect of the middle in nine of ten models, and in seven one that depends on the length.",
)


def regression(inputs: Inputs) -> Exhibit | Missing:
    """Whether answers are worse in the middle at equal distance, which Figure 11 alone does not say (Appendix D.6)."""
    name = "Figure 11, regression"
    title = "Odds of a right answer if both segments begin in the middle third, at equal distance"
    runs = [run for run in inputs.runs if _in_context(run)]
    if not runs:
        return Missing(name, title, "in-context runs")
    rows: list[Row] = []
    reasons = []
    for run in runs:
        effect = middle_effect(run.questions)
        reasons += [f"{run.label}: {effect['not_estimable']}."] if "not_estimable" in effect else []
        rows += [_term(run, effect, term) for term in ("middle", "middle x length")]
    rows = _corrected(rows)
    columns = [
        RUN, MODEL, Column("pairs", "n"), Column("in the middle", "n_in_middle"), FAILED, Column("{}", _odds),
        Column("{}: p", p_value()),
    ]  # fmt: skip
    return Exhibit(name, title, framed(rows), columns, [*_REGRESSION, *reasons], across="term")


def _term(run: PaperRun, effect: dict[str, Any], term: str) -> dict[str, Value]:
    found = effect.get("terms", {}).get(term, {})
    return {
        **about(run), "term": term,
        **{name: found.get(name) for name in ("coefficient", "low", "high", "odds_ratio", "p")},
        "n": effect["n"], "n_failed": effect["n_failed"], "n_in_middle": effect["in_middle"]["n"],
        "accuracy_in_middle": effect["in_middle"]["accuracy"], "accuracy_elsewhere": effect["elsewhere"]["accuracy"],
    }  # fmt: skip


def _corrected(rows: Sequence[Row]) -> list[Row]:
    """The rows with p_holm, by Holm for the runs, for each term."""
    of_term: dict[str, list[float]] = {}
    for row in rows:
        if row["p"] is not None:
            of_term.setdefault(row["term"], []).append(row["p"])
    known = {term: iter(holm(p_values)) for term, p_values in of_term.items()}
    return [{**row, "p_holm": None if row["p"] is None else next(known[row["term"]])} for row in rows]


def _odds(row: Row) -> str:
    if row["coefficient"] is None:
        return "–"
    return f"{row['odds_ratio']:.2f} ({math.exp(row['low']):.2f}–{math.exp(row['high']):.2f})"


CONTEXTS = {**{one.name: one.make for one in DECLARED}, "Figure 11, regression": regression}
"""What makes each figure about contexts, by its name."""
