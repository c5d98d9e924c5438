"""Runs on one book, compared question by question and shown side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.typed import fields, typed
from epbench.files.writing import write_text
from epbench.hub.rows import Row
from epbench.memories.recall import price_table
from epbench.reports.comparison import between_parts, point
from epbench.reports.explorer import versus_html
from epbench.runs.benchmark import read_questions, read_records
from epbench.runs.folder import dataset_of, one_judge, open_run
from epbench.runs.several import labels_of
from epbench.statistics.paired import Comparison, Progress, compare_two, with_holm
from epbench.tulving.calibration.passport import with_passport
from epbench.tulving.dataset.load import load_book
from epbench.tulving.scores.inventions import ABOUT, CUE, NO_BOOK, cards_of, retrieved_of
from epbench.tulving.scores.judge_agreement import last_judge
from epbench.tulving.scores.report import comparison_report
from epbench.tulving.scores.run_files import COLUMNS, read_run, read_scores
from epbench.tulving.scores.scoring import Cue, items_ratio
from epbench.tulving.scores.tables import MANY, markdown_table

if TYPE_CHECKING:
    import pandas as pd


UNKNOWN_CHAPTERS = (
    "an earlier version made this run and did not note the text of the chapters, so it is unknown whether it is that of "
    "the other runs"
)
HARSH, NAMED = "harsh F1", "named per true item"


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare F1 of any two runs, on this dataset if one is given, on the questions that both have answered.

    BadInput if they are on different books, or have different judges or no scores; RunFailed if two share no question.
    """
    if dataset is not None:
        rows_of(runs.values(), dataset)
    judge = one_judge({folder: last_judge(folder) for folder in runs.values()})
    unknown = check_same_book({folder: read_run(folder) for folder in runs.values()})
    tables = {}
    for name, folder in runs.items():
        with open_run(folder, {}, {}):  # no other process may be at work in it
            tables[name] = read_questions(folder, COLUMNS)
    pairs = compare_runs(tables, progress)
    notes = [f"{name}: {UNKNOWN_CHAPTERS}" for name, folder in runs.items() if folder in unknown]
    return Comparison("F1", pairs, {"judge": judge.name}, [*notes, *naming_warnings(pairs)])


def write_side_by_side(folders: Sequence[Path], out: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md and OUT/report.html of runs, whose labels are the names of their folders.

    Returns the scores of each run by its label, and no notes: the tables have them. BadInput if a run did not end, two folders
    have the same name, or the runs are on different books.
    """
    runs = {label: (folder, read_run(folder), read_scores(folder)) for label, folder in labels_of(folders).items()}
    (first_folder, first, _), *_ = runs.values()
    typed(str(first_folder / "run.json"), first, fields({"book": str}))
    unknown = check_same_book({folder: run for folder, run, _ in runs.values()})
    scores: dict[str, dict[str, Any]] = {}
    for label, (folder, _, of_run) in runs.items():
        if "incomplete" not in of_run:
            raise BadInput(f"{folder / 'scores.json'}: expected a field 'incomplete'; give the run's command again")
        scores[label] = with_passport(of_run)
        if folder in unknown:
            scores[label]["warnings"] = [*scores[label].get("warnings", []), UNKNOWN_CHAPTERS]
    files = {label: folder / "usage.json" for label, (folder, _, _) in runs.items()}
    usages = {label: read_json(file) for label, file in files.items() if file.exists()}
    prices = {label: usage["price"] for label, usage in usages.items() if "price" in usage}
    name = "simple_recall_score"
    points = [
        point(run["identity"], of.get(name), of.get("intervals", {}).get(name), of["incomplete"].get(name))
        for _, run, of in runs.values()
    ]
    page, text = between_parts(points, "simple recall")
    page += _question_by_question({label: folder for label, (folder, _, _) in runs.items()})
    cost = "".join(f"\n{table.markdown()}" for table in price_table(prices))
    write_text(out / "table.md", markdown_table(scores) + text + cost)
    write_text(out / "report.html", comparison_report(first["book"], scores, prices, page))
    return scores, []


def _question_by_question(runs: Mapping[str, Path]) -> str:
    """Each question with what every run made of it, and the chapters of the book where that is at hand."""
    try:
        chapters = load_book(dataset_of(read_run(next(iter(runs.values())))) or "").book.chapters
    except BadInput:
        chapters = []
    places = {number: place for place, (number, _) in enumerate(chapters)}
    cards = {
        label: cards_of(read_records(folder, COLUMNS), places, retrieved_of(folder, chapters))
        for label, folder in runs.items()
    }
    return versus_html(cards, [text for _, text in chapters], [ABOUT, *([] if chapters else [NO_BOOK])])


def check_same_book(described: Mapping[Path, Mapping[str, Any]]) -> list[Path]:
    """Check that runs, by their folders and contents of run.json, are on the same questions and chapters, else BadInput.

    Returns the folders of which it is not known whether their chapters are those of the others; see `UNKNOWN_CHAPTERS`.
    """
    # A run on a dataset has the fingerprint of its rows in its identity, a released run beside it.
    rows = {folder: run["identity"].get("fingerprint", run.get("fingerprint")) for folder, run in described.items()}
    identities = {folder: run["identity"] for folder, run in described.items()}
    chapters = {folder: identity["chapters"] for folder, identity in identities.items() if "chapters" in identity}
    for prints in (rows, chapters):
        if len(set(prints.values())) > 1:
            named = ", ".join(f"{folder}: {print_}" for folder, print_ in prints.items())
            raise BadInput(f"the runs are on different {'datasets' if prints is rows else 'chapters'}: {named}")
    unreleased = [folder for folder, run in described.items() if "released" not in run["identity"]]
    return [folder for folder in unreleased if chapters and folder not in chapters]


def rows_of(folders: Iterable[Path], dataset: str | None = None) -> Sequence[Row]:
    """The rows of the book, in this dataset or where the runs found it, that all runs are about; BadInput if they differ."""
    described = {folder: read_run(folder) for folder in folders}
    dataset = dataset or next(filter(None, map(dataset_of, described.values())), None)
    if dataset is None:
        raise BadInput(
            f"{next(iter(described)) / 'run.json'}: a released run names no dataset; give its book as the dataset"
        )
    data = load_book(dataset)
    for folder, run in described.items():
        noted = {"fingerprint": run.get("fingerprint", data.fingerprint), "chapters": data.chapters} | run["identity"]
        if any(noted[name] != value for name, value in data.identity.items()):
            raise BadInput(f"{folder / 'run.json'}: this run is on another dataset than {dataset}")
    return data.rows


def compare_runs(runs: Mapping[str, pd.DataFrame], progress: Progress = iter) -> list[dict[str, Any]]:
    """Compare F1 of any two runs; that of a question that was asked several times is the mean.

    Returns for each two what `epbench.statistics.paired.compare_two` does, with cues as clusters, p_holm, and beside: the harsh
    F1 of both on the same questions, and how many items each names for each true one. RunFailed if they share no question.
    """
    answered = {name: table[table["outcome"] != "failed"] for name, table in runs.items()}
    f1, harsh = (
        {name: _by_question(table, column) for name, table in answered.items()} for column in ("f1", "harsh_f1")
    )
    pairs = []
    for names in progress(list(combinations(f1, 2))):
        ratios = [items_ratio(zip(answered[name]["items"], answered[name]["reference"], strict=True)) for name in names]
        beside = {HARSH: _means(*(harsh[name] for name in names)), NAMED: ratios}
        compared = compare_two(names, [f1[name] for name in names], cluster_of=itemgetter(1))
        pairs.append(compared | {"beside": beside})
    return with_holm(pairs)


def naming_warnings(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What must be said of runs that name more than is asked for, in full sentences; see `naming_notes`."""
    ratios = {name: ratio for pair in pairs for name, ratio in zip(pair["runs"], pair["beside"][NAMED], strict=True)}
    lines = [
        f"{name}: its answers name {ratio:.1f} items for each true one, and surplus items cost nothing in F1; read harsh F1, "
        "which counts them"
        for name, ratio in ratios.items()
        if ratio is not None and ratio > MANY
    ]
    for pair in pairs:
        (first, second), harsh = pair["means"], pair["beside"][HARSH]
        if (first - second) * (harsh[0] - harsh[1]) < 0:
            lines.append(f"{' / '.join(pair['runs'])}: F1 and harsh F1 rank them differently")
    return lines


def _by_question(table: pd.DataFrame, column: str) -> dict[tuple[str, Cue], float]:
    values: dict[tuple[str, Cue], list[float]] = {}
    for id_, *cue, value in zip(*(table[name] for name in ("id", *CUE, column)), strict=True):
        values.setdefault((id_, tuple(cue)), []).append(value)
    return {question: sum(scores) / len(scores) for question, scores in values.items()}


def _means(first: Mapping[Any, float], second: Mapping[Any, float]) -> list[float]:
    shared = first.keys() & second.keys()
    return [math.fsum(values[question] for question in shared) / len(shared) for values in (first, second)]
