"""Runs on the same pairs, compared question by question and shown side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from epbench.booksort.dataset.load import asked_pairs, load_pairs, pair_id
from epbench.booksort.scores.report import comparison_report
from epbench.booksort.scores.results import ABOUT, Excerpts, cards_of
from epbench.booksort.scores.run_files import COLUMNS, SCORES, read_questions, read_run, read_scores
from epbench.booksort.scores.tables import markdown_table
from epbench.errors import BadInput
from epbench.files.typed import fields, typed
from epbench.files.writing import write_text
from epbench.metric_folders import formulas
from epbench.reports.comparison import between_parts, point
from epbench.reports.explorer import versus_html
from epbench.runs import folder as run_folders
from epbench.runs.benchmark import read_records
from epbench.runs.folder import dataset_of
from epbench.runs.several import check_same, labels_of
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import DIGITS, Comparison, Progress, compare_outcomes, holm, with_holm

if TYPE_CHECKING:
    import pandas as pd


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare the accuracy of any two runs, by name, on the questions that both have answered; `dataset` is not used.

    BadInput if a run did not end, or the runs are on different rows, configs or splits. RunFailed if two runs have no
    answered question in common.
    """
    for folder in runs.values():
        run_folders.read_scores(folder, SCORES)  # a run that did not end has none
    check_same({folder: read_run(folder) for folder in runs.values()}, ("config", "split", "fingerprint"), ("texts",))
    tables = {name: read_questions(folder) for name, folder in runs.items()}
    return Comparison("accuracy", compare_runs(tables, progress))


def write_side_by_side(folders: Sequence[Path], out: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md and OUT/report.html of runs labelled by their folders; return the scores by label, and no notes.

    BadInput if a run did not end, two folders have the same name, or the runs are on different datasets.
    """
    labels = labels_of(folders)
    scores = {label: read_scores(folder) for label, folder in labels.items()}
    described = {folder: read_run(folder) for folder in labels.values()}
    rows = {folder: run["identity"].get("fingerprint") for folder, run in described.items()}
    if len(set(rows.values())) > 1:
        raise BadInput(f"the runs are on different datasets: {', '.join(f'{f}: {of}' for f, of in rows.items())}")
    check_same(described, (), ("texts",))
    first_folder, first = next(iter(described.items()))
    typed(str(first_folder / "run.json"), first, fields({"dataset": str}))
    points = [
        point(
            run["identity"], of["accuracy"], of["intervals"].get("accuracy"), of.get("incomplete", {}).get("accuracy")
        )
        for run, of in zip(described.values(), scores.values(), strict=True)
    ]
    page, text = between_parts(points, "accuracy")
    page += _question_by_question(labels)
    write_text(out / "table.md", markdown_table(scores) + text)
    write_text(out / "report.html", comparison_report(Path(first["dataset"]).name, scores, page))
    return scores, []


def _question_by_question(runs: Mapping[str, Path]) -> str:
    """Each question with what every run made of it; nothing where the dataset is not at hand."""
    described = {label: read_run(folder) for label, folder in runs.items()}
    first = next(iter(described.values()))
    identity, both = first["identity"], any(run["identity"].get("both_orders") for run in described.values())
    try:
        every = load_pairs(dataset_of(first) or "", identity["config"], identity["split"])
    except BadInput:
        return ""
    pairs = {pair.id: pair for pair in asked_pairs(every, None, both=both)}
    excerpts, cards = Excerpts(), {}
    for label, folder in runs.items():
        rows = [row for row in read_records(folder, COLUMNS) if row["id"] in pairs]
        cards[label] = cards_of([pairs[row["id"]] for row in rows], rows, {}, excerpts)
    return versus_html(cards, excerpts.texts, [ABOUT])


def compare_runs(runs: Mapping[str, pd.DataFrame], progress: Progress = iter) -> list[dict[str, Any]]:
    """Compare the accuracy of any two runs (Appendix F.2), and their log ratios (Appendix F.3).

    For each two it returns what `epbench.statistics.paired.compare_outcomes` does, with excerpts as clusters and the two
    askings of a pair of segments as one unit of McNemar's test. Also log_ratio, as in `compare_log_ratios` with p_holm and
    p_less_holm, and auc, as in `compare_areas`, each None if a run has no probabilities; and p_holm. Holm's correction of p
    is for the number of comparisons, that of the log ratios for the tests in both directions: k (k - 1) tests of k runs.
    """
    pairs = []
    for names in progress(list(combinations(runs, 2))):
        tables = [runs[name] for name in names]
        pair = compare_outcomes(names, tables, cluster="excerpt", unit_of=pair_id)
        pairs.append(pair | {"log_ratio": compare_log_ratios(*tables), "auc": compare_areas(*tables)})
    tests = [(pair["log_ratio"], name) for pair in pairs if pair["log_ratio"] for name in ("p", "p_less")]
    corrected = iter(holm([log_ratio[name] for log_ratio, name in tests if log_ratio[name] is not None]))
    for log_ratio, name in tests:
        log_ratio[f"{name}_holm"] = None if log_ratio[name] is None else next(corrected)
    return with_holm(pairs)


def compare_log_ratios(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Any] | None:
    """Test whether the first run gives the right segment a larger part of p(A) + p(B), by a one-sided paired t-test.

    Two askings of one pair of segments count once, by their mean. The test treats pairs as independent; the interval,
    which draws excerpts, does not. `n` pairs have probabilities in both runs; None with fewer than two. `difference` is
    that of the mean log ratios in nats, with a 95 % interval; `p` is for the first run being higher and `p_less` for the
    second, None without variance.
    """
    import numpy as np
    from scipy.stats import ttest_1samp

    pairs = pair_differences(first, second, "log_ratio")
    if len(pairs) < 2:
        return None
    # Rounded, so that differences which are equal but for rounding are equal.
    differences = np.round(pairs["difference"].to_numpy(float), DIGITS)
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, differences), pairs["excerpt"].tolist())
    p = p_less = None
    if (differences != differences[0]).any():
        p, p_less = (float(ttest_1samp(differences, 0.0, alternative=way).pvalue) for way in ("greater", "less"))
    difference = float(differences.mean())
    return {"n": len(pairs), "difference": difference, "interval": interval, "p": p, "p_less": p_less}


def compare_areas(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Any] | None:
    """Compare how well the log odds of two runs tell the `n` questions apart on which both have probabilities.

    `means` are their AUCs, `difference` has a 95 % interval with excerpts as clusters. None where all questions have one
    answer.
    """
    import numpy as np

    both = first.merge(second[["id", "log_odds"]], on="id", suffixes=("", "_other"))
    both = both[both["right"].notna()].dropna(subset=["log_odds", "log_odds_other"])
    if both["answer"].nunique() < 2:
        return None
    area, answers = formulas("sort_accuracy").area, both["answer"].tolist()
    first_area, of_first = area(both["log_odds"].tolist(), answers)
    second_area, of_second = area(both["log_odds_other"].tolist(), answers)
    parts = both.assign(part=of_first - of_second).groupby("excerpt")["part"].sum().to_numpy()
    k, difference, interval = len(parts), first_area - second_area, None
    if k > 1:
        half = float(NormalDist().inv_cdf(0.975) * np.sqrt(k / (k - 1) * np.square(parts).sum()))
        interval = [difference - half, difference + half]
    return {"n": len(both), "means": [first_area, second_area], "difference": difference, "interval": interval}


def pair_differences(first: pd.DataFrame, second: pd.DataFrame, column: str) -> pd.DataFrame:
    """By how much a column of the first run exceeds that of the second: for each pair its excerpt and mean difference."""
    both = first[["id", "pair", "excerpt", column]].merge(second[["id", column]], on="id", suffixes=("", "_other"))
    both = both.assign(difference=both[column] - both[f"{column}_other"]).dropna(subset="difference")
    return both.groupby("pair", sort=False).agg({"excerpt": "first", "difference": "mean"})
