"""From answered questions to the scores of a run (Sections 4.3 and 5; Tables 1, 2, 11, 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from epbench.booksort.lost_in_the_middle import middle_effect
from epbench.booksort.results import Sorted
from epbench.errors import RunFailed
from epbench.metric_folders import metric_module

Summary = dict[str, Any]
Key = Callable[[Sorted], tuple[int | str, ...]]

DISTANCE_QUANTILES = 10
LONG_EXCERPT = 5000  # words; from here on the bins of distance are others, and the paper speaks of SORT-extend


def score_run(rows: Sequence[Sorted], *, n_failed: int) -> dict[str, Any]:
    """The content of scores.json.

    Args:
        rows: the answered questions; those whose request failed may be among them and are left out.
        n_failed: number of questions without an answer: neither right nor wrong.

    Returns:
        accuracy, share_a, n_questions, n_failed, n_invalid, p_value, `intervals` (`accuracy`: [low, high], drawing
        excerpts), `by_group`: for each of `GROUPINGS`, a summary by group in rising order, `distances`: accuracy by
        the distance in words, in ten parts of equal size, and `lost_in_the_middle`: see `middle_effect`. After
        retrieval also `retrieval`: share of questions of which both segments were found, share of those found in the
        order of the book, and the accuracy on these.

    Raises:
        RunFailed: no answer at all.
    """
    answered = [row for row in rows if not row.failed]
    if not answered:
        raise RunFailed(f"no question has an answer, {n_failed} failed; see answers.jsonl for the reasons")
    whole = summary(answered)
    scores: dict[str, Any] = {
        "accuracy": whole["accuracy"],
        "share_a": whole["share_a"],
        "n_questions": whole["n"],
        "n_failed": n_failed,
        "n_invalid": whole["n_invalid"],
        "p_value": whole["p_value"],
        "intervals": {} if whole["ci_low"] is None else {"accuracy": [whole["ci_low"], whole["ci_high"]]},
        "by_group": {name: by_group(answered, key) for name, key in GROUPINGS.items()},
        "distances": by_distance(answered),
    }
    scores["lost_in_the_middle"] = middle_effect(answered)
    retrieved = [row for row in answered if row.retrieved_both is not None]
    if retrieved:
        in_order = [row for row in retrieved if row.retrieved_order]
        scores["retrieval"] = {
            "n": len(retrieved),
            "both_found": sum(bool(row.retrieved_both) for row in retrieved) / len(retrieved),
            "in_order": len(in_order) / len(retrieved),
            "where_in_order": summary(in_order) if in_order else None,
        }
    return scores


def summary(rows: Sequence[Sorted]) -> Summary:
    """accuracy, ci_low, ci_high, share_a, n, n_invalid, p_value: what the metric says of these questions."""
    return _metric(rows, None)


def by_group(rows: Sequence[Sorted], key: Key) -> dict[str, Summary]:
    """A summary for each group, in rising order; a group is named by its values, `250` or `250 x 20`."""
    keys = [key(row) for row in rows]
    names = {values: " x ".join(map(str, values)) for values in sorted(set(keys))}
    found = _metric(rows, [names[values] for values in keys])["by_group"]
    return {name: found[name] for name in names.values()}


def by_distance(rows: Sequence[Sorted], parts: int = DISTANCE_QUANTILES) -> list[Summary]:
    """Accuracy by the distance of the segments, in parts of about equal numbers of questions.

    Returns:
        Summaries with `from`, `to` and `mean` distance, in words from start to start.
    """
    import numpy as np

    distances = np.array([row.distance for row in rows])
    edges = np.unique(np.quantile(distances, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    part_of = np.searchsorted(edges, distances, side="left")
    curve = []
    for part in np.unique(part_of):
        members = [row for row, of in zip(rows, part_of, strict=True) if of == part]
        far = [row.distance for row in members]
        curve.append({"from": min(far), "to": max(far), "mean": sum(far) / len(far), **summary(members)})
    return curve


def _quarter(row: Sorted) -> int:
    """Which of the four bins of Table 4 a distance lies in, from 1, whatever the length of the excerpt."""
    left = [row.excerpt_length // 4, row.excerpt_length // 3, row.excerpt_length // 2]
    if row.excerpt_length >= LONG_EXCERPT:
        left = [1000, row.excerpt_length // 4, row.excerpt_length // 2]
    return 1 + sum(row.distance_bin > edge for edge in left)


def _part(row: Sorted) -> str:
    return "SORT" if row.excerpt_length < LONG_EXCERPT else "SORT-extend"


GROUPINGS: dict[str, Key] = {
    "book": lambda row: (row.book_idx,),
    "distance_bin": lambda row: (row.excerpt_length, row.distance_bin),
    "distance": lambda row: (_quarter(row),),
    "excerpt_length": lambda row: (row.excerpt_length,),
    "segment_length": lambda row: (row.segment_length,),
    "excerpt_length x segment_length": lambda row: (row.excerpt_length, row.segment_length),
    "part": lambda row: (_part(row),),
    "part x segment_length": lambda row: (_part(row), row.segment_length),
    "book x part x segment_length": lambda row: (row.book_idx, _part(row), row.segment_length),
}
"""What results are told apart by. `distance` is the bin, from 1 (nearest) to 4, over all lengths of excerpts; `part` is
the paper's: `SORT` with excerpts up to 2,500 words, `SORT-extend` with longer ones."""


def _metric(rows: Sequence[Sorted], groups: Sequence[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = metric_module("sort_accuracy").sort_accuracy(
        [row.predicted for row in rows], [row.answer for row in rows], groups, [row.excerpt for row in rows]
    )
    return found
