"""Beside people: Figure 2, what readers remember of a book's order, and runs that are shown no excerpt (Section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.by_distance import LINES_BY_WORDS, by_words_table, draw_by_words
from epbench.booksort.paper.results.cells import (
    Cell,
    by_words,
    cells,
    power_note,
    reported_in,
    reported_notes,
    reported_record,
    reported_text,
    width_note,
    with_memory,
)
from epbench.booksort.paper.results.drawing import legend
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import INK
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEMORIES = ("none", "rag", "full-book")
"""The memories of runs that, like a reader, have no excerpt before them."""

_SCORES: Sequence[tuple[str, int, int | None, int | None]] = (
    ("accuracy_s20", 20, None, None), ("accuracy_s50", 50, None, None), ("accuracy_s50.over_25000", 50, 25000, None),
)  # fmt: skip
"""The reported scores, with their length of segments and their range of distances; None for all distances."""

_TEST = (
    "p: exact binomial test against 0.5, two-sided (with both orders over pairs), by Holm for all bins of a run. "
    "* p < .05, ** p < .01. ±: half of the 95 % interval, by drawing excerpts."
)


def figure_2(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy by distance of runs that are shown no excerpt, beside what readers reached from long-term memory."""
    name, title = "Figure 2", "Accuracy by distance beside that of people who had read the book"
    found = cells(with_memory(inputs, *MEMORIES), by_words)
    people = reported_in(inputs, name)
    if not found:
        return Missing(name, title, f"at least one run with memory {', '.join(MEMORIES[:-1])} or {MEMORIES[-1]}")
    records: list[dict[str, Value]] = [one.record() for one in found]
    notes = [_TEST, LINES_BY_WORDS, power_note(found), *width_note(found), *reported_notes(people)]
    table = by_words_table(found, notes)
    rows = [list(row) for row in table.rows]
    for theirs in people:
        for score, words, over, up_to in _SCORES:
            group: dict[str, Value] = {"segment_length": words, "over": over, "up_to": up_to, "mean_distance": None}
            records.append(reported_record(theirs, score, group))
            distance = "all" if over is None else f"over {over}"
            rows.append([
                marked(theirs.model, "reported"), theirs.memory, str(words), distance, reported_text(theirs, score), "–", "–",
                "–",
            ])  # fmt: skip
        notes.append(f"People: {theirs.note}.")
    shown = Table(table.head, rows, notes=notes, text_columns=2, sections=[len(found) - 1])
    return Exhibit(name, title, records, shown, lambda: _draw(found, people))


def _draw(found: Sequence[Cell], people: Sequence[ReportedRow]) -> Figure:
    """The lines of the runs, and for people a line at their accuracy and one where they were best."""
    figure = draw_by_words(found)
    figure.legends.clear()  # made anew with people in it
    lengths = sorted({int(str(one.group["segment_length"])) for one in found})
    for axes, words in zip(figure.axes, lengths, strict=False):
        for theirs in people:
            for score, length, over, _ in _SCORES:
                if length != words or score not in theirs.scores:
                    continue
                value = theirs.scores[score]
                if over is None:
                    axes.axhline(value, color=INK, linewidth=1.6, linestyle=(0, (6, 2)), label="people (reported), all")
                else:
                    end = 1.3 * max(over, axes.get_xlim()[1])
                    axes.plot([over, end], [value, value], color=INK, linewidth=3, label=f"people, over {over:,} words")
        low, high = axes.get_ylim()
        axes.set_ylim(low, max(high, 0.84))
    legend(figure)
    return figure
