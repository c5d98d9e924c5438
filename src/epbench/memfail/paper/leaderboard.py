"""The leaderboard of MemFail: every system at every k, with what an empty and what a perfect memory reach on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from epbench.judges.protocol import noted_judge
from epbench.memfail.calibration.passport import passport_in_words
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.scores.run_files import read_run
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Standing, bounded, leaderboard, score_of
from epbench.statistics.estimate import Estimate

_TITLES = {
    "conditional_facts_easy": "conditional, easy", "conditional_facts_hard": "conditional, hard",
    "coexisting_facts": "coexisting", "persona_retrieval": "persona", "long_hop": "long hop",
}  # fmt: skip
_NOTES = (
    "A score is the share of questions that pass every stage, at the k in the column memory.",
    "Floor: an empty memory; or the run `none` with the same reader and judge on these rows, if that is higher.",
    "Ceiling: the run `oracle`, or else `full-context`, with the same reader and judge on these rows, and 1 without one.",
    "The rank is by the mean over the configs, which only a system that was run on all of them has.",
)
_PUBLISHED = "the published rows"
_REPORTED = "Reported rows are about the published rows of the paper, read and judged by other models."


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """One leaderboard of all configs that are given; none without a run or a reported rate."""
    standings = [*_own(inputs.runs), *_reported(inputs.reported, ", ".join(inputs.sources))]
    configs = [config for config in CONFIGS if any(config in row.scores for row in standings)]
    if not standings:
        return []
    standings = bounded(standings, ["oracle", "full-context"])
    columns = {_TITLES[config]: config for config in configs}
    if len(configs) > 1:
        columns = {"mean": "mean"} | columns
        standings = [_with_mean(row, configs) for row in standings]
    notes = [*(_NOTES if len(configs) > 1 else _NOTES[:-1]), *_about_reported(inputs)]
    return [leaderboard("Leaderboard, MemFail", "Success of memory systems", standings, columns, notes)]


def _own(runs: Sequence[PaperRun]) -> Iterator[Standing]:
    """A row for each system, reader, judge and k, with all of its configs."""
    groups: dict[tuple[str, str, str, str, str], list[PaperRun]] = {}
    for run in runs:
        for k in run.scores["by_k"]:
            groups.setdefault((run.label, run.source, run.model, run.judge, k), []).append(run)
    for (label, _, model, judge, k), of_group in groups.items():
        origins = dict.fromkeys(str(run.folder.parent if len(of_group) > 1 else run.folder) for run in of_group)
        yield Standing(
            label=label, source=of_group[0].source, origin=", ".join(origins), model=model, memory=f"{label}, k = {k}",
            judge=_judge(of_group[0], judge), scores={run.config: _success(run.scores["by_k"][k]) for run in of_group},
            floors={run.config: float(run.scores.get("floor", {}).get("success_rate", 0.0)) for run in of_group},
            about=_PUBLISHED if all(run.on_published_rows for run in of_group) else "these rows",
            n_asked=sum(run.questions["id"].nunique() for run in of_group), baseline=of_group[0].system,
            alike={run.config: (run.fingerprint, run.model, run.judge, k) for run in of_group},
        )  # fmt: skip


def _success(scores: Mapping[str, Any]) -> Estimate:
    """The success rate with its interval, or its bounds where questions failed."""
    if not scores.get("failed"):
        return score_of(scores["success_rate"], scores.get("intervals", {}).get("success_rate"))
    total, right = scores["n"] + scores["failed"], (scores["success_rate"] or 0.0) * scores["n"]
    return score_of(None, bounds=(right / total, (right + scores["failed"]) / total))


def _judge(run: PaperRun, name: str) -> str:
    judge = read_run(run.folder).get("judge")
    words = passport_in_words(noted_judge(judge)) if judge else None
    return words or f"{name or 'not named'}, without a passport"


def _about_reported(inputs: Inputs) -> list[str]:
    told = [f"{name}: {source}." for name, source in inputs.sources.items() if source]
    return [_REPORTED, *told] if inputs.reported else []


def _reported(reported: Mapping[str, Mapping[str, Any]], origin: str) -> Iterator[Standing]:
    """A row for each reported system, internal model and k."""
    found: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for run in reported.values():
        for k, scores in run["by_k"].items():
            found.setdefault((run["system"], run["system_model"], k), {})[run["config"]] = scores
    for (system, model, k), at_k in found.items():
        yield Standing(
            label=f"{system}, {model}", source="reported", origin=origin or "a paper", model="the paper's reader",
            memory=f"{system}, {model}, k = {k}", judge="the paper's, without a passport", about=_PUBLISHED,
            scores={config: _success(scores) for config, scores in at_k.items()}, floors=dict.fromkeys(at_k, 0.0),
        )  # fmt: skip


def _with_mean(row: Standing, configs: Sequence[str]) -> Standing:
    """The same row with means over all configs; one that lacks a config, or answers to one, has no mean score."""
    score = score_of(_mean([row.mean(config) for config in configs]))
    floor, ceiling = (_mean([of.get(config) for config in configs]) for of in (row.floors, row.ceilings))
    return replace(
        row,
        scores={**row.scores, "mean": score},
        floors={**row.floors, **({} if floor is None else {"mean": floor})},
        ceilings={**row.ceilings, **({} if ceiling is None else {"mean": ceiling})},
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
