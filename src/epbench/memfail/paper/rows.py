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
from epbench.reports.tables import Scores, cell
from epbench.statistics.estimate import Estimate
from epbench.statistics.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
"""A row of a frame: config, label, source, system, system_model, model, k, the estimate of success and what stands beside;
and of what it was made: `scores` at this k, those of the whole `run`, and the run itself, `given`, None for a reported one."""

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


def share(right: int, n: int, failed: int = 0) -> Estimate:
    """The share of right ones of the questions that did not fail, with its interval by Wilson; a range where some failed."""
    if not n:
        return Estimate()
    if failed:
        return Estimate(n, failed, lowest=right / (n + failed), highest=(right + failed) / (n + failed))
    low, high = wilson(right, n) or (None, None)
    return Estimate(n, 0, right / n, None, low, high)


def share_of(outcomes: pd.Series) -> tuple[int, Estimate]:
    """How many of some outcomes are true, and their share; those that are null have failed."""
    right, n = int(outcomes.sum()), int(outcomes.count())
    return right, share(right, n, len(outcomes) - n)


def scored(about: Mapping[str, Any], scores: Scores) -> Row:
    """A row of scores as in by_k of scores.json, after the columns that say what they are about."""
    n, failed, rate = judged(scores), int(scores.get("failed", 0)), scores.get("success_rate")
    right = count_of(scores, "success_rate") or 0
    found = share(right, n, failed).columns(*ENDS) | {"n": n, "n_failed": failed}
    if found["mean"] is not None and rate is not None:
        found["mean"] = float(rate)  # as a paper reports it, which may not be a count over n
    return {**about, **found, "n_right": right, **{name: scores.get(name) for name in _BESIDE}, "scores": scores}


def cells_of(inputs: Inputs) -> list[Row]:
    """A row for each run and k, own and reported, as they were given."""
    given: list[tuple[Mapping[str, Any], Scores, PaperRun | None]]
    given = [(run.about, run.scores, run) for run in inputs.runs]
    for scores in inputs.reported.values():
        system, model = scores.get("system") or "unnamed", scores.get("system_model")
        names = scores["config"], marked(f"{system}, {model}", "reported"), "reported", system, model or None, None
        given.append((dict(zip(ABOUT, names, strict=False)), scores, None))
    return [
        scored({**about, "k": int(k)}, at_k) | {"run": scores, "given": run}
        for about, scores, run in given
        for k, at_k in scores["by_k"].items()
    ]


def rows_of(inputs: Inputs) -> list[Row]:
    """All rows: config by config, the run without memory first, then own systems, reported ones, and baselines."""

    def place(row: Row) -> tuple[int, int]:
        baseline, system = row["run"].get("baseline"), row["system"]
        order = 0 if system == FLOOR else 2 if row["source"] != "own" else 3 if baseline else 1
        return CONFIGS.index(row["config"]), 4 if system in CEILINGS else order

    return sorted(cells_of(inputs), key=place)


def shown(rows: Iterable[Row]) -> list[Row]:
    """The rows as a frame has them, without what they were made of."""
    return [{name: row[name] for name in row if name not in ("scores", "run", "given")} for row in rows]


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
_UNNOTICED = "Needed facts that the judge would not miss if they were absent: "
_NO_CEILING = "No ceiling is known: there is no run with the memory oracle or full-context."
_MOST = 8


def notes_on(inputs: Inputs, rows: Sequence[Row]) -> list[str]:
    """The notes that stand below the success rates of some rows of these inputs, about their configs and sources alone."""
    places = {(row["config"], row["label"]) for row in rows}
    configs = sorted({row["config"] for row in rows})
    runs = [run for run in inputs.runs if run.config in configs]
    own, sources = [run for run in runs if (run.config, run.label) in places], {row["source"] for row in rows}
    empty = [row for row in rows if row["source"] == "reported" and row["storage_error"] == 1.0]
    other = ", ".join(sorted({run.config for run in own if not run.on_published_rows and "reported" in sources}))
    return [
        *(_SUCCESS, *_floors(runs, configs), *_ceilings(runs, configs, "own" in sources), *_vacuous(rows)),
        *([_LOST] if any(row["n_failed"] for row in rows) else []),
        *([REPORTED] if "reported" in sources else []),
        *_listed("Every question of ", (f"{row['label']} on {row['config']}" for row in empty), _NEVER_STORED),
        *_listed("One's own runs of ", [other] if other else [], _OTHER_ROWS),
        *_listed(_UNNOTICED, filter(None, map(_unnoticed, own))),
        *judge_notes(run.judge for run in own),
    ]


def _listed(before: str, parts: Iterable[str], after: str = "") -> list[str]:
    """A note with these parts, each once; none without one."""
    found = "; ".join(dict.fromkeys(parts))
    return [f"{before}{found}{after}."] if found else []


def _best(runs: Iterable[PaperRun]) -> float | None:
    """The highest success rate at any k at which a question did not fail."""
    rates = (at_k["success_rate"] for run in runs for at_k in run.scores["by_k"].values())
    return max((rate for rate in rates if rate is not None), default=None)


def _floors(runs: Sequence[PaperRun], configs: Sequence[str]) -> list[str]:
    """Success without memory: computed from the questions, and measured where there is a run without memory."""
    parts = []
    for config in configs:
        of_config = [run for run in runs if run.config == config]
        computed = next((run.scores["floor"]["success_rate"] for run in of_config if "floor" in run.scores), None)
        measured = _best(run for run in of_config if run.system == FLOOR)
        says = [f"{cell(float(computed))} computed"] if computed is not None else []
        says += [f"{cell(measured)} measured"] if measured is not None else []
        parts += [f"{config} {', '.join(says)}"] if says else []
    return _listed("Floor, success without memory: ", parts)


def _ceilings(runs: Sequence[PaperRun], configs: Sequence[str], is_own: bool) -> list[str]:
    best = [(run, _best([run])) for run in runs if run.system in CEILINGS]
    known = [(run.config, f"{run.label} {cell(rate)}") for run, rate in best if rate is not None]
    of_config = {config: ", ".join(text for of, text in known if of == config) for config in configs}
    parts = [f"{config} {texts}" for config, texts in of_config.items() if texts]
    return _listed("Ceilings, the best success at any k: ", parts) or ([_NO_CEILING] if is_own else [])


def _vacuous(rows: Sequence[Row]) -> list[str]:
    if not any(row["config"] == "persona_retrieval" for row in rows):
        return []
    counted = [row for row in rows if row["vacuous"]]
    found = [f"{row['label']} at k = {row['k']}: {row['vacuous']} of {row['n_right']}" for row in counted[:_MOST]]
    more = f" and {len(counted) - _MOST} more" if len(counted) > _MOST else ""
    return _listed(f"{_VACUOUS}. Vacuous passes: ", found, more) or [f"{_VACUOUS}."]


def _unnoticed(run: PaperRun) -> str:
    """How many needed facts the judge would not miss; empty for none."""
    counts = run.scores.get("unnoticed")
    if not counts or not counts["of"] or not (counts["n"] or counts["misplaced"]):
        return ""
    misplaced = f" (and {counts['misplaced']} taken for a lost detail)" if counts["misplaced"] else ""
    return f"{counts['n']} of {counts['of']} in {run.config}{misplaced}"
