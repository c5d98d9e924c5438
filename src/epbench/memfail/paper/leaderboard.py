"""The leaderboard of MemFail: every system at every k, with what an empty and what a perfect memory reach on the same rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from epbench.memfail.calibration.passport import passport_in_words
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.rows import cells_of, share_of
from epbench.metric_folders import metric_module
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Names, Standing, bounded, leaderboard, score_of
from epbench.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

_TITLES = ("conditional, easy", "conditional, hard", "coexisting", "persona", "long hop")
_NOTES = (
    "A score is the share of questions that pass every stage, at the k in the column memory.",
    "Floor: an empty memory; or the run `none` with the same reader and judge on these rows, if that is higher.",
    "Ceiling: the run `oracle`, or else `full-context`, with the same reader and judge on these rows, and 1 without one.",
    "The rank is by the mean over the configs, which only a system that was run on all of them has.",
)
_PUBLISHED, _THEIRS = "the published rows", "the paper's, without a passport"
_REPORTED = "Reported rows are about the published rows of the paper, read and judged by other models."


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """One leaderboard of all configs that are given; none without a run or a reported rate."""
    rows = [*standings(inputs.runs), *_reported(inputs)]
    return [board("Leaderboard, MemFail", rows, _about_reported(inputs))] if rows else []


def board(name: str, rows: Sequence[Standing], notes: Sequence[str] = ()) -> Exhibit:
    """A leaderboard with a column for each config that a row has.

    Args:
        name: The name of the exhibit.
        rows: The rows; see `standings`. At least one.
        notes: What is said below the table, after what floor and ceiling are.
    """
    configs = [config for config in CONFIGS if any(config in row.scores for row in rows)]
    rows = bounded(rows, ["oracle", "full-context"])
    columns = {title: config for title, config in zip(_TITLES, CONFIGS, strict=True) if config in configs}
    if len(configs) > 1:
        columns = {"mean": "mean"} | columns
        rows = [_with_mean(row, configs) for row in rows]
    about = [*(_NOTES if len(configs) > 1 else _NOTES[:-1]), *notes]
    return leaderboard(name, "Success of memory systems", rows, columns, about)


def standings(runs: Sequence[PaperRun]) -> Iterator[Standing]:
    """A row for each system, reader, judge and k, with all of its configs."""
    groups: dict[tuple[Any, ...], list[tuple[PaperRun, pd.DataFrame]]] = defaultdict(list)
    for run in runs:
        for k, questions in run.questions.groupby("k"):
            groups[run.label, run.source, run.model, run.judge, k].append((run, questions))
    for (*_, k), at_k in groups.items():
        of_group, run, several = [run for run, _ in at_k], at_k[0][0], len(at_k) > 1
        judge = (
            passport_in_words(run.judge) if run.judge else None
        ) or f"{run.judge or 'not named'}, without a passport"
        origins = dict.fromkeys(str(run.folder.parent if several else run.folder) for run in of_group)
        names: Names = (run.label, run.source, ", ".join(origins), run.model, f"{run.label}, k = {k}", judge)
        yield Standing(
            *names,
            scores={run.config: _success(questions) for run, questions in at_k},
            floors={run.config: float(run.scores.get("floor", {}).get("success_rate", 0.0)) for run in of_group},
            about=_PUBLISHED if all(run.on_published_rows for run in of_group) else "these rows",
            n_asked=sum(run.questions["id"].nunique() for run in of_group),
            baseline=run.system,
            alike={run.config: (run.fingerprint, run.model, run.judge, k) for run in of_group},
        )


def _success(questions: pd.DataFrame) -> Estimate:
    """The success rate with the interval of scores.json, or its bounds where questions failed."""
    found = metric_module("memory_failures").rates(questions["label"].tolist())
    if found["n_failed"]:
        return share_of(questions["success"])[1]
    return score_of(found["success_rate"], (found["ci_low"], found["ci_high"]))


def _about_reported(inputs: Inputs) -> list[str]:
    told = [f"{name}: {source}." for name, source in inputs.sources.items() if source]
    return [_REPORTED, *told] if inputs.reported else []


def _reported(inputs: Inputs) -> Iterator[Standing]:
    """A row for each reported system, internal model and k."""
    groups: dict[tuple[str, str, int], dict[str, Estimate]] = defaultdict(dict)
    for row in cells_of(replace(inputs, runs=())):
        rate, interval = row["scores"]["success_rate"], row["scores"]["intervals"].get("success_rate")
        groups[row["system"], row["system_model"], row["k"]][row["config"]] = score_of(rate, interval)
    for (system, model, k), scores in groups.items():
        label, origin = f"{system}, {model}", ", ".join(inputs.sources) or "a paper"
        names: Names = (label, "reported", origin, "the paper's reader", f"{label}, k = {k}", _THEIRS)
        yield Standing(*names, scores, floors=dict.fromkeys(scores, 0.0), about=_PUBLISHED)


def _with_mean(row: Standing, configs: Sequence[str]) -> Standing:
    """The same row with means over all configs; one that lacks a config, or answers to one, has no mean score."""
    floors, ceilings = (_mean(of.get(config) for config in configs) for of in (row.floors, row.ceilings))
    score = _mean(row.mean(config) for config in configs).get("mean")
    return replace(
        row,
        scores={**row.scores, "mean": score_of(score)},
        floors={**row.floors, **floors},
        ceilings={**row.ceilings, **ceilings},
    )


def _mean(values: Iterable[float | None]) -> dict[str, float]:
    """The mean by its name; empty if a value is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return {"mean": fmean(known)} if len(known) == len(found) else {}
