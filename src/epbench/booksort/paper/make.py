"""Every table and figure of the SORT paper that runs and trainings suffice for, in the order of the paper."""

from __future__ import annotations

import re
from collections.abc import Callable

from epbench.booksort.paper import settings_and_weights
from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results import answers, baseline, by_book, by_distance, in_context, people, retrieval
from epbench.exhibits.exhibit import Exhibit, Missing

Maker = Callable[[Inputs], "Exhibit | Missing"]

ORDER = (
    "Table 1", "Figure 2", "Table 2", "Figure 3", "Figure 4", "Table 3", "Table 4", "Table 5", "Table 6", "Table 7",
    "Share of A", "Table 8", "Table 9", "Table 10", "Figure 5", "Segment lengths", "Table 11", "Table 12", "Figure 6",
    "Figure 7", "Figure 8", "Figure 9", "Figure 10", "Figure 11", "Figure 12", "Figure 13", "Figure 14", "Figure 15",
    "Figure 16", "Figure 17", "Figure 18", "Figure 19", "Figure 20",
)  # fmt: skip
"""The names in the order of the paper's text; parts such as `Figure 3a` stand where their figure does."""

RESULTS: tuple[Maker, ...] = (
    baseline.table_1, people.figure_2, in_context.table_2, in_context.figure_3a, in_context.figure_3b, retrieval.figure_4a,
    retrieval.figure_4b, answers.share_of_a, baseline.figure_5, answers.segment_lengths, by_book.table_11, by_book.figure_6,
    by_book.figure_7, by_distance.figure_8, by_distance.figure_9, baseline.figure_13,
)  # fmt: skip
"""Those about answers with and without memory."""


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make every table and figure.

    Args:
        inputs: The runs, trainings and reported numbers.

    Returns:
        What was made, and what is missing and why, in the order of the paper; what has no number there stands last.
    """
    found = [*(make(inputs) for make in RESULTS), *settings_and_weights.exhibits(inputs)]
    return sorted(found, key=_place)


def _place(one: Exhibit | Missing) -> int:
    name = re.sub(r"(?<=\d)[a-z]$", "", one.name.split(",")[0])
    return ORDER.index(name) if name in ORDER else len(ORDER)
