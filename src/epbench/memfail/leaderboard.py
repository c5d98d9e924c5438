"""The leaderboard of MemFail: rows of one's own runs, and of rates that the paper reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from epbench.memfail.calibration.passport import passport_in_words
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.inputs import Inputs, Row, cells_of, share
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Names, Standing, bounded, leaderboard, score_of
from epbench.reports.plots import grouped
from epbench.statistics.estimate import Estimate

_TITLES = ("conditional, easy", "conditional, hard", "coexisting", "persona", "long hop")
_BOARD = (
    "A score is the share of questions that pass every stage, at the k in the column memory.",
    "Floor: an empty memory; or the run `none` with the same reader and judge on these rows, if that is higher.",
    "Ceiling: the run `oracle`, or else `full-context`, with the same reader and judge on these rows, and 1 without one.",
)
_OF_MEAN = "The rank is by the mean over the configs, which only a system that was run on all of them has."
_PUBLISHED, _THEIRS = "the published rows", "the paper's, without a passport"
_REPORTED = "Reported rows are about the published rows of the paper, read and judged by other models."


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """One leaderboard of all configs that are given; none without a run or a reported rate."""
    rows, told = standings(inputs), [f"{name}: {source}." for name, source in inputs.sources.items() if source]
    notes = [_REPORTED, *told] if inputs.reported else []
    return [board("Leaderboard, MemFail", rows, notes)] if rows else []


def board(name: str, rows: Sequence[Standing], notes: Sequence[str] = ()) -> Exhibit:
    """A leaderboard of at least one row of `standings`, with a column for each config that a row has."""
    every = zip(_TITLES, CONFIGS, strict=True)
    columns = {title: config for title, config in every if any(config in row.scores for row in rows)}
    rows, about = bounded(rows, ["oracle", "full-context"]), [*_BOARD, *notes]
    if len(columns) > 1:
        columns, rows = {"mean": "mean"} | columns, [_with_mean(row, [*columns.values()]) for row in rows]
        about = [*_BOARD, _OF_MEAN, *notes]
    return leaderboard(name, "Success of memory systems", rows, columns, about)


def standings(inputs: Inputs) -> list[Standing]:
    """A row for each system, reader, judge and k, with all of its configs, of one's own runs and of reported rates."""
    cells = [row | {"judge": row["given"] and row["given"].judge} for row in cells_of(inputs)]
    return [
        _own(rows) if rows[0]["given"] else _reported(rows, ", ".join(inputs.sources) or "a paper")
        for rows in grouped(cells, "label", "source", "model", "judge", "k").values()
    ]


def _own(rows: Sequence[Row]) -> Standing:
    of_group, k = [row["given"] for row in rows], rows[0]["k"]
    run = of_group[0]
    judge = (run.judge and passport_in_words(run.judge)) or f"{run.judge or 'not named'}, without a passport"
    origins = dict.fromkeys(str(run.folder.parent if len(rows) > 1 else run.folder) for run in of_group)
    return Standing(
        *(run.label, "own", ", ".join(origins), run.model, f"{run.label}, k = {k}", judge),
        scores={row["config"]: _success(row) for row in rows},
        floors={run.config: float(run.scores.get("floor", {}).get("success_rate", 0.0)) for run in of_group},
        about=_PUBLISHED if all(run.on_published_rows for run in of_group) else "these rows",
        n_asked=sum(row["scores"]["n"] for row in rows),
        baseline=run.system,
        alike={run.config: (run.fingerprint, run.model, run.judge, k) for run in of_group},
    )


def _reported(rows: Sequence[Row], origin: str) -> Standing:
    label = f"{rows[0]['system']}, {rows[0]['system_model']}"
    scores = {row["config"]: _success(row) for row in rows}
    names: Names = (label, "reported", origin, "the paper's reader", f"{label}, k = {rows[0]['k']}", _THEIRS)
    return Standing(*names, scores, floors=dict.fromkeys(scores, 0.0), about=_PUBLISHED)


def _success(row: Row) -> Estimate:
    """The success rate with the interval of its source, or its bounds where questions failed."""
    if row["n_failed"]:
        return share(row["n_right"], row["n"], row["n_failed"])
    return score_of(row["scores"]["success_rate"], row["scores"]["intervals"].get("success_rate"))


def _with_mean(row: Standing, configs: Sequence[str]) -> Standing:
    """The same row with means over all configs; one that lacks a config, or answers to one, has no mean score."""

    def mean(of: Mapping[str, float | None]) -> dict[str, float]:
        known = [value for config in configs if (value := of.get(config)) is not None]
        return {"mean": fmean(known)} if len(known) == len(configs) else {}

    score = mean({config: row.mean(config) for config in configs}).get("mean")
    floors, ceilings = ({**of, **mean(dict(of))} for of in (row.floors, row.ceilings))
    return replace(row, scores={**row.scores, "mean": score_of(score)}, floors=floors, ceilings=ceilings)
