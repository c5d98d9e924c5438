"""Two runs compared on the questions that both have answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import RunFailed
from epbench.statistics.paired import holm, paired, paired_outcomes

if TYPE_CHECKING:
    import pandas as pd

Question = TypeVar("Question")

Progress = Callable[[Sequence[tuple[str, str]]], Iterable[tuple[str, str]]]
"""Wraps the names of any two runs that are to be compared, to show a progress bar; `iter` shows none."""


@dataclass(frozen=True)
class Comparison:
    """All comparisons of any two of several runs.

    Attributes:
        score: The score that is compared, such as "accuracy".
        pairs: What `compare_two` returns for each comparison, with p_holm, and `beside` where other numbers of both runs
            stand beside the score, by their names.
        about: What all runs have in common, such as their judge.
        left_out: What could not be compared and what else readers must know, in full sentences.
    """

    score: str
    pairs: list[dict[str, Any]]
    about: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


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
        names: The names of the runs.
        values: The value of each question that a run has answered, for the first and the second run.
        cluster_of: The cluster of a question. Questions of one cluster share their errors, so that the interval draws
            whole clusters.
        unit_of: With outcomes, what McNemar's test counts once, for example the pair that two questions ask about; each
            question is a unit of its own unless given.
        outcomes: Whether the values are 0 (wrong) or 1 (right).

    Returns:
        runs: the two names. The fields of `epbench.statistics.paired.Paired`. alone: for each run n and mean (None
        without questions) over the questions that only this run has answered. n_one_sided: the sum of these n.

    Raises:
        RunFailed: No question was answered by both runs.
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


def compare_outcomes(
    names: tuple[str, str],
    tables: Sequence[pd.DataFrame],
    *,
    cluster: str,
    unit_of: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Compare how much of the same questions two runs got right.

    Args:
        names: The names of the runs.
        tables: For the first and the second run a row for each question, with the columns id, outcome (`right`, `wrong`, or
            `failed`, which is left out) and the cluster.
        cluster: The column of the cluster of a question.
        unit_of: What McNemar's test counts once, by the id of a question; see `compare_two`.

    Returns:
        What `compare_two` returns, and n_failed, the number of failed questions of each run.

    Raises:
        RunFailed: No question was answered by both runs.
    """
    answered = [table[table["outcome"] != "failed"] for table in tables]
    values = [dict(zip(table["id"], map(float, table["outcome"] == "right"), strict=True)) for table in answered]
    clusters = dict(zip(answered[0]["id"], answered[0][cluster], strict=True))
    pair = compare_two(names, values, cluster_of=clusters.__getitem__, unit_of=unit_of, outcomes=True)
    return pair | {"n_failed": [len(table) - len(rest) for table, rest in zip(tables, answered, strict=True)]}


def with_holm(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add p_holm to each comparison: its p, corrected by Holm for the number of comparisons."""
    corrected = holm([pair["p"] for pair in found])
    return [pair | {"p_holm": p} for pair, p in zip(found, corrected, strict=True)]


def notes_on(comparison: Comparison) -> list[str]:
    """What the comparisons leave out and what else readers must know, in full sentences."""
    return [*(note for pair in comparison.pairs for note in _notes_on(pair)), *comparison.left_out]


def _notes_on(pair: Mapping[str, Any]) -> list[str]:
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
