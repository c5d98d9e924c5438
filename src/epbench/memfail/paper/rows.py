"""The scores of every system on every config at every k, own and reported alike, as rows; and what to know beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.scores.comparison import judge_notes
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import CEILINGS, FLOOR, count_of, judged
from epbench.reports.exhibit import marked, mean_interval
from epbench.reports.tables import Runs, Scores, cell
from epbench.statistics.estimate import Estimate, framed
from epbench.statistics.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
"""A row of a frame: config, label, source, system, system_model, model, k, the estimate of success and what stands beside."""

_TITLES = ("Conditional facts, easy", "Conditional facts, hard", "Coexisting facts", "Persona retrieval", "Long hop")
TITLES: Mapping[str, str] = dict(zip(CONFIGS, _TITLES, strict=True))
"""What a config is called above a panel."""

SUCCESS = mean_interval()
"""How success is shown: `0.350 (0.26–0.45)`."""
ABOUT = ("config", "label", "source", "system", "system_model", "model", "k")
ENDS = ("mean", "low", "high", "lowest", "highest")
_BESIDE = (
    *(*ERRORS, "success_earned", "vacuous", "vacuous_wrong", "answer_accuracy"),
    *("memories", "words_per_memory", "tokens_per_memory", "tokens_per_question"),
)
_HIDDEN = ("scores", "run")


def share(right: int, n: int, failed: int = 0, level: float = 0.95) -> Estimate:
    """The share of right questions, with its interval by Wilson; a range where questions failed.

    Args:
        right: The number of questions that count.
        n: The number of questions that did not fail.
        failed: The number of those that did.
        level: Of the interval.
    """
    if not n:
        return Estimate()
    if failed:
        return Estimate(n, failed, lowest=right / (n + failed), highest=(right + failed) / (n + failed))
    low, high = wilson(right, n, level=level) or (None, None)
    return Estimate(n, 0, right / n, None, low, high)


def share_of(outcomes: pd.Series) -> tuple[int, Estimate]:
    """How many of some outcomes are true, and their share; those that are null have failed."""
    known = outcomes.dropna()
    right = int(known.sum())
    return right, share(right, len(known), len(outcomes) - len(known))


def scored(about: Mapping[str, Any], scores: Scores) -> Row:
    """A row of scores as in by_k of scores.json, after the columns that say what they are about."""
    n, failed, rate = judged(scores), int(scores.get("failed", 0)), scores.get("success_rate")
    right = count_of(scores, "success_rate") or 0
    found = share(right, n, failed).columns(*ENDS) | {"n": n, "n_failed": failed}
    if found["mean"] is not None and rate is not None:
        found["mean"] = float(rate)  # as a paper reports it, which may not be a count over n
    return {**about, **found, "n_right": right, **{name: scores.get(name) for name in _BESIDE}, "scores": scores}


def cells_of(inputs: Inputs) -> list[Row]:
    """A row for each run and k, own and reported, as they were given; `run` has all scores of the run."""
    found = []
    for run in inputs.runs:
        about = (run.config, run.name, run.source, run.system, run.system_model or None, run.model or None)
        found += _at_each_k(about, run.scores)
    return [*found, *cells_of_scores(inputs.reported)]


def cells_of_scores(runs: Runs) -> list[Row]:
    """The same of runs of which only the scores are known, as of reported ones."""
    found = []
    for scores in runs.values():
        system, model = scores.get("system") or "unnamed", scores.get("system_model")
        label = marked(f"{system}, {model}", "reported")
        found += _at_each_k((scores["config"], label, "reported", system, model or None, None), scores)
    return found


def _at_each_k(about: Sequence[str | None], run: Scores) -> list[Row]:
    return [
        scored(dict(zip(ABOUT, (*about, int(k)), strict=True)), scores) | {"run": run}
        for k, scores in run["by_k"].items()
    ]


def rows_of(inputs: Inputs) -> list[Row]:
    """All rows: config by config, the run without memory first, then own systems, reported ones, and baselines."""

    def place(row: Row) -> tuple[int, int]:
        baseline, system = row["run"].get("baseline"), row["system"]
        order = 0 if system == FLOOR else 2 if row["source"] != "own" else 3 if baseline else 1
        return CONFIGS.index(row["config"]), 4 if system in CEILINGS else order

    return sorted(cells_of(inputs), key=place)


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """The frame of an exhibit: the rows without the scores that they come from."""
    return framed({name: value for name, value in row.items() if name not in _HIDDEN} for row in rows)


def values(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a column, each once, in their order."""
    return list(dict.fromkeys(row[name] for row in rows))


REPORTED = (
    "Rows marked (reported) are those of Garg et al. (MemFail, 2026), from the given files; reader and judge were "
    "gpt-5-mini. Their intervals are computed here from the rate and the number of questions. Their correct questions "
    "include any that the authors' judge could not analyse."
)
_SUCCESS = (
    "Success means that every stage passed, which is stricter than a right answer. Intervals are 95 %, by Wilson, and take "
    "questions as independent."
)
_LOST = "A range is shown where questions failed: from all of them wrong to all of them right; they are neither."
_VACUOUS = (
    "A pass is vacuous if a question about somebody unknown is passed because what could mislead was not stored or not "
    "retrieved; an empty memory passes all of these (0.523 of the published persona questions)"
)
_NEVER_STORED = (
    " is a storage error: a store that stayed empty, perhaps for technical reasons, rather than a memory that fails"
)
_OTHER_ROWS = (
    " are on other rows than the published ones, so that they cannot be compared with reported rates number by number"
)
_NO_CEILING = "No ceiling is known: there is no run with the memory oracle or full-context."
_MOST = 8


def notes_on(inputs: Inputs, rows: Sequence[Row]) -> list[str]:
    """The notes that stand below the success rates of some rows.

    Args:
        inputs: The runs that the rows come from.
        rows: What is shown; notes about other configs and sources are left out.
    """
    shown = {(row["config"], row["label"]) for row in rows}
    configs = sorted({row["config"] for row in rows})
    runs = [run for run in inputs.runs if run.config in configs]
    own = [run for run in runs if (run.config, run.label) in shown]
    notes = [_SUCCESS, *_floors(runs, configs), *_ceilings(rows, runs, configs), *_vacuous(rows)]
    notes += [_LOST] if any(row["n_failed"] for row in rows) else []
    notes += [REPORTED] if any(row["source"] == "reported" for row in rows) else []
    return [
        *notes,
        *_never_stored(rows),
        *_other_rows(own, rows),
        *_unnoticed(own),
        *judge_notes(run.judge for run in own),
    ]


def _rates(run: PaperRun) -> list[float]:
    """The success rates of a run at each k at which a question did not fail."""
    return [at["success_rate"] for at in run.scores["by_k"].values() if at["success_rate"] is not None]


def _listed(before: str, parts: Iterable[str], after: str = "") -> list[str]:
    """A note with these parts; none without one."""
    found = "; ".join(parts)
    return [f"{before}{found}{after}."] if found else []


def _floors(runs: Sequence[PaperRun], configs: Sequence[str]) -> list[str]:
    """Success without memory: computed from the questions, and measured where there is a run without memory."""
    parts = []
    for config in configs:
        of_config = [run for run in runs if run.config == config]
        computed = next((run.scores["floor"]["success_rate"] for run in of_config if "floor" in run.scores), None)
        measured = [rate for run in of_config if run.system == FLOOR for rate in _rates(run)]
        says = [f"{cell(float(computed))} computed"] if computed is not None else []
        says += [f"{cell(max(measured))} measured"] if measured else []
        parts += [f"{config} {', '.join(says)}"] if says else []
    return _listed("Floor, success without memory: ", parts)


def _ceilings(rows: Sequence[Row], runs: Sequence[PaperRun], configs: Sequence[str]) -> list[str]:
    best: dict[str, list[str]] = {config: [] for config in configs}
    for run in runs:
        if run.system in CEILINGS and (rates := _rates(run)):
            best[run.config].append(f"{run.label} {cell(max(rates))}")
    parts = (f"{config} {', '.join(of)}" for config, of in best.items() if of)
    is_own = any(row["source"] == "own" for row in rows)
    return _listed("Ceilings, the best success at any k: ", parts) or ([_NO_CEILING] if is_own else [])


def _vacuous(rows: Sequence[Row]) -> list[str]:
    if not any(row["config"] == "persona_retrieval" for row in rows):
        return []
    counted = [row for row in rows if row["vacuous"]]
    found = [f"{row['label']} at k = {row['k']}: {row['vacuous']} of {row['n_right']}" for row in counted[:_MOST]]
    more = f" and {len(counted) - _MOST} more" if len(counted) > _MOST else ""
    return _listed(f"{_VACUOUS}. Vacuous passes: ", found, more) or [f"{_VACUOUS}."]


def _never_stored(rows: Sequence[Row]) -> list[str]:
    empty = [row for row in rows if row["source"] == "reported" and row["storage_error"] == 1.0]
    places = dict.fromkeys(f"{row['label']} on {row['config']}" for row in empty)
    return _listed("Every question of ", places, _NEVER_STORED)


def _other_rows(runs: Sequence[PaperRun], rows: Sequence[Row]) -> list[str]:
    if not any(row["source"] == "reported" for row in rows):
        return []
    other = sorted({run.config for run in runs if not run.on_published_rows})
    return _listed("One's own runs of ", [", ".join(other)], _OTHER_ROWS) if other else []


def _unnoticed(runs: Sequence[PaperRun]) -> list[str]:
    """How many needed facts the judge would not miss, once for each config, judge and count."""
    found: dict[str, None] = {}
    for run in runs:
        counts = run.scores.get("unnoticed")
        if counts and counts["of"] and (counts["n"] or counts["misplaced"]):
            misplaced = f" (and {counts['misplaced']} taken for a lost detail)" if counts["misplaced"] else ""
            found[f"{counts['n']} of {counts['of']} in {run.config}{misplaced}"] = None
    return _listed("Needed facts that the judge would not miss if they were absent: ", found)
