"""SORT when the whole book is in context: accuracy by how far apart the segments are in it (Appendix D.5, Figure 10)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.contexts.accuracies import (
    CHANCE_TEST,
    chance_line,
    draw_line,
    ends,
    numbers,
    shown,
    stars,
    with_holm,
)
from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.paper.results.cells import about, by_columns
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import INK
from epbench.reports.tables import Table, cell
from epbench.safe_text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "Figure 10"
TITLE = "Accuracy on SORT with a whole book in context, by the distance of the segments"
MEMORY = "full-book"
EDGES = (0, 400, 1000, 1500, 4000, 10_000, 16_500, 25_000, 40_000, 1_000_000_000)
"""Distances in words at which bins end, as in the paper's figures of distances in a whole book; the last one has no end."""


PEOPLE = "read-once"
"""The memory of the reported rows about people, who had read the book days before."""


def figure_10(runs: Sequence[PaperRun], reported: Sequence[ReportedRow] = ()) -> Exhibit | Missing:
    """A panel for each run and book.

    Args:
        runs: Of these, those with memory `full-book` are shown.
        reported: Rows about people who read a book, with scores such as `accuracy_s50` and, for distances of more than
            25,000 words, `accuracy_s50.over_25000`; other rows are ignored.
    """
    records = with_holm([record for run in runs if run.memory == MEMORY for record in _of_run(run)])
    if not records:
        return Missing(NAME, TITLE, f"a run with memory {MEMORY}, on a book that fits into the window of the model")
    rows = [
        [
            str(record["label"]), str(record["book"]), _bin(record), shown(record), str(record["n"]),
            str(record["n_failed"]), cell(record["needed"]),
        ]
        for record in records
    ]  # fmt: skip
    people = [record for row in reported if row.memory == PEOPLE for record in _of_people(row)]
    rows += [[f"{record['label']} (reported)", *_about(record), *["–"] * 3] for record in people]
    notes = [
        "Distances are words from the start of one segment to that of the other. Bins without a pair are left out.",
        CHANCE_TEST,
        *(f"Reported: {row.source}, {row.table}. {row.note}" for row in reported if row.memory == PEOPLE),
    ]
    table = Table(
        ["run", "book", "distance", "accuracy", "pairs", "failed", "needed"], rows, notes=notes, text_columns=3
    )
    empty: dict[str, Value] = dict.fromkeys(records[0])
    return Exhibit(NAME, TITLE, [*records, *(empty | one for one in people)], table, lambda: _draw(records, people))


def _of_people(row: ReportedRow) -> list[dict[str, Value]]:
    """What is reported about people, by the length of the segments."""
    records = []
    for name, value in row.scores.items():
        match = re.fullmatch(r"accuracy_s(\d+)(?:\.over_(\d+))?", name)
        if match:
            about: dict[str, Value] = {
                "source": "reported",
                "label": f"{row.model}, {match[1]} words",
                "memory": row.memory,
            }
            book = int(row.dataset.removeprefix("book ")) if row.dataset.startswith("book ") else None
            records.append(about | {"model": row.model, "book": book, "over": int(match[2] or 0), "accuracy": value})
    return records


def _about(record: dict[str, Value]) -> list[str]:
    """Book, distances and accuracy of a reported record."""
    over = f"over {record['over']:,}" if record["over"] else "all"
    return [str(record["book"] or "–"), over, f"{record['accuracy']:.2f}"]


def _of_run(run: PaperRun) -> list[dict[str, Value]]:
    records = []
    for group, of_book in by_columns("book_idx")(run.questions):
        for low, high in itertools.pairwise(EDGES):
            members = of_book[of_book["distance"].between(low, high, inclusive="right")]
            if len(members):
                place: dict[str, Value] = {"book": group["book_idx"], "over": low}
                place |= {
                    "up_to": high if high < EDGES[-1] else None,
                    "mean_distance": float(members["distance"].mean()),
                }
                records.append({**about(run), **place, **numbers(members)})
    return records


def _bin(record: dict[str, Value]) -> str:
    return f"over {record['over']:,}" if record["up_to"] is None else f"{record['over']:,}–{record['up_to']:,}"


def _draw(records: Sequence[dict[str, Value]], people: Sequence[dict[str, Value]]) -> Figure:
    """A panel for each run and book: a point for each bin, with the number of pairs and stars above it."""
    from matplotlib.figure import Figure

    lines: dict[str, list[dict[str, Value]]] = {}
    for record in records:
        lines.setdefault(f"{record['label']}, book {record['book']}", []).append(record)
    bins = [f"{low:,}–{high:,}" for low, high in itertools.pairwise(EDGES[:-1])] + [f"over {EDGES[-2]:,}"]
    used = [name for name in bins if any(_bin(record) == name for record in records)]
    columns = min(3, len(lines))
    n_rows = -(-len(lines) // columns)
    figure = Figure(figsize=(0.6 + max(3.0, 0.55 * len(used)) * columns, 0.4 + 2.7 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, columns, squeeze=False, sharey=True).flatten()
    for axes in panels[len(lines) :]:
        axes.set_axis_off()
    for axes, (label, of_line) in zip(panels, lines.items(), strict=False):
        axes.set_title(one_line(label), fontsize=9)
        _panel(axes, of_line, used)
        _people(axes, [record for record in people if record["book"] == of_line[0]["book"] and not record["over"]])
    for axes in panels[::columns]:
        axes.set_ylabel("accuracy")
    return figure


def _people(axes: Axes, people: Sequence[dict[str, Value]]) -> None:
    """A line for each length of segments that people were asked about."""
    for record, style in zip(people, ("--", "-.", ":"), strict=False):
        label = f"{record['label']} (reported)"
        axes.axhline(float(record["accuracy"] or 0), color=INK, linestyle=style, linewidth=1, label=label)
    if people:
        axes.legend(handles=axes.lines[-len(people) :], loc="lower right", fontsize=7, frameon=False)


def _panel(axes: Axes, records: Sequence[dict[str, Value]], bins: Sequence[str]) -> None:
    places = [bins.index(_bin(record)) for record in records]
    draw_line(axes, 0, places, records)
    for record, place in zip(records, places, strict=True):
        tops = [ends(record, "low", "high"), ends(record, "if_failed_wrong", "if_failed_right")]
        top = max([one[1] for one in tops if one], default=record["accuracy"])
        text = f"{record['n']}{stars(record)}"
        axes.annotate(text, (place, float(top or 0)), (0, 3), textcoords="offset points", ha="center", fontsize=8)
    chance_line(axes)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(range(len(bins)), bins, rotation=45, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_xlim(-0.5, len(bins) - 0.5)
    axes.set_ylim(0, 1.1)
    axes.set_xlabel("distance of the segments (words)")
