"""What runs name in answer to questions about events that never happened (paper: Appendix E.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from epbench.reports.exhibit import Column, Exhibit, Missing, interval, of_source
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import wilson
from epbench.statistics.smallest_difference import smallest_difference_of_rates
from epbench.tulving.paper.inputs import Line, runs_among
from epbench.tulving.paper.rows import SPREAD, asked_for_all, f1_of, forest, judge_notes, value
from epbench.tulving.questions.templates import CUES, Trace

if TYPE_CHECKING:
    import pandas as pd

NAME = "E.8"
SCORE = "hallucinations"
"""The name of the share in reported rows: of all questions, and of one origin as `hallucinations.inner`."""

_TITLE = "Answers that name something although nothing in the book matches"
BOTH, INNER, OUTER = ORIGINS = ("both", "inner", "outer")

_NOTES = (
    "Questions of bin 0 that ask for all items (get = all): nothing matches, and the right answer names nothing. Inner ones "
    "are made of what happens in the book, but never together; outer ones name something that is nowhere in the book.",
    "An answer hallucinates if the judge found at least one item in it. Its F1 is 0 then, and 1 otherwise; items are the "
    "mean number of different items of all answers, abstentions included.",
    "Intervals of shares: Wilson's, 95 %, as if the questions were independent; several are made from one chapter. There are "
    "none where questions were asked several times. Nothing is tested here.",
)
_LOST = (
    "A range stands for a share that has lost questions: from none of the failed ones naming something to all of them."
)
_LETTERS = "A cue gives time (t), space (s), entity (e) and content (c), or some of them."


def exhibits(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """The shares by origin, and the same by the kind of item asked for and by what the cue gives."""
    empty = {
        line.label: (line, asked[asked["bin"] == "0"]) for line in runs_among(lines) for asked in [asked_for_all(line)]
    }
    asked = [(line, questions) for line, questions in empty.values() if len(questions)]
    if not asked:
        return [Missing(NAME, _TITLE, "runs with questions of bin 0 that ask for all items")]
    runs = [line for line, _ in asked]
    papers = [row for line in lines if line.reported is not None for row in _reported(line)]
    rows = [row for line, questions in asked for row in _rows(line, questions)]
    notes = [*_smallest_differences(asked), *judge_notes(runs)]
    sources = dict.fromkeys(row["paper"] for row in papers)
    notes += [
        f"Rows marked (reported) are from {source}, judged by people or by the paper's judge." for source in sources
    ]
    made: list[Exhibit | Missing] = [_table(NAME, _TITLE, [*rows, *papers], "origin", rows, notes)]
    for column, values, more in (("trace", get_args(Trace), []), ("cue", CUES, [_LETTERS])):
        rows = [
            row
            for line, questions in asked
            for value in values
            for row in _rows(line, questions[questions[column] == value], {column: value})
        ]
        drawn = sorted((row for row in rows if row["origin"] == BOTH), key=lambda row: values.index(row[column]))
        notes = [*more, *judge_notes(runs)]
        made.append(_table(f"{NAME}, {column}s", f"{_TITLE}, by {column}", rows, column, drawn, notes))
    return made


def _table(
    name: str, title: str, rows: Sequence[Mapping[str, Value]], by: str, drawn: Sequence[Mapping[str, Value]],
    notes: Sequence[str],
) -> Exhibit:  # fmt: skip
    columns = [
        Column("run", of_source(), text=True), Column("memory", "memory", text=True),
        *([] if by == "origin" else [Column(by, by, text=True)]), Column("origin", "origin", text=True),
        Column("share", value("share_")), Column("95 % interval", interval("share_low", "share_high")),
        Column("items", "items_mean"), Column("F1", value("f1_")), Column("n", "n"), Column("failed", "n_failed"),
    ]  # fmt: skip
    lost = [_LOST] if any(row["n_failed"] for row in rows) else []
    plot = forest(drawn, "share_", by, of_source(), "share of answers that name something")
    return Exhibit(name, title, framed(rows), columns, [*_NOTES, *lost, *notes], plot)


def _rows(line: Line, questions: pd.DataFrame, about: Mapping[str, Value] | None = None) -> Iterator[dict[str, Value]]:
    """A row of the frame for each origin of which there are questions."""
    for origin in ORIGINS:
        part = questions if origin == BOTH else questions[questions["origin"] == origin]
        if len(part):
            share, items = _named(part)
            yield _row(line, origin, share, items, f1_of(part), about)


def _row(
    line: Line, origin: str, share: Estimate, items: Estimate, f1: Estimate, about: Mapping[str, Value] | None = None
) -> dict[str, Value]:
    return {
        **line.columns(), **(about or {}), "origin": origin, **share.columns("n", "n_failed"),
        **share.columns("mean", "low", "high", "lowest", "highest", prefix="share_"),
        **items.columns("mean", prefix="items_"), **f1.columns(*SPREAD, prefix="f1_"),
    }  # fmt: skip


def _named(questions: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """The share of the answers that name something, and the mean number of their items."""
    # Nothing is known of what a missing answer would have named, although it is wrong.
    known = (questions["outcome"] != "failed") & questions["answer"].notna()
    counts = questions["items"].map(lambda items: 0 if items is None else len(set(items))).astype(float).where(known)
    found = questions.assign(n_items=counts, named=(counts > 0).astype(float).where(known))
    once = not questions["id"].duplicated().any()
    share = estimate(
        found, "named", interval=(lambda values, _: wilson(round(sum(values)), len(values))) if once else None
    )
    return share, estimate(found, "n_items")


def _reported(line: Line) -> Iterator[dict[str, Value]]:
    """The shares that a paper reports."""
    row = line.reported
    for origin in ORIGINS:
        score = SCORE if origin == BOTH else f"{SCORE}.{origin}"
        if row is not None and score in row.scores:
            share, n = row.scores[score], row.counts.get(score)
            low, high = (wilson(round(share * n), n) if n else None) or (None, None)
            yield _row(line, origin, Estimate(n, 0, share, low=low, high=high), Estimate(), Estimate())


def _smallest_differences(asked: Sequence[tuple[Line, pd.DataFrame]]) -> Iterator[str]:
    """For each book that several runs are about, how far two shares must be apart to be told apart."""
    of_books: dict[tuple[str, str], list[Estimate]] = {}
    for line, questions in asked:
        share, _ = _named(questions)
        if share.low is not None:
            of_books.setdefault((line.book, line.fingerprint), []).append(share)
    for (book, _), found in of_books.items():
        n, rate = found[0].n or 0, sum(share.mean or 0.0 for share in found) / len(found)
        difference = smallest_difference_of_rates(rate, n, paired=True)
        if len(found) > 1 and difference is not None:
            yield (
                f"Smallest difference: two runs on the same {n} questions about {book}, with shares around {rate:.3f}, must "
                f"differ by {difference:.3f} or more for a paired test to find it with power 0.8 at the level 0.05."
            )
