"""What the tables and figures are made from: runs, reported rates, rows of datasets, and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge, noted_judge
from epbench.memfail.dataset.load import CONFIGS, Loaded, load_memfail
from epbench.memfail.scores.comparison import whole_scores
from epbench.memfail.scores.cost import Spent, spent, usage_of
from epbench.memfail.scores.run_files import COLUMNS, read_run, run_folders
from epbench.models.prices import Prices
from epbench.reports.tables import Runs, Scores
from epbench.runs.question_table import read_questions

if TYPE_CHECKING:
    import pandas as pd

_PUBLISHED = ("c767443268a5bad6", "d6b0e997920611ef", "8872b870865cfba5", "ecbbf107f3e85b65", "1b995ce34a745192")
PUBLISHED_ROWS: Mapping[str, str] = dict(zip(CONFIGS, _PUBLISHED, strict=True))
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
    scores: Scores  # scores.json as `epbench.memfail.scores.comparison.whole_scores` returns it
    spent: Mapping[str, Spent]  # what each stage took

    @cached_property
    def questions(self) -> pd.DataFrame:
        """questions.parquet, which is read at its first use: a row for each question at each k.

        Raises:
            BadInput: There is none, or it cannot be read.
        """
        return read_questions(self.folder, COLUMNS)

    def at(self, k: int) -> pd.DataFrame:
        """The questions at one k."""
        return self.questions[self.questions["k"] == k]

    @property
    def about(self) -> dict[str, str | None]:
        """The columns of a frame that say which run it is."""
        inside, reader = self.system_model or None, self.model or None
        about = {"config": self.config, "label": self.label, "source": "own", "system": self.system}
        return {**about, "system_model": inside, "model": reader}

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

    Runs of a config that the paper does not have are left out, as long as there are others. Without prices there is no cost.

    Raises:
        BadInput: A folder holds no run of MemFail, none is of a config of the paper, a run did not end, runs of one config
            are on different rows, or two runs of one config cannot be told apart.
    """
    every = [(folder, _read(run, prices)) for folder, run in run_folders(folders)]
    found = [(folder, run) for folder, run in every if run.config in CONFIGS]
    if every and not found:
        raise BadInput(f"{every[0][1].folder}: expected a config of the paper, got a run of {every[0][1].config}")
    for names in zip(*(_names(folder, run) for folder, run in found), strict=True):
        if len({(name, run.config) for name, (_, run) in zip(names, found, strict=True)}) == len(found):
            return [replace(run, label=name) for name, (_, run) in zip(names, found, strict=True)]
    if found:
        told = "two runs of one config are alike, down to the names of their folders"
        raise BadInput(f"{told}; rename one of the folders")
    return []


def _names(folder: Path, run: PaperRun) -> tuple[str, str, str]:
    """Names of a run, from the shortest to the longest; a class of the user's own is called by its file, without folders."""
    name, baseline = run.system.rpartition("/")[2] if ".py:" in run.system else run.system, run.scores.get("baseline")
    name += f", {run.system_model}" if run.system_model else " (baseline)" if baseline else ""
    return name, f"{name}, read by {run.model}", f"{name} [{folder.resolve().name}]"


def _read(folder: Path, prices: Prices | None) -> PaperRun:
    about, scores = read_run(folder), whole_scores(folder)
    identity, judge = about["identity"], about.get("judge")
    system = str(scores.get("system") or identity.get("system") or "unnamed")
    inside, reader, rows = (str(identity.get(name) or "") for name in ("system_model", "model", "fingerprint"))
    took = spent(about, usage_of(folder) if (folder / "usage.json").is_file() else {}, prices)
    judged_by = noted_judge(judge) if judge else None
    return PaperRun(system, folder, scores["config"], system, inside, reader, judged_by, rows, scores, took)


def read_datasets(names: Iterable[str]) -> dict[str, list[Loaded]]:
    """Read datasets of MemFail, by their names on the Hub, or from folders, which may lack configs.

    Raises:
        BadInput: There is no such dataset, or a config is no table of MemFail.
    """
    found = {}
    for name in names:
        folder = Path(name)
        configs = [config for config in CONFIGS if not folder.is_dir() or (folder / config).is_dir()]
        if not configs:
            raise BadInput(f"{name}: expected a folder with {', '.join(CONFIGS)}, or some of them")
        found[name] = [load_memfail(name, config) for config in configs]
    return found
