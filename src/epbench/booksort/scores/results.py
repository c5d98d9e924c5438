"""What runs of Book-SORT show: one run its rows, scores and report, several how they differ question by question.

The rows and the scores of a run come from its journals, with a card for each question. Several runs are compared by the
tables of questions in their folders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from epbench.booksort.context.remembered import MemoryRun, Remembered
from epbench.booksort.context.retrieval import RECALL, RETRIEVED, recall_at
from epbench.booksort.dataset.load import Pair, asked_pairs, group_of, is_swapped, load_pairs, pair_id
from epbench.booksort.judging.answers import CUT_OFF, Record, ScoredPair, failure_of, scored_pair
from epbench.booksort.scores.report import comparison_report, html_report, markdown_table
from epbench.booksort.scores.run_files import (
    COLUMNS,
    SCORES,
    read_questions,
    read_run,
    read_scores,
    record_of,
    table_of,
)
from epbench.booksort.scores.scoring import memory_scores, score_run
from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.typed import fields, typed
from epbench.files.writing import write_text
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.memories.recall import memory_usage, price_of, price_table
from epbench.metric_folders import formulas
from epbench.reports.comparison import between_parts, point
from epbench.reports.explorer import Evidence, Mark, QuestionCard, explorer_html, versus_html
from epbench.reports.tables import cell
from epbench.runs import folder as run_folders
from epbench.runs.benchmark import read_records
from epbench.runs.folder import dataset_of
from epbench.runs.results import write_questions, write_results
from epbench.runs.several import check_same, labels_of
from epbench.runs.usage import token_usage
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import DIGITS, Comparison, Progress, compare_outcomes, holm, with_holm

if TYPE_CHECKING:
    import pandas as pd


def scored_pairs(
    folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], retrieved: Mapping[str, Record] | None = None
) -> list[ScoredPair]:
    """The rows of all pairs from the journals of a run; one without a key of its request was not asked.

    A record of what was retrieved for a pair, by its id, may be the reason why the pair has failed.
    """
    answers = read_journal(folder / ANSWERS)
    scored = []
    for pair in pairs:
        found = (retrieved or {}).get(pair.id)
        failed = found if found and "failure" in found else None
        record = failed or answers.get(keys.get(pair.id, ""), {"failure": "not asked"})
        scored.append(scored_pair(pair, record, None if failed else found))
    return scored


def finish(
    folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], label: str, memory: MemoryRun | None = None
) -> dict[str, Any]:
    """Compute the results of a run from its journals, and write them; see `epbench.runs.results`.

    `keys` has the key of the request about each pair; without one it was not asked. The scores also say, with memory
    `rag`, how many segments were found (Table 8); with a memory system, whether both were found and kept in order, and
    what went wrong in storing and retrieving.
    """
    remembered = memory.read(folder, pairs) if memory else None
    asked = {pair.id for pair in pairs}
    retrieved = {id_: one for id_, one in _retrieved(folder, remembered).items() if id_ in asked}
    questions = [record_of(row) for row in scored_pairs(folder, pairs, keys, retrieved)]
    table = table_of(questions)
    scores = score_run(table)
    if remembered:
        scores["warnings"] += remembered.warnings
        if "retrieval" in scores:
            scores["retrieval"] |= memory_scores(table, sum(one.verbatim for one in remembered.found.values()))
    elif retrieved:
        scores.setdefault("retrieval", {})[RECALL] = recall_at(list(retrieved.values()))
    records = read_journal(folder / ANSWERS).values()
    usage = token_usage(records) | memory_usage(folder)
    if price := price_of(folder):
        usage["price"] = price
    if cut_off := sum(failure_of(record) == CUT_OFF for record in records):
        usage["failed"][CUT_OFF] = cut_off
    cards = cards_of(pairs, questions, retrieved, excerpts := Excerpts())
    explorer = explorer_html(cards, excerpts.texts, [ABOUT] if excerpts.texts else [ABOUT, _NO_EXCERPTS])
    report = html_report(label, read_json(folder / "run.json"), scores, table, usage, explorer)
    write_questions(folder, COLUMNS, questions)
    cost = "".join(f"\n{table.markdown()}" for table in price_table({label: price} if price else {}))
    write_results(folder, scores=scores, usage=usage, table=markdown_table({label: scores}) + cost, report=report)
    return scores


def _retrieved(folder: Path, remembered: Remembered | None) -> dict[str, Record]:
    """What was retrieved for each pair, by its id: passages, or memories or why there are none; else nothing."""
    if remembered is None:
        return {record["id"]: record for record in read_journal(folder / RETRIEVED).values()}
    found: dict[str, Record] = {id_: asdict(one) for id_, one in remembered.found.items()}
    return found | {id_: {"failure": reason} for id_, reason in remembered.failures.items()}


# The card of a question

ABOUT = (
    "Of two segments of an excerpt the reader says which comes first; A is the one that is shown first. Distance, lengths and "
    "positions are in words."
)
_NO_EXCERPTS = "The dataset has no texts of excerpts, so the segments are not shown within theirs."
_YES_NO = {True: "yes", False: "no", None: "–"}


def cards_of(
    pairs: Sequence[Pair], rows: Sequence[Record], retrieved: Mapping[str, Record], excerpts: Excerpts
) -> list[QuestionCard]:
    """A card for each question and its row of questions.parquet; `excerpts` collects the texts that the cards name."""
    swapped = any(is_swapped(pair.id) for pair in pairs)
    return [_card(pair, row, retrieved, excerpts, swapped) for pair, row in zip(pairs, rows, strict=True)]


class Excerpts:
    """The texts of excerpts, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        # By excerpt, the number of its text, and where the words of that are.
        self._words: dict[str, tuple[int, list[tuple[int, int]]]] = {}

    def evidence(self, pair: Pair) -> list[Evidence]:
        """The excerpt of a pair with its segments marked: at their places in words, or else where their texts are found."""
        text, group = pair.excerpt, group_of(pair)
        if text is None:
            return []
        if group not in self._words:
            self._words[group] = len(self.texts), [match.span() for match in re.finditer(r"\S+", text)]
            self.texts.append(text)
        (number, words), marks = self._words[group], []
        for label, segment in zip("AB", pair.shown, strict=True):
            earlier, wanted = label == pair.answer, segment.split()
            position = pair.positions[0 if earlier else 1]
            here = words[position : position + len(wanted)]
            if here and [text[first:end] for first, end in here] == wanted:
                span = here[0][0], here[-1][1]
            elif wanted and (start := text.find(segment)) >= 0:
                span = start, start + len(segment)
            else:
                continue
            marks.append(Mark(span, f"{label}, {'first' if earlier else 'second'} in the book"))
        return [Evidence(f"Excerpt {pair.excerpt_idx} of {pair.title}", number, marks)]


def _card(pair: Pair, row: Record, retrieved: Mapping[str, Record], excerpts: Excerpts, swapped: bool) -> QuestionCard:
    facets = {
        "distance, bin up to": f"{pair.distance_bin}",
        "excerpt": f"{pair.excerpt_length} words",
        "segment": f"{pair.segment_length} words",
        "book": pair.title,
        "answered": row["predicted"] or "–",
    }
    if retrieved:
        facets["both segments retrieved"] = _YES_NO[row["retrieved_both"]]
    if swapped:
        facets["order"] = "swapped" if is_swapped(pair.id) else "as it is"
    first, second = pair.shown
    return QuestionCard(
        id=pair.id,
        facets=facets,
        outcome=row["outcome"],
        question=f"Which comes first?\n\nA: {first}\n\nB: {second}",
        reference=[pair.answer],
        answer=None if row["outcome"] == "failed" else row["greedy"] or row["predicted"],
        verdict=_verdict(pair, row),
        reason=row["failure"] or "",
        evidence=excerpts.evidence(pair),
        retrieved=_passages(retrieved.get(pair.id)) if retrieved else None,
    )


def _verdict(pair: Pair, row: Record) -> str:
    """What the answer counts as, the probabilities, and where the segments are."""
    lines = [f"distance {pair.distance:,} words: from {pair.positions[0]:,} to {pair.positions[1]:,}"]
    if row["outcome"] != "failed":
        named = "neither segment" if row["predicted"] == "X" else row["predicted"]
        lines.insert(0, f"counts as {named}; right is {pair.answer}")
    if row["p_a"] is not None:
        a, b, either = (cell(row[name]) for name in ("p_a", "p_b", "label_mass"))
        lines.append(f"probability of A {a}, of B {b}, of either {either}")
    return "\n".join(lines)


def _passages(record: Record | None) -> list[str]:
    """The memories, or the passages as numbers, in the order in which they were shown: the run keeps no texts of passages."""
    if record is None or "failure" in record:
        return []
    if "memories" in record:
        return list(record["memories"])
    shown = [f"book {book}, from character {start:,}" for book, start in record.get("passages", [])]
    ranks = ["not found" if rank is None else f"rank {rank + 1}" for rank in record["ranks"]]
    return [*shown, f"best passage with the earlier segment: {ranks[0]}; with the later one: {ranks[1]}"]


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare the accuracy of any two runs, by name, on the questions that both have answered; `dataset` is not used.

    Raises:
        BadInput: A run did not end, or the runs are on different rows, configs or splits.
        RunFailed: Two runs have no answered question in common.
    """
    for folder in runs.values():
        run_folders.read_scores(folder, SCORES)  # a run that did not end has none
    check_same({folder: read_run(folder) for folder in runs.values()}, ("config", "split", "fingerprint"), ("texts",))
    tables = {name: read_questions(folder) for name, folder in runs.items()}
    return Comparison("accuracy", compare_runs(tables, progress))


def write_side_by_side(folders: Sequence[Path], out: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md and OUT/report.html of runs labelled by their folders; return the scores by label, and no notes.

    Raises:
        BadInput: A run did not end, two folders have the same name, or the runs are on different datasets.
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

    Returns:
        For each two runs what `epbench.statistics.paired.compare_two` returns, with excerpts as clusters and McNemar's
        test. If each pair of segments was asked in both orders, its two askings are one unit of that test. Also n_failed,
        the number of failed questions of each run, which are left out; log_ratio, as in `compare_log_ratios` with p_holm
        and p_less_holm, and auc, as in `compare_areas`, each None if a run has no probabilities; and p_holm. Holm's
        correction of p is for the number of comparisons, that of the log ratios for the tests in both directions: k (k -
        1) tests of k runs.

    Raises:
        RunFailed: Two runs have no answered question in common.
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
