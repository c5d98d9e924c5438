"""Runs of MemFail as they are read from their folders: checked, and compared question by question.

Files of other tools and damaged ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.judges.protocol import PastJudge, about_judge, noted_judge
from epbench.memfail.scores.scoring import ERRORS
from epbench.runs import folder as runs
from epbench.runs.judge import one_judge
from epbench.runs.question_table import read_questions
from epbench.runs.several import runs_in
from epbench.statistics.paired import Comparison, Progress, compare_outcomes, with_holm

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = fields(
    {},
    {
        **dict.fromkeys(("system", "model", "system_model", "embedder"), str | None), "fingerprint": str, "config": str,
        "control": bool,
    },
)  # fmt: skip
"""The field `identity` of run.json."""

_RATED = {
    **dict.fromkeys(("success_rate", "answer_accuracy", *ERRORS), Number | None),
    **dict.fromkeys(("vacuous", "failed", "n"), Whole), "facts": dict[str, Whole],
    "intervals": dict[str, Interval],
}  # fmt: skip
_MORE = {
    **dict.fromkeys(("success_earned", "words_per_memory", "tokens_per_memory"), Number | None), "memories": Number,
    "vacuous_wrong": Whole,
}  # fmt: skip
_GROUP: Any = fields(_RATED, _MORE)
_AT_K: Any = fields(_RATED, {**_MORE, "by_group": dict[str, _GROUP]})

SCORES = fields(
    {"config": str, "by_k": dict[str, _AT_K]},
    {
        "system": str | None, "floor": fields({"success_rate": Number, "answer_accuracy": Number}),
        "unnoticed": fields({"n": Whole, "misplaced": Whole, "of": Whole, "share": Number | None}),
        "not_judgeable": fields({"n": Whole, "of": Whole}), "warnings": list[str],
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)


def run_folders(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """The runs in some folders; each folder is a run, or holds one for each config.

    Returns:
        Pairs of the given folder and the folder of a run in it.

    Raises:
        BadInput: A folder holds no run of MemFail, a run did not end, or runs of one config are on different rows.
    """
    found: list[tuple[Path, Path]] = []
    rows: dict[str, tuple[Path, Any]] = {}
    for folder in folders:
        own = [run for run in runs_in(folder) if runs.read_run(run)["identity"].get("benchmark") == "memfail"]
        if not own:
            raise BadInput(f"{folder}: expected a run of MemFail, or a folder of such runs")
        for run in own:
            config, fingerprint = runs.read_scores(run, SCORES)["config"], read_run(run)["identity"].get("fingerprint")
            first, expected = rows.setdefault(config, (run, fingerprint))
            if fingerprint != expected:
                raise BadInput(f"{first} and {run} are on different rows of {config}")
            found.append((folder, run))
    return found


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
    found = run_folders(runs.values())
    judge = one_judge({run: _judge_of(run) for _, run in found})
    results: dict[str, dict[tuple[str, int], pd.DataFrame]] = {name: {} for name in runs}
    name_of = {folder: name for name, folder in runs.items()}
    for folder, run in found:
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
    found = []
    for one, other in progress(list(combinations(runs, 2))):
        common = [place for place in runs[one] if place in runs[other]]
        if not common:
            raise BadInput(f"{one} has {_places(runs[one])}, {other} has {_places(runs[other])}: nothing in common")
        for config, k in common:
            tables = [runs[name][config, k] for name in (one, other)]
            found.append({"config": config, "k": k, **compare_outcomes((one, other), tables, cluster="row")})
    return with_holm(found)


def _left_out(runs: Mapping[str, Results]) -> list[str]:
    """Which configs and k of a run are left out as another run lacks them, in full sentences."""
    return [
        f"{one} / {other}: only {name} has {_places(extra)}, which is left out"
        for one, other in combinations(runs, 2)
        for name, lacking in ((one, other), (other, one))
        if (extra := [place for place in runs[name] if place not in runs[lacking]])
    ]


def _places(results: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{config} at k = {k}" for config, k in results)
