"""What the tables and figures are made from: runs, reported rates, datasets and prices; and from these one frame of rows.

A row is a system on a config at a k, own and reported alike; the notes say what to know beside some of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge, noted_judge
from epbench.memfail.dataset.load import CONFIGS, Loaded, load_memfail
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.scores.comparison import judge_notes, whole_scores
from epbench.memfail.scores.run_files import COLUMNS, read_run, run_folders
from epbench.memfail.scores.tables import CEILINGS, FLOOR, Spent, count_of, judged, place, spent, usage_of
from epbench.models.estimate import Prices
from epbench.reports.exhibit import marked
from epbench.reports.tables import Runs, Scores, cell
from epbench.runs.benchmark import read_questions
from epbench.statistics.estimate import Estimate, range_of
from epbench.statistics.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

ABOUT = ("config", "label", "source", "system", "system_model", "model", "k")  # columns that say which row it is
_PUBLISHED = ("c767443268a5bad6", "d6b0e997920611ef", "8872b870865cfba5", "ecbbf107f3e85b65", "1b995ce34a745192")
PUBLISHED_ROWS = dict(zip(CONFIGS, _PUBLISHED, strict=True))
"""By config, the fingerprint of the published rows, so that runs on other rows are not taken for a replication."""


@dataclass(frozen=True)
class PaperRun:
    """One run of one config."""

    label: str  # in tables: the system, and whatever tells it from the other runs
    folder: Path
    config: str  # one of `CONFIGS`
    system: str  # the memory system, or the baseline
    system_model: str  # the model inside the system; empty for none
    model: str  # who read the memories and answered
    judge: PastJudge | None  # None if the run names none
    fingerprint: str  # of the rows
    scores: Scores  # as `whole_scores` returns them
    spent: Mapping[str, Spent]  # what each stage took

    @cached_property
    def questions(self) -> dict[int, pd.DataFrame]:
        """The questions at each k, as in questions.parquet, which is read at the first use."""
        return {int(str(k)): at_k for k, at_k in read_questions(self.folder, COLUMNS).groupby("k")}

    @property
    def about(self) -> dict[str, str | None]:
        """The columns of a frame that say which run it is, without k."""
        names = self.config, self.label, "own", self.system, self.system_model or None, self.model or None
        return dict(zip(ABOUT, names, strict=False))

    @property
    def on_published_rows(self) -> bool:
        """Whether the rows are those that were published with the paper."""
        return PUBLISHED_ROWS.get(self.config) == self.fingerprint


@dataclass(frozen=True)
class Inputs:
    """Everything that exhibits are made from; what is absent leaves its part out."""

    runs: Sequence[PaperRun] = ()  # of all configs
    reported: Runs = field(default_factory=dict)  # by label; see `reported_rates.read_reported`
    datasets: Mapping[str, Sequence[Loaded]] = field(default_factory=dict)  # by name of a dataset, its configs
    prices: Prices | None = None  # of tokens; None shows no cost
    sources: Mapping[str, str] = field(default_factory=dict)  # of reported rates, by the name of their file


def read_runs(folders: Iterable[Path], prices: Prices | None = None) -> list[PaperRun]:
    """Read runs of MemFail, and name each by its system, and by its reader or its folder where that is not enough.

    Runs of a config that the paper does not have are left out, as long as there are others.
    """
    every = [(folder, _read(run, prices)) for folder, run in run_folders(folders)]
    found = [(folder, run) for folder, run in every if run.config in CONFIGS]
    if every and not found:
        raise BadInput(f"{every[0][1].folder}: expected a config of the paper, got a run of {every[0][1].config}")
    for length in range(3):
        named = [replace(run, label=_names(folder, run)[length]) for folder, run in found]
        if len({(run.label, run.config) for run in named}) == len(found):
            return named
    raise BadInput("two runs of one config are alike, down to the names of their folders; rename one of the folders")


def _names(folder: Path, run: PaperRun) -> tuple[str, str, str]:
    """Names of a run, from the shortest to the longest; a class of the user's own is called by its file, without folders."""
    name, baseline = run.system.rpartition("/")[2] if ".py:" in run.system else run.system, run.scores.get("baseline")
    name += f", {run.system_model}" if run.system_model else " (baseline)" if baseline else ""
    return name, f"{name}, read by {run.model}", f"{name} [{folder.resolve().name}]"


def _read(folder: Path, prices: Prices | None) -> PaperRun:
    about, scores = read_run(folder), whole_scores(folder)
    identity, judge = about["identity"], noted_judge(about["judge"]) if about.get("judge") else None
    system = str(scores.get("system") or identity.get("system") or "unnamed")
    inside, reader, rows = (str(identity.get(name) or "") for name in ("system_model", "model", "fingerprint"))
    took = spent(about, usage_of(folder) if (folder / "usage.json").is_file() else {}, prices)
    return PaperRun(system, folder, scores["config"], system, inside, reader, judge, rows, scores, took)


def read_datasets(names: Iterable[str]) -> dict[str, list[Loaded]]:
    """Read datasets of MemFail, by their names on the Hub, or from folders, which may lack configs."""
    found = {}
    for name in names:
        folder = Path(name)
        configs = [config for config in CONFIGS if not folder.is_dir() or (folder / config).is_dir()]
        if not configs:
            raise BadInput(f"{name}: expected a folder with {', '.join(CONFIGS)}, or some of them")
        found[name] = [load_memfail(name, config) for config in configs]
    return found


Row = dict[str, Any]
"""A row of a frame: config, label, source, system, system_model, model, k, the estimate of success and what stands beside;
and of what it was made: `scores` at this k, those of the whole `run`, and the run itself, `given`, None for a reported one."""

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
        return range_of(right, n, failed)
    low, high = wilson(right, n) or (None, None)
    return Estimate(n, 0, right / n, None, low, high)


def scored(about: Mapping[str, Any], scores: Scores) -> Row:
    """A row of scores as in by_k of scores.json, after the columns that say what they are about."""
    n, failed, right = judged(scores), int(scores.get("failed", 0)), count_of(scores, "success_rate") or 0
    found = share(right, n, failed).columns(*ENDS) | {"n": n, "n_failed": failed}
    if found["mean"] is not None:  # as a paper reports it, which may not be a count over n
        found["mean"] = float(scores["success_rate"])
    return {**about, **found, "n_right": right, **{name: scores.get(name) for name in _BESIDE}, "scores": scores}


def cells_of(inputs: Inputs) -> list[Row]:
    """A row for each run and k, own and reported, as they were given."""
    given: list[tuple[Any, Scores, PaperRun | None]] = [(run.about, run.scores, run) for run in inputs.runs]
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
    return sorted(
        cells_of(inputs), key=lambda row: (CONFIGS.index(row["config"]), row["system"] in CEILINGS, place(row["run"]))
    )


_REPORTED = (
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
_NEVER_STORED, _OTHER_ROWS = (
    " is a storage error: a store that stayed empty, perhaps for technical reasons, rather than a memory that fails",
    " are on other rows than the published ones, so that they cannot be compared with reported rates number by number",
)
_NO_CEILING = "No ceiling is known: there is no run with the memory oracle or full-context."
_MOST = 8


def notes_on(inputs: Inputs, rows: Sequence[Row]) -> list[str]:
    """The notes that stand below the success rates of some rows of these inputs, about their configs and sources alone."""
    places = {(row["config"], row["label"]) for row in rows}
    configs = sorted({row["config"] for row in rows})
    runs = [run for run in inputs.runs if run.config in configs]
    own, sources = [run for run in runs if (run.config, run.label) in places], {row["source"] for row in rows}
    empty = (row for row in rows if row["source"] == "reported" and row["storage_error"] == 1.0)
    other = ", ".join(sorted({run.config for run in own if not run.on_published_rows and "reported" in sources}))
    return [
        *(_SUCCESS, *_bounds(runs, configs, "own" in sources), *_vacuous(rows)),
        *([_LOST] if any(row["n_failed"] for row in rows) else []),
        *([_REPORTED] if "reported" in sources else []),
        *_listed("Every question of ", (f"{row['label']} on {row['config']}" for row in empty), _NEVER_STORED),
        *_listed("One's own runs of ", [other], _OTHER_ROWS),
        *_listed("Needed facts that the judge would not miss if they were absent: ", map(_unnoticed, own)),
        *judge_notes(run.judge for run in own),
    ]


def _listed(before: str, parts: Iterable[str], after: str = "") -> list[str]:
    """A note with these parts that are not empty, each once; none without one."""
    found = "; ".join(dict.fromkeys(filter(None, parts)))
    return [f"{before}{found}{after}."] if found else []


def _best(runs: Iterable[PaperRun]) -> float | None:
    """The highest success rate at any k at which a question did not fail."""
    rates = (at_k["success_rate"] for run in runs for at_k in run.scores["by_k"].values())
    return max((rate for rate in rates if rate is not None), default=None)


def _bounds(runs: Sequence[PaperRun], configs: Sequence[str], is_own: bool) -> list[str]:
    """By config, success without memory, computed from the questions and measured by a run without memory; and ceilings."""
    floors, ceilings = list[str](), list[str]()
    for config in configs:
        of_config = [run for run in runs if run.config == config]
        rates = [("computed", run.scores["floor"]["success_rate"]) for run in of_config if "floor" in run.scores][:1]
        rates.append(("measured", _best(run for run in of_config if run.system == FLOOR)))
        best = ((run.label, _best([run])) for run in of_config if run.system in CEILINGS)
        floor = ", ".join(f"{cell(float(rate))} {how}" for how, rate in rates if rate is not None)
        ceiling = ", ".join(f"{label} {cell(rate)}" for label, rate in best if rate is not None)
        floors += [f"{config} {floor}"] if floor else []
        ceilings += [f"{config} {ceiling}"] if ceiling else []
    known = _listed("Ceilings, the best success at any k: ", ceilings)
    return [*_listed("Floor, success without memory: ", floors), *(known or ([_NO_CEILING] if is_own else []))]


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
    if not counts or not counts["n"] + counts["misplaced"]:
        return ""
    misplaced = f" (and {counts['misplaced']} taken for a lost detail)" if counts["misplaced"] else ""
    return f"{counts['n']} of {counts['of']} in {run.config}{misplaced}"
