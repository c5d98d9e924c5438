"""One run in a table with a row and a column for each kind of question, such as a cue and a bin (paper: Tables 15 to 19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line, runs_among
from epbench.tulving.paper.results.cells import ALL_ITEMS, cell_of, notes_on
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUE_LETTERS

if TYPE_CHECKING:
    pass

CUES = ["".join(chosen) for n in range(1, 5) for chosen in combinations(CUE_LETTERS, n)]
"""All cues, in the order of the paper's tables."""

_IN_PAPER = {"t": "t", "s": "s", "e": "ent", "c": "c"}


@dataclass(frozen=True)
class Side:
    """What the rows or the columns of a grid are.

    Attributes:
        title: What stands above the first column, and names the column of a record, such as `cue`.
        values: All values in the order of the grid, with their texts.
    """

    title: str
    values: Mapping[str, str]


def cue_text(cue: str) -> str:
    """A cue as the paper writes it: `te` is `(t, *, ent, *)`."""
    return f"({', '.join(_IN_PAPER[letter] if letter in cue else '*' for letter in CUE_LETTERS)})"


CUE = Side("cue", {cue: cue_text(cue) for cue in CUES})
BIN = Side("bin", {bin_: bin_ for bin_ in BINS})


def grids(
    name: str,
    title: str,
    lines: Sequence[Line],
    rows: Side,
    columns: Side,
    selection: str = ALL_ITEMS,
    needs: str = "runs",
) -> list[Exhibit | Missing]:
    """A grid for each run: mean ± sample standard deviation of F1, and the number of questions, of those with get = all.

    Args:
        name: The name in the paper.
        title: What the grid shows.
        lines: The rows of other tables; those of runs have a grid each.
        rows: The rows; those without questions are left out.
        columns: The same for the columns.
        selection: Which questions count, in full sentences.
        needs: What is missing where there is no run.
    """
    runs = [line for line in runs_among(lines) if (line.questions["get"] == "all").any()]
    if not runs:
        return [Missing(name, title, needs)]
    return [
        _grid(name if len(runs) == 1 else f"{name}, {line.label}", title, line, rows, columns, selection)
        for line in runs
    ]


def _grid(name: str, title: str, line: Line, rows: Side, columns: Side, selection: str) -> Exhibit:
    asked = line.questions[line.questions["get"] == "all"]
    n_items = asked["cue"].map(len).astype(str)
    groups = asked.assign(items=n_items).groupby([rows.title, columns.title], observed=True)
    cells = {key: cell_of(questions) for key, questions in groups}
    shown_rows = [row for row in rows.values if any((row, column) in cells for column in columns.values)]
    shown_columns = [column for column in columns.values if any((row, column) in cells for row in rows.values)]
    texts = [
        [
            rows.values[row],
            *(cells[row, column].text(with_n=True) if (row, column) in cells else "" for column in shown_columns),
        ]
        for row in shown_rows
    ]
    records = [
        {**line.columns(), rows.title: row, columns.title: column, "score": "f1", **cells[row, column].columns()}
        for row in shown_rows
        for column in shown_columns
        if (row, column) in cells
    ]
    head = [_TITLES.get(rows.title, rows.title), *(columns.values[column] for column in shown_columns)]
    notes = notes_on([line], cells.values(), f"{selection} The number of questions is in parentheses.")
    return Exhibit(name, f"{title}: {line.who}, {line.text}", records, Table(head, texts, notes=notes))


_TITLES = {"items": "elements in the cue"}
