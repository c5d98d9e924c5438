"""Runs of MemFail held against each other, question by question; what became of each question stands in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.scores.side_by_side import runs_in
from epbench.runs.folder import read_run, read_scores
from epbench.runs.outcomes import read_outcomes
from epbench.statistics.comparison import compare_two, with_holm

_FIELDS = {"id": (str,), "k": (int,), "row": (str,), "success": (bool, type(None))}

Results = Mapping[tuple[str, int], Sequence[Mapping[str, Any]]]
"""Records of `outcomes.jsonl` by config and k."""


def record_of(outcome: Outcome) -> dict[str, Any]:
    """The line of `outcomes.jsonl` about one outcome; success is None where the question failed."""
    success = None if outcome.label == "failed" else outcome.label == "correct"
    return {"id": outcome.question, "k": outcome.k, "row": outcome.row, "success": success}


def read_results(folders: Sequence[Path]) -> tuple[dict[Path, Results], dict[str, str]]:
    """What became of each question of each run.

    Args:
        folders: of runs, or of runs of several configs.

    Returns:
        The results of each folder, and the judge that all runs have: name and prompt_hash.

    Raises:
        BadInput: a folder holds no run of MemFail, a run has no scores or no outcomes, runs of one config are on
            different rows, or the runs have different judges.
    """
    found: dict[Path, Results] = {}
    rows: dict[str, tuple[Path, Any]] = {}
    judges: dict[Path, Mapping[str, str]] = {}
    for folder in folders:
        results: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        runs = runs_in(folder)
        if not runs:
            raise BadInput(f"{folder}: no run of MemFail, nor a folder of such runs")
        for run in runs:
            described, config = read_run(run), read_scores(run)["config"]
            fingerprint = described["identity"].get("fingerprint")
            first, expected = rows.setdefault(config, (run, fingerprint))
            if fingerprint != expected:
                raise BadInput(f"{first} and {run} are on different rows of {config}")
            if "judge" not in described:
                raise BadInput(f"{run / 'run.json'}: a judge is expected and not there; start the run again")
            judges[run] = described["judge"]
            for record in read_outcomes(run, _FIELDS):
                results.setdefault((config, record["k"]), []).append(record)
        found[folder] = results
    names = {run: f"{judge['name']} ({judge['prompt_hash']})" for run, judge in judges.items()}
    if len(set(names.values())) > 1:
        told = "; ".join(f"{run}: {name}" for run, name in names.items())
        raise BadInput(f"the runs have different judges ({told}); have one judge judge them all")
    return found, dict(next(iter(judges.values())))


def compare_runs(runs: Mapping[str, Results]) -> list[dict[str, Any]]:
    """Success rates of any two runs, for each config and k that both have, on the questions that failed in neither.

    Args:
        runs: results by the run's name.

    Returns:
        For each pair, config and k: config, k, what `epbench.statistics.comparison.compare_two` says, with rows as
        clusters and McNemar's test, n_failed (failed questions of either run), and p_holm, corrected for all of them.

    Raises:
        BadInput: two runs have no config and k in common.
        RunFailed: two runs have no question in common that failed in neither.
    """
    found = []
    for one, other in combinations(runs, 2):
        common = [place for place in runs[one] if place in runs[other]]
        if not common:
            raise BadInput(f"{one} has {_places(runs[one])}, {other} has {_places(runs[other])}: nothing in common")
        for config, k in common:
            found.append(
                {"config": config, "k": k, **_compare((one, other), [runs[n][config, k] for n in (one, other)])}
            )
    return with_holm(found)


def not_compared(runs: Mapping[str, Results]) -> list[str]:
    """Which configs and k of a run are left out because another run lacks them, in full sentences."""
    found = []
    for one, other in combinations(runs, 2):
        for name, lacking in ((one, other), (other, one)):
            if extra := {place: None for place in runs[name] if place not in runs[lacking]}:
                found.append(f"{one} / {other}: only {name} has {_places(extra)}, which is left out")
    return found


def _compare(names: tuple[str, str], records: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    row_of = {record["id"]: record["row"] for of_run in records for record in of_run}
    values = [{r["id"]: float(r["success"]) for r in of_run if r["success"] is not None} for of_run in records]
    pair = compare_two(names, values, cluster_of=row_of.__getitem__, outcomes=True)
    pair["n_failed"] = [sum(record["success"] is None for record in of_run) for of_run in records]
    return pair


def _places(results: Mapping[tuple[str, int], object]) -> str:
    return ", ".join(f"{config} at k = {k}" for config, k in results)
