"""The latest state of an entity, and its states in chronological order (paper: Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from epbench.reports.exhibit import Column, Exhibit, Missing
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.tulving.paper.inputs import Line, by_book
from epbench.tulving.paper.rows import APART, PLAIN, for_each, notes_on, reported, value, who_columns, with_n

_SCORES = {
    "latest": "latest",
    "all_matched": "all",
    "kendall_tau": "Kendall τ",
    "chronological_awareness": "chronological awareness",
}
"""The scores by their names in scores.json, with the titles of their columns."""

_COUNTED = (
    "Latest: mean F1 of the questions with get = latest about two or more chapters; so are the published numbers, which the "
    "paper calls the share of answers that match. All: of the questions with get = chronological and two or more different "
    "true items, the share whose true items were all found. τ: its mean over these alone, whose number is its n. "
    "Chronological awareness: the mean of latest and of all · τ, which is 0 where it would be negative. The number of "
    "questions is in parentheses."
)


def order_tables(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 4: a table for each book, the readers with the highest chronological awareness first."""
    found = {book: [(line, scores) for line in of if (scores := _scores(line))] for book, of in by_book(lines).items()}
    # A run that was limited to a few questions may have none of these.
    found = {book: rows for book, rows in found.items() if any(not line.reported for line, _ in rows)}
    title = "The latest state of an entity, and all its states in chronological order"
    return for_each(
        "Table 4", title, "runs that asked for the latest state and for the chronological order", found, _table
    )


def _table(name: str, title: str, found: Sequence[tuple[Line, dict[str, Estimate]]]) -> Exhibit:
    ranked = sorted(found, key=lambda one: -_rank(one[1]))
    rows: list[dict[str, Value]] = [
        {**line.columns(), "score": score, **one.columns(*PLAIN)}
        for line, scores in ranked
        for score, one in scores.items()
        if one.n != 0 or one.n_failed or one.mean is not None
    ]
    columns = [*who_columns(rows), Column("{}", with_n(value()))]
    notes = notes_on([line for line, _ in ranked], rows, _COUNTED)
    return Exhibit(name, title, framed(rows), columns, notes, across="score", names=_SCORES, apart=APART)


def _rank(scores: dict[str, Estimate]) -> float:
    """Chronological awareness; -1 where it is a range, so that these rows come last."""
    latest, all_, tau = (scores[name].mean for name in ("latest", "all_matched", "kendall_tau"))
    return -1.0 if latest is None or all_ is None else (latest + max(0.0, all_ * (tau or 0.0))) / 2


def _scores(line: Line) -> dict[str, Estimate]:
    """The scores of a line; empty if it has neither the latest state nor the order."""
    if line.reported is not None:
        found = {name: reported(line, name) for name in _SCORES}
        return found if found["latest"].mean is not None or found["all_matched"].mean is not None else {}
    asked, scores = line.questions, line.scores
    latest = asked[(asked["get"] == "latest") & (asked["n_chapters"] >= 2)]
    ordered = asked[(asked["get"] == "chronological") & asked["reference"].map(lambda items: len(set(items)) >= 2)]
    if latest.empty and ordered.empty:
        return {}
    answered = ordered["outcome"] != "failed"
    matched = ordered.assign(matched=ordered["tau"].notna().astype(float).where(answered))
    n_failed = len(ordered) - int(answered.sum())
    tau = estimate(ordered[ordered["tau"].notna()], "tau")
    n_latest = int((latest["outcome"] != "failed").sum())
    whole = Estimate(n_latest + int(answered.sum()), len(latest) - n_latest + n_failed)
    return {
        "latest": estimate(latest, "f1"),
        "all_matched": replace(estimate(matched, "matched"), sd=None),  # a share has no deviation of interest
        # The bounds of scores.json know what the failed questions may have been.
        "kendall_tau": _known(line, "kendall_tau", replace(tau, n_failed=n_failed)) if n_failed else tau,
        "chronological_awareness": _known(line, "chronological_awareness", whole, scores.get("chronological_awareness")),
    }  # fmt: skip


def _known(line: Line, score: str, counts: Estimate, mean: float | None = None) -> Estimate:
    """What scores.json says of a score: its value, or its bounds where questions failed."""
    lowest, highest = line.scores.get("incomplete", {}).get(score) or (None, None)
    known = Estimate(counts.n, counts.n_failed, mean if lowest is None else None, lowest=lowest, highest=highest)
    return known if known.mean is not None or lowest is not None or score == "kendall_tau" else Estimate()
