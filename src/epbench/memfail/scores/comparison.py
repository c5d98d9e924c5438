"""Runs of MemFail: compared question by question by the tables in their folders, and shown side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.json_files import write_json
from epbench.files.writing import write_text
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.judges.protocol import PastJudge, about_judge, noted_judge
from epbench.memfail.calibration.passport import passport_note
from epbench.memfail.scores.report import comparison_report
from epbench.memfail.scores.reported_rates import beside, read_reported
from epbench.memfail.scores.run_files import COLUMNS, read_run, read_scores, run_folders
from epbench.memfail.scores.scoring import ABOUT, cards_of
from epbench.memfail.scores.tables import breakdown_tables, cost_tables, markdown_table, spent, usage_of, with_baseline
from epbench.memories.recall import price_table
from epbench.models.estimate import read_prices
from epbench.reports.comparison import Point, between_parts, memory_of, point
from epbench.reports.explorer import versus_html
from epbench.reports.tables import Runs, Table, markdown_list
from epbench.runs.benchmark import read_questions, read_records
from epbench.runs.folder import one_judge
from epbench.statistics.paired import Comparison, Progress, compare_outcomes, with_holm

if TYPE_CHECKING:
    import pandas as pd

Claims = Callable[[Runs, Runs], tuple[Table, Mapping[str, Any]]]
"""From the scores of runs and reported rates, by label, to a table of what they say about claims, and to a JSON object."""


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare the success rates of any two runs, for each config and k that both have.

    The tables in the folders, each of a run or of runs of several configs, are all that is compared, and not the dataset. Rows
    are the clusters, and the test is McNemar's, corrected for all comparisons by Holm.
    BadInput if a folder holds no run of MemFail, a run did not end, runs of one config are on different rows, the runs have
    different judges, or two runs have no config and k in common; RunFailed if two have no question that failed in neither.
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
    left_out = [
        f"{first} / {second}: only {name} has {_places(extra)}, which is left out"
        for first, second in combinations(results, 2)
        for name, lacking in ((first, second), (second, first))
        if (extra := [place for place in results[name] if place not in results[lacking]])
    ]
    return Comparison("success", compare_runs(results, progress), about_judge(judge, "judge"), left_out)


def compare_runs(
    runs: Mapping[str, Mapping[tuple[str, int], pd.DataFrame]], progress: Progress = iter
) -> list[dict[str, Any]]:
    """The same from rows of questions.parquet by config and k: for each two runs what `compare_outcomes` returns."""
    pairs = []
    for first, second in progress(list(combinations(runs, 2))):
        common = [place for place in runs[first] if place in runs[second]]
        if not common:
            both = ", ".join(f"{name} has {_places(runs[name])}" for name in (first, second))
            raise BadInput(f"{both}: nothing in common")
        for config, k in common:
            tables = [runs[name][config, k] for name in (first, second)]
            pairs.append({"config": config, "k": k, **compare_outcomes((first, second), tables, cluster="row")})
    return with_holm(pairs)


def _places(results: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{config} at k = {k}" for config, k in results)


def write_side_by_side(
    folders: Sequence[Path], out: Path, reported: Sequence[Path] = (), prices: Path | None = None, *, claims: Claims
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md, OUT/report.html and OUT/claims.json.

    The name of a folder, of a run or of runs of several configs, is the label of its runs. Reported numbers (JSON files, see
    `read_reported`) are shown where they fit. Without a file of prices tokens and seconds are shown alone.
    Returned are the scores of each run by its label, with `baseline` and `system_model` where its run.json says so, among them
    reported rates; and what is known of the judges. BadInput if a folder holds no run of MemFail, a run did not end, two runs
    have one label, runs of one config are on different rows, or a file cannot be used.
    """
    priced = read_prices(prices) if prices else None
    runs: dict[str, dict[str, Any]] = {}
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    usage, judges, points = {}, [], []
    for folder, run in run_folders(folders):
        about, scores = read_run(run), whole_scores(run)
        label = folder.resolve().name + ("" if run == folder else f" ({scores['config']})")
        if label in runs:
            raise BadInput(f"two runs are called {label!r}; rename a folder, its name is the label")
        runs[label] = scores
        rows[folder.resolve().name] += read_records(run, COLUMNS)
        points += [_point(about["identity"], scores["config"], k, at_k) for k, at_k in scores["by_k"].items()]
        judges += [noted_judge(about["judge"])] if about.get("judge") else []
        if (run / "usage.json").is_file():
            content = usage_of(run)
            usage[label] = spent(about, content, priced)
            if "price" in content:
                scores["price"] = content["price"]
    rates = read_reported(*reported)
    of_claims, written = claims(runs, rates)
    joined = beside(runs, rates)
    memory = price_table({label: scores["price"] for label, scores in runs.items() if "price" in scores})
    sections = {
        "Questions by stage, and their tokens": breakdown_tables(joined),
        **({"What the runs took": cost_tables(usage, priced)} if usage else {}),
        **({"What memory cost": memory} if memory else {}),
        "Claims of the paper": [of_claims],
    }
    notes = judge_notes(judges)
    parts = [f"Judges:\n\n{markdown_list(notes)}"] if notes else []
    for heading, tables in sections.items():
        parts += [f"## {heading}\n", *(table.markdown() for table in tables)]
    curves, numbers = between_parts(points, "success")
    curves += versus_html({label: cards_of(of_run) for label, of_run in rows.items()}, notes=ABOUT)
    write_text(out / "table.md", "\n".join([markdown_table(joined), *parts]) + numbers)
    write_text(out / "report.html", comparison_report(joined, notes, sections, curves))
    write_json(out / "claims.json", written)
    return joined, notes


def _point(identity: Mapping[str, Any], config: str, k: str, at_k: Mapping[str, Any]) -> Point:
    """The success of a run at one k; failed questions leave a range."""
    rate, n, failed = at_k["success_rate"], at_k["n"], at_k["failed"]
    low = (rate or 0.0) * (n - failed) / n if failed else None
    bounds = None if low is None else (low, low + failed / n)
    return point(identity, rate, at_k["intervals"].get("success_rate"), bounds, f"{config}, k = {k}")


def whole_scores(folder: Path) -> dict[str, Any]:
    """The scores of a run, with `baseline` and `system_model` where its run.json says so, and tokens_per_question at each k.

    That is the mean of prompt and reply of the reader, as the paper counts them. A reader that reports no usage, as one that
    follows rules, adds nothing.
    """
    about, scores, tokens = read_run(folder), read_scores(folder), defaultdict(list)
    for record in read_journal(folder / ANSWERS).values():
        usage = record.get("usage")
        if usage and record.get("failure") is None:
            tokens[str(record.get("id", "")).rpartition("@")[2]].append(usage["prompt"] + usage["completion"])
    counted = {k: {"tokens_per_question": fmean(of)} for k, of in tokens.items()}
    by_k = {k: {**cell, **counted.get(k, {})} for k, cell in scores["by_k"].items()}
    identity = about["identity"]
    more = {"system_model": model} if (model := identity.get("system_model")) else {}
    if "between" in identity:  # it is no floor or ceiling of runs without that text
        more["system"] = memory_of(identity)
    return with_baseline(scores, about) | {"by_k": by_k} | more


def judge_notes(judges: Iterable[PastJudge | None]) -> list[str]:
    """What is known of some judges, each once: that they differ, and their passports, or that they have none."""
    known, how = dict.fromkeys(judge for judge in judges if judge), "epbench judge-check --benchmark memfail --judge"
    checks = {judge: f"{how} {judge.name.partition('@')[0]} --out runs/judge" for judge in known}
    unchecked = "judge {} has no passport yet; to check it: {}"
    notes = [passport_note(judge) or unchecked.format(judge, check) for judge, check in checks.items()]
    different = "The runs have different judges, and scores from different judges are not comparable."
    return [different, *notes] if len(known) > 1 else notes


def _judge_of(folder: Path) -> PastJudge:
    if "judge" not in (run := read_run(folder)):
        raise BadInput(f"{folder / 'run.json'}: expected a judge, found none; start the run again")
    return noted_judge(run["judge"])
