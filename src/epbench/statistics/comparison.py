"""Two runs held against each other on the questions that both have answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from epbench.errors import RunFailed
from epbench.statistics.paired import holm, paired, paired_outcomes

Question = TypeVar("Question")


def compare_two(
    names: tuple[str, str],
    values: Sequence[Mapping[Question, float]],
    *,
    cluster_of: Callable[[Question], object],
    unit_of: Callable[[Question], object] | None = None,
    outcomes: bool = False,
) -> dict[str, Any]:
    """Compare the values of two runs.

    Args:
        names: of the runs.
        values: of each run by question; a question without an answer is not among them.
        cluster_of: which questions share their errors; the interval draws clusters.
        unit_of: with outcomes, which questions are one unit of McNemar's test; each one its own by default.
        outcomes: whether values are 0 or 1, wrong or right.

    Returns:
        runs, the names; what `epbench.statistics.paired.Paired` says; n_one_sided, questions that only one run has
        answered, and alone, for each run what it has of these: n and mean (None without any).

    Raises:
        RunFailed: no question in common.
    """
    first, second = values
    shared = [question for question in first if question in second]
    if not shared:
        raise RunFailed(f"{names[0]} and {names[1]} have no answered question in common")
    mine, theirs = [first[question] for question in shared], [second[question] for question in shared]
    clusters = [cluster_of(question) for question in shared]
    if outcomes:
        units = [unit_of(question) for question in shared] if unit_of else None
        result = paired_outcomes(mine, theirs, clusters, units)
    else:
        result = paired(mine, theirs, clusters)
    alone = [_alone(first, second), _alone(second, first)]
    return {"runs": list(names), "n_one_sided": alone[0]["n"] + alone[1]["n"], "alone": alone, **asdict(result)}


def with_holm(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same comparisons, each with p_holm: its p corrected for the number of all of them."""
    corrected = holm([pair["p"] for pair in found])
    return [pair | {"p_holm": p} for pair, p in zip(found, corrected, strict=True)]


def note_on(pair: Mapping[str, Any]) -> list[str]:
    """What was left out of a comparison, in full sentences; nothing where both runs answered the same questions."""
    names = " / ".join(pair["runs"])
    notes = []
    if any(failed := pair.get("n_failed", [0, 0])):
        notes.append(f"{names}: {failed[0]} and {failed[1]} failed questions are left out")
    if pair["n_one_sided"]:
        parts = [
            f"{name} alone answered {alone['n']} (mean {alone['mean']:.3f} on these, {mean:.3f} on the shared ones)"
            for name, alone, mean in zip(pair["runs"], pair["alone"], pair["means"], strict=True)
            if alone["n"]
        ]
        notes.append(
            f"{names}: {pair['n_one_sided']} questions answered by only one are left out; the {pair['n']} that remain "
            f"may be easier than the whole: {', '.join(parts)}"
        )
    return notes


def _alone(one: Mapping[Question, float], other: Mapping[Question, float]) -> dict[str, Any]:
    own = [value for question, value in one.items() if question not in other]
    return {"n": len(own), "mean": sum(own) / len(own) if own else None}
