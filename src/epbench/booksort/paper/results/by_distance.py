"""Accuracy by distance: by bins of words (as in Figures 2, 4, 5 and 13), and for each length of excerpts (Figures 8, 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.cells import Cell, by_columns, cells, power_note, shown, width_note, with_memory
from epbench.booksort.paper.results.drawing import draw_lines, finish, legend, line_of, panels
from epbench.booksort.paper.results.rates import p_text
from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES_BY_WORDS = (
    "Distance: words from the start of the earlier segment to the start of the later one. The bins end at 100, 200, 400, "
    "1,000, 1,500, 4,000, 10,000, 16,500, 25,000 and 40,000 words. A bin that lost questions is a range."
)
_IN_BINS = (
    "Bins of distance are those that the pairs were drawn from, named by their right edges in words. p: exact binomial test "
    "against 0.5, two-sided (with both orders over pairs), by Holm for all bins of a run in this figure. * p < .05, "
    "** p < .01. ±: half of the 95 % interval, by drawing excerpts."
)


def by_words_table(found: Sequence[Cell], notes: Sequence[str]) -> Table:
    """A row for each run, length of segments and bin of words."""
    rows = [
        [
            *shown(one), str(one.group["segment_length"]), f"{one.group['over']}–{one.group['up_to']}",
            one.rate.text(), p_text(one.p_holm), f"{one.rate.n:,}", f"{one.rate.n_failed:,}",
        ]
        for one in found
    ]  # fmt: skip
    head = ["run", "model", "segments", "distance", "accuracy", "p", "n", "failed"]
    return Table(head, rows, notes=notes, text_columns=2)


def draw_by_words(found: Sequence[Cell]) -> Figure:
    """A panel for each length of segments, with a line for each run."""
    lengths = sorted({int(str(one.group["segment_length"])) for one in found})
    figure, grid = panels(len(lengths), 2, 4.6, 3.6)
    for axes, words in zip(grid, lengths, strict=True):
        inside = [one for one in found if one.group["segment_length"] == words]
        labels = list(dict.fromkeys(one.label for one in inside))
        lines = [line_of(label, [one for one in inside if one.label == label], _words) for label in labels]
        draw_lines(axes, lines, dodge=1.05)
        finish(axes, "distance in words", words=True, title=f"segments of {words} words")
    legend(figure)
    return figure


def figure_8(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by distance for all lengths of excerpts, segments of 20 words."""
    return _by_excerpts(inputs, "Figure 8", 20)


def figure_9(inputs: Inputs) -> Exhibit | Missing:
    """The same with segments of 50 words; the paper's two figures divide the models instead."""
    return _by_excerpts(inputs, "Figure 9", 50)


def by_bins(found: Sequence[Cell], notes: Sequence[str]) -> Table:
    """A row for each run, length of segments and of excerpts, and bin of the dataset."""
    rows = [
        [
            *shown(one), *(str(one.group[key]) for key in ("segment_length", "excerpt_length", "distance_bin")),
            one.rate.text(), p_text(one.p_holm), f"{one.rate.n:,}", f"{one.rate.n_failed:,}",
        ]
        for one in found
    ]  # fmt: skip
    head = ["run", "model", "segments", "excerpt", "distance up to", "accuracy", "p", "n", "failed"]
    return Table(head, rows, notes=notes, text_columns=2)


def draw_by_bins(found: Sequence[Cell]) -> Figure:
    """A panel for each run, with a line for each length of excerpts."""
    labels = list(dict.fromkeys(one.label for one in found))
    figure, grid = panels(len(labels), 3, 3.6, 3.0)
    for axes, label in zip(grid, labels, strict=True):
        of_run = [one for one in found if one.label == label]
        excerpts = sorted({int(str(one.group["excerpt_length"])) for one in of_run})
        lines = [
            line_of(f"{words:,} words", [one for one in of_run if one.group["excerpt_length"] == words], _bin)
            for words in excerpts
        ]
        draw_lines(axes, lines)
        finish(axes, "distance up to, in words", words=True, title=label)
    legend(figure)
    return figure


def _by_excerpts(inputs: Inputs, name: str, words: int) -> Exhibit | Missing:
    title = f"In-context accuracy by distance for all lengths of excerpts, segments of {words} words"
    every = cells(
        with_memory(inputs, "in-context"),
        lambda questions: by_columns("segment_length", "excerpt_length", "distance_bin")(
            questions[questions["segment_length"] == words]
        ),
    )
    if not every:
        return Missing(name, title, f"at least one run with memory in-context on a config of segments of {words} words")
    notes = [_IN_BINS, power_note(every), *width_note(every)]
    if name == "Figure 9":
        notes.append("The paper's Figures 8 and 9 divide the models; here they divide the lengths of segments.")
    return Exhibit(name, title, [one.record() for one in every], by_bins(every, notes), lambda: draw_by_bins(every))


def _words(one: Cell) -> float:
    return float(str(one.group["mean_distance"]))


def _bin(one: Cell) -> float:
    return float(str(one.group["distance_bin"]))
