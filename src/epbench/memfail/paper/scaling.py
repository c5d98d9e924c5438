"""How success falls with the number of facts that a question needs: N preferences, or the hops K of a chain.

The paper's Table 2 breaks the rows out by N and K; the scores by them are not in it, so that there are no reported ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.memfail.paper.cells import Cell, cells_of, ks_in, labels_in
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.notes import notes_on
from epbench.memfail.scores.panels import line, one_legend, panels_for
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class _Scaling:
    """One of the two: its name, the config, and what grows; n and k are columns of their own."""

    name: str
    config: str
    letter: str
    column: str
    grows: str


_BOTH = (
    _Scaling("Scaling in N", "coexisting_facts", "N", "n_facts", "number of coexisting facts"),
    _Scaling("Scaling in K", "long_hop", "K", "hops", "number of hops"),
)

Point = tuple[int, Cell]
"""N or K, and the scores on the questions of this size."""


def scaling(inputs: Inputs) -> list[Exhibit | Missing]:
    """Success by the number of coexisting facts, and by the number of hops, with a line for each k."""
    return [_exhibit(one, inputs) for one in _BOTH]


def _exhibit(one: _Scaling, inputs: Inputs) -> Exhibit | Missing:
    title = f"Success by the {one.grows} ({one.letter}), a line for each k"
    cells = [cell for cell in cells_of(inputs) if cell.config == one.config and cell.scores.get("by_group")]
    points = [
        (int(group), replace(cell, scores=scores))
        for cell in cells
        for group, scores in sorted(cell.scores["by_group"].items(), key=lambda item: int(item[0]))
    ]
    if not points:
        return Missing(one.name, title, f"a run of {one.config}; the paper reports no rates by {one.letter}")
    sizes = sorted({size for size, _ in points})
    rows = []
    for cell in cells:
        own = {size: point for size, point in points if (point.label, point.k) == (cell.label, cell.k)}
        rows.append([cell.label, str(cell.k), *(_text(own[size]) if size in own else "" for size in sizes)])
    head = ["system", "k", *(f"{one.letter} = {size}" for size in sizes)]
    notes = ["The number of questions stands after each rate.", *notes_on(inputs, cells)]
    records = [{**point.about(), one.column: size, **_numbers(point)} for size, point in points]
    return Exhibit(one.name, title, records, Table(head, rows, notes=notes), partial(_draw, one, points))


def _text(point: Cell) -> str:
    return f"{point.text()} [{point.judged}]"


def _numbers(point: Cell) -> dict[str, str | int | float | None]:
    return {name: value for name, value in point.record().items() if name not in point.about()}


def _draw(one: _Scaling, points: Sequence[Point]) -> Figure:
    labels = labels_in(cell for _, cell in points)
    ks = ks_in(cell for _, cell in points)
    figure, panels = panels_for(labels)
    sizes = sorted({size for size, _ in points})
    for axes, label in zip(panels, labels, strict=True):
        for number, k in enumerate(ks):
            own = {float(size): cell for size, cell in points if (cell.label, cell.k) == (label, k)}
            shift = 0.05 * (number - (len(ks) - 1) / 2)  # or the intervals would lie on one another
            drawn = {
                x + shift: {**cell.scores, "intervals": {"success_rate": cell.drawn_interval}}
                for x, cell in own.items()
            }
            line(axes, drawn, number, f"k = {k}", reported=False)
        axes.set_xticks(sizes)
    panels[0].set_ylabel("success", fontsize=9)
    figure.supxlabel(f"{one.letter}, {one.grows}", fontsize=9)
    one_legend(figure)
    return figure
