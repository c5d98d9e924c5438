"""F1 by the cue and by the number of its elements, run by run (paper: Tables 15, 16 and 17)."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.tulving.paper.lines import Line, size_of
from epbench.tulving.paper.results.grid import BIN, CUE, Side, grids

_ITEMS = Side("items", {str(n): str(n) for n in range(1, 5)})


def by_number_of_items(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 15: F1 by the number of elements in the cue and the number of matching chapters."""
    return grids("Table 15", "F1 by elements in the cue and events that match it", lines, _ITEMS, BIN)


def by_cue_long(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 16: F1 by the cue and the number of matching chapters, on books that are not short ones."""
    others = [line for line in lines if size_of(line.book) != "short"]
    return grids("Table 16", _BY_CUE, others, CUE, BIN, needs="runs on a book that is not a short one, such as long")


def by_cue_short(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 17: the same on short books."""
    short = [line for line in lines if size_of(line.book) == "short"]
    return grids("Table 17", _BY_CUE, short, CUE, BIN, needs="runs on a short book")


_BY_CUE = "F1 by cue and events that match it"
