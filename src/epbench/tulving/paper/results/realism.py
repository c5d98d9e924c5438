"""Questions about realistic events beside those about others (paper: Tables 24 and 25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.reports.tables import Table
from epbench.tulving.judging.realism import Rating
from epbench.tulving.paper.lines import Line, runs_among
from epbench.tulving.paper.ratings import realism_of
from epbench.tulving.paper.results.books_compared import ALL_ROWS, Contrast, contrast_table
from epbench.tulving.paper.results.cells import Cell, cell_of, notes_on, reported_cell
from epbench.tulving.questions.generate import BINS

if TYPE_CHECKING:
    import pandas as pd

Ratings = Mapping[str, Mapping[int, Rating | None]]
"""The rating of the event of each chapter of a book, by the book's fingerprint; None where the judge failed."""

GROUPS = ("empty", "non-realistic", "mixed", "realistic")
_UNRATED = "not rated"
_TITLES = (
    "Questions about realistic and other events: F1 by the number of events that match the cue",
    "Questions about realistic and other events: tests by run",
)
_WORDS = (
    "Realistic: every matching chapter was rated realistic or moderately realistic; non-realistic: every one somewhat "
    "realistic, non-realistic or impossible; mixed: both kinds."
)


def realism_tables(lines: Sequence[Line], realism: Ratings | None) -> list[Exhibit | Missing]:
    """Tables 24 and 25, a table of each kind for each book whose chapters are rated."""
    rated = {text: [line for line in runs_among(lines) if line.fingerprint == text] for text in (realism or {})}
    rated = {text: runs for text, runs in rated.items() if runs}
    if not realism or not rated:
        needs = "ratings of how realistic each chapter of the book of a run is"
        return [Missing(name, title, needs) for name, title in zip(("Table 24", "Table 25"), _TITLES, strict=True)]
    made: list[Exhibit | Missing] = []
    for number, (text, runs) in enumerate(rated.items()):
        part = f", {runs[0].text}" if len(rated) > 1 else ""
        book = runs[0].book
        papers = [line for line in lines if line.run is None and line.book == book and not line.writer]
        groups = {id(line): _groups(line, realism[text]) for line in runs}
        made.insert(number, _recall(f"Table 24{part}", [*runs, *papers], groups))
        made.append(_tests(f"Table 25{part}", runs, groups))
    return made


def _groups(line: Line, ratings: Mapping[int, Rating | None]) -> pd.Series:
    """The group of each question of a run."""
    return line.questions["chapters"].map(lambda chapters: realism_of([int(c) for c in chapters], ratings) or _UNRATED)


def _recall(name: str, lines: Sequence[Line], groups: Mapping[int, pd.Series]) -> Exhibit:
    keys = [(bin_, group) for bin_ in BINS for group in GROUPS]
    cells = {id(line): {key: _cell(line, *key, groups) for key in keys} for line in lines}
    shown = [
        line for line in lines if line.run is not None or any(c.mean is not None for c in cells[id(line)].values())
    ]
    used = [key for key in keys if any(cells[id(line)][key].n != 0 for line in shown)]
    rows = [[bin_, group, *(cells[id(line)][bin_, group].text(with_n=True) for line in shown)] for bin_, group in used]
    records = [
        {**line.columns(), "bin": bin_, "realism": group, "score": "f1", **cells[id(line)][bin_, group].columns()}
        for line in shown
        for bin_, group in used
        if cells[id(line)][bin_, group].n != 0
    ]
    selection = f"{_WORDS} Only questions that ask for all items count (get = all); their number is in parentheses."
    notes = notes_on(shown, [cell for each in cells.values() for cell in each.values()], selection)
    notes += _unrated_note(shown, groups)
    head = ["bin", "events", *(line.who for line in shown)]
    return Exhibit(name, _TITLES[0], records, Table(head, rows, notes=notes, text_columns=2))


def _cell(line: Line, bin_: str, group: str, groups: Mapping[int, pd.Series]) -> Cell:
    if line.run is None:
        return reported_cell(line, f"f1_by_bin.{bin_}.{group}")
    asked = line.questions
    return cell_of(asked[(asked["get"] == "all") & (asked["bin"] == bin_) & (groups[id(line)] == group)])


def _unrated_note(lines: Sequence[Line], groups: Mapping[int, pd.Series]) -> list[str]:
    counts = {line.who: int((groups[id(line)] == _UNRATED).sum()) for line in runs_among(lines)}
    left_out = [f"{n} of {who}" for who, n in counts.items() if n]
    return [f"Questions about chapters without a rating are left out: {', '.join(left_out)}."] if left_out else []


def _tests(name: str, runs: Sequence[Line], groups: Mapping[int, pd.Series]) -> Exhibit | Missing:
    contrasts = [
        Contrast(
            line.who, "non-realistic", "realistic",
            (line.questions[groups[id(line)] == "non-realistic"], line.questions[groups[id(line)] == "realistic"]),
        )
        for line in runs
    ]  # fmt: skip
    contrasts = [each for each in contrasts if all((sample["outcome"] != "failed").any() for sample in each.samples)]
    if not contrasts:
        return Missing(name, _TITLES[1], "answered questions about realistic and about other chapters")
    notes = [ALL_ROWS, f"{_WORDS} Mixed and empty questions are left out.", *_unrated_note(runs, groups)]
    return contrast_table(name, _TITLES[1], "run", contrasts, notes, runs)
