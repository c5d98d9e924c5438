"""F1 by what is asked for, run by run: by trace, and by cue and trace (paper: Tables 18 and 19)."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.tulving.paper.lines import Line
from epbench.tulving.paper.results.grid import BIN, CUE, Side, grids

_NAMES = {
    "times": "times",
    "spaces": "spaces",
    "entities": "entities",
    "contents": "event contents",
    "other_entities": "other entities",
    "full_details": "full event details",
}
_TRACE = Side("trace", _NAMES)
_FOUR = Side("trace", {trace: _NAMES[trace] for trace in ("times", "spaces", "entities", "contents")})


def by_trace(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 18: F1 by the trace that is asked for and the number of matching chapters."""
    return grids("Table 18", "F1 by what is asked for and events that match the cue", lines, _TRACE, BIN)


def by_cue_and_trace(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 19: F1 by cue and trace, all bins together; other entities and full details are in Table 18 alone."""
    selection = (
        "Only questions that ask for all items count (get = all), those of all bins together, so that a cue with more empty "
        "questions has other means. As in the paper, other entities and full event details are left out."
    )
    return grids("Table 19", "F1 by cue and by what is asked for", lines, CUE, _FOUR, selection)
