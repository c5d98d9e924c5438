"""Every table and figure of the SORT paper that runs and trainings suffice for, in the order of the paper."""

from __future__ import annotations

import re

from epbench.booksort.paper import checkpoints, settings, training
from epbench.booksort.paper.answers import segment_lengths, share_of_a
from epbench.booksort.paper.contexts import CONTEXTS
from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results import RESULTS
from epbench.reports.exhibit import Exhibit, Missing

ORDER = (
    "Table 1", "Figure 2", "Table 2", "Figure 3", "Figure 4", "Table 5", "Table 7", "Share of A", "Table 8", "Table 10",
    "Figure 5", "Segment lengths", "Table 11", "Figure 6", "Figure 7", "Figure 8", "Figure 9", "Figure 10", "Figure 11",
    "Figure 12", "Figure 13", "Figure 14", "Figure 15", "Figure 16", "Figure 17", "Figure 18", "Figure 19", "Figure 20",
)  # fmt: skip
"""The names in the order of the paper's text; parts such as `Figure 3a` stand where their figure does. Table 12 is part of
Table 11, and Tables 3, 4, 6 and 9, which need no run, are in docs/papers.md."""


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make every table and figure.

    Args:
        inputs: The runs, trainings and reported numbers.

    Returns:
        What was made, and what is missing and why, in the order of the paper; what has no number there stands last.
    """
    single = (*RESULTS.values(), share_of_a, segment_lengths, *CONTEXTS.values(), settings.table_5, settings.table_8)
    made = [make(inputs) for make in single]
    made += [*settings.chosen_tables(inputs, "prompt"), *settings.chosen_tables(inputs, "reading")]
    return sorted([*made, *training.exhibits(inputs), *checkpoints.exhibits(inputs)], key=_place)


def _place(one: Exhibit | Missing) -> int:
    name = re.sub(r"(?<=\d)[a-z]$", "", one.name.split(",")[0])
    return ORDER.index(name) if name in ORDER else len(ORDER)
