"""With the excerpt in context: Table 2, and Figure 3 by the length of excerpts and by distance (Section 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.by_distance import by_bins
from epbench.booksort.paper.results.cells import (
    EXTEND,
    MEAN,
    SORT,
    Cell,
    Group,
    averaged,
    by_columns,
    cells,
    mean_cells,
    part_of,
    power_note,
    reported_in,
    reported_notes,
    reported_record,
    reported_text,
    shown,
    width_note,
    with_memory,
)
from epbench.booksort.paper.results.drawing import draw_lines, finish, legend, line_of, panels
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.reports.figures import new_figure
from epbench.reports.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NEEDS = "at least one run with memory in-context"
_SCORES = {SORT: "accuracy", EXTEND: "accuracy_extend"}
_INTERVAL = "±: half of the 95 % interval, by drawing excerpts."
_P = "p in the data: exact binomial test against 0.5, two-sided, by Holm for all groups of a run (p_holm)."


def table_2(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy on SORT and SORT-extend, in all and by the length of segments."""
    name, title = "Table 2", "Accuracy with the excerpt in context"
    found = cells(with_memory(inputs, "in-context"), _parts)
    if not found:
        return Missing(name, title, NEEDS)
    reported = reported_in(inputs, name)
    lengths = sorted({words for one in found if (words := one.group["segment_length"]) is not None}, key=str)
    columns = [(part, words) for part in (SORT, EXTEND) for words in (None, *lengths)]
    of_run: dict[str, dict[tuple[Value, Value], Cell]] = {}
    for one in found:
        of_run.setdefault(one.label, {})[one.group["part"], one.group["segment_length"]] = one
    rows = []
    for row in of_run.values():
        texts = [row[key].rate.text() if key in row else "–" for key in columns]
        n, failed = (
            sum(getattr(one.rate, what) for key, one in row.items() if key[1] is None) for what in ("n", "n_failed")
        )
        rows.append([*shown(next(iter(row.values()))), *texts, f"{n:,}", f"{failed:,}"])
    for theirs in reported:
        texts = ["–" if words else reported_text(theirs, _SCORES[part]) for part, words in columns]
        rows.append([marked(theirs.model, "reported"), theirs.model, *texts, "–", "–"])
    records = [one.record() for one in found]
    for theirs in reported:
        for part, score in _SCORES.items():
            records.append(reported_record(theirs, score, {"part": part, "segment_length": None}))
    head = ["run", "model", *(part if words is None else f"{part}, {words} words" for part, words in columns)]
    notes = [
        "SORT: excerpts of up to 2,500 words; SORT-extend: of 10,000 and 20,000 words. A dash: nothing was asked.",
        _INTERVAL, *width_note(found), _P, *reported_notes(reported),
    ]  # fmt: skip
    table = Table([*head, "n", "failed"], rows, notes=notes, text_columns=2, sections=[len(of_run) - 1])
    return Exhibit(name, title, records, table)


def figure_3a(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by the length of the excerpt, for each run."""
    name, title = "Figure 3a", "In-context accuracy by the length of the excerpt"
    found = cells(with_memory(inputs, "in-context"), by_columns("excerpt_length"))
    if not found:
        return Missing(name, title, NEEDS)
    rows = [
        [*shown(one), f"{one.group['excerpt_length']}", one.rate.text(), f"{one.rate.n:,}", f"{one.rate.n_failed:,}"]
        for one in found
    ]
    notes = [
        f"Both lengths of segments together, as far as they were asked. {_INTERVAL}",
        _P,
        power_note(found),
        *width_note(found),
    ]
    head = ["run", "model", "words of the excerpt", "accuracy", "n", "failed"]
    table = Table(head, rows, notes=notes, text_columns=2)
    return Exhibit(name, title, [one.record() for one in found], table, lambda: _by_length(found))


def figure_3b(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by distance for each length of excerpts, as the mean over the runs."""
    name, title = "Figure 3b", "In-context accuracy by distance for each length of excerpts, mean over the runs"
    runs, left_out = averaged(with_memory(inputs, "in-context"))
    found = mean_cells(runs, by_columns("segment_length", "excerpt_length", "distance_bin"))
    if not found:
        return Missing(name, title, NEEDS)
    test, over = "exact binomial test against 0.5", "one run"
    if found[0].label == MEAN:
        over = str(found[0].run["model"])
        test = (
            "Wilcoxon's signed-rank test of the means of excerpts against 0.5, after Pratt, by the normal approximation"
        )
    notes = [
        f"Mean over {over}, over the questions that all were asked. Bins are named by their right edges in words.",
        f"p: {test}, two-sided, by Holm for all bins. * p < .05, ** p < .01. {_INTERVAL}",
        *left_out,
        power_note(found),
        *width_note(found),
    ]
    return Exhibit(name, title, [one.record() for one in found], by_bins(found, notes), lambda: _mean(found))


def _parts(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    """SORT and SORT-extend, each in all and by the length of segments."""
    part_names = part_of(questions["excerpt_length"])
    for part in (SORT, EXTEND):
        inside = questions[part_names == part]
        if not inside.empty:
            yield {"part": part, "segment_length": None}, inside
            for group, rows in by_columns("segment_length")(inside):
                yield {"part": part, **group}, rows


def _by_length(found: Sequence[Cell]) -> Figure:
    figure, axes = new_figure(6.4, 3.8)
    labels = list(dict.fromkeys(one.label for one in found))
    lines = [
        line_of(
            label,
            [one for one in found if one.label == label],
            lambda one: _number(one, "excerpt_length"),
            starred=False,
        )
        for label in labels
    ]
    draw_lines(axes, lines)
    finish(axes, "length of the excerpt in words", words=True)
    legend(figure)
    return figure


def _mean(found: Sequence[Cell]) -> Figure:
    """A panel for each length of segments, with a line for each length of excerpts."""
    lengths = sorted({_number(one, "segment_length") for one in found})
    figure, grid = panels(len(lengths), 2, 4.6, 3.6)
    for axes, words in zip(grid, lengths, strict=True):
        inside = [one for one in found if one.group["segment_length"] == words]
        excerpts = sorted({_number(one, "excerpt_length") for one in inside})
        lines = [
            line_of(
                f"excerpts of {excerpt:,.0f} words",
                [one for one in inside if one.group["excerpt_length"] == excerpt],
                lambda one: _number(one, "distance_bin"),
            )
            for excerpt in excerpts
        ]
        draw_lines(axes, lines)
        finish(axes, "distance up to, in words", words=True, title=f"segments of {words:.0f} words")
    legend(figure)
    return figure


def _number(one: Cell, name: str) -> float:
    return float(str(one.group[name]))
