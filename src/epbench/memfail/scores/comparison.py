"""Runs of MemFail, compared question by question by the tables in their folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge, about_judge, noted_judge
from epbench.memfail.scores.run_files import read_run, run_folders
from epbench.runs.judge import one_judge
from epbench.runs.question_table import read_questions
from epbench.statistics.paired import Comparison, Progress, compare_outcomes, with_holm

if TYPE_CHECKING:
    import pandas as pd

Results = Mapping[tuple[str, int], "pd.DataFrame"]
"""Rows of questions.parquet, with id, row and outcome, by config and k."""


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare the success rates of any two runs, for each config and k that both have.

    Args:
        runs: The folders of at least two runs, or of runs of several configs, by the name of the run.
        dataset: Not used: the tables in the folders are all that is compared.
        progress: Shows a bar.

    Raises:
        BadInput: A folder holds no run of MemFail, a run did not end, runs of one config are on different rows, the runs
            have different judges, or two runs have no config and k in common.
        RunFailed: Two runs have no question in common that failed in neither.
    """
    folders = run_folders(runs.values())
    judge = one_judge({run: _judge_of(run) for _, run in folders})
    results: dict[str, dict[tuple[str, int], pd.DataFrame]] = {name: {} for name in runs}
    name_of = {folder: name for name, folder in runs.items()}
    for folder, run in folders:
        table = read_questions(run, ("id", "k", "row", "config", "outcome"))
        results[name_of[folder]] |= {
            (str(config), int(str(k))): rows for (config, k), rows in table.groupby(["config", "k"], sort=False)
        }
    about = about_judge(judge, "judge")
    return Comparison("success", compare_runs(results, progress), about, _left_out(results))


def _judge_of(folder: Path) -> PastJudge:
    run = read_run(folder)
    if "judge" not in run:
        raise BadInput(f"{folder / 'run.json'}: expected a judge, found none; start the run again")
    return noted_judge(run["judge"])


def compare_runs(runs: Mapping[str, Results], progress: Progress = iter) -> list[dict[str, Any]]:
    """Compare the success rates of any two runs, for each config and k that both have.

    Args:
        runs: The outcomes by the name of the run.
        progress: Shows a bar.

    Returns:
        For each two runs, config and k: config, k, what `epbench.statistics.paired.compare_two` returns, with rows as
        clusters and McNemar's test, n_failed (the number of failed questions of each run), and p_holm, corrected for all.

    Raises:
        BadInput: Two runs have no config and k in common.
        RunFailed: Two runs have no question in common that failed in neither.
    """
    pairs = []
    for first, second in progress(list(combinations(runs, 2))):
        common = [place for place in runs[first] if place in runs[second]]
        if not common:
            raise BadInput(
                f"{first} has {_places(runs[first])}, {second} has {_places(runs[second])}: nothing in common"
            )
        for config, k in common:
            tables = [runs[name][config, k] for name in (first, second)]
            pairs.append({"config": config, "k": k, **compare_outcomes((first, second), tables, cluster="row")})
    return with_holm(pairs)


def _left_out(runs: Mapping[str, Results]) -> list[str]:
    """Which configs and k of a run are left out as another run lacks them, in full sentences."""
    return [
        f"{first} / {second}: only {name} has {_places(extra)}, which is left out"
        for first, second in combinations(runs, 2)
        for name, lacking in ((first, second), (second, first))
        if (extra := [place for place in runs[name] if place not in runs[lacking]])
    ]


def _places(results: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{config} at k = {k}" for config, k in results)
