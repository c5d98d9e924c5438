"""Every table and figure of the SORT paper that runs and trainings suffice for, in the order of the paper."""

from __future__ import annotations

import re

from epbench.booksort.paper import effects, training
from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.rates import Made
from epbench.booksort.paper.results import DECLARED, table_11

ORDER = (
    *("Table 1", "Figure 2", "Table 2", "Figure 3", "Figure 4", "Table 5", "Table 7", "Share of A", "Table 8"),
    *("Table 10", "Figure 5", "Segment lengths", "Table 11", *(f"Figure {number}" for number in range(6, 21))),
)
"""The names in the order of the paper's text; parts such as `Figure 3a` stand where their figure does. Table 12 is part of
Table 11, and Tables 3, 4, 6 and 9, which need no run, are in docs/papers.md."""


def exhibits(inputs: Inputs) -> list[Made]:
    """Make every table and figure, or say what is missing, in the order of the paper; what has no number stands last."""
    places = {name: number for number, name in enumerate(ORDER)}
    made = [*(one.make(inputs) for one in DECLARED), table_11(inputs)]
    made += [*effects.exhibits(inputs), *training.exhibits(inputs)]
    return sorted(made, key=lambda one: places.get(re.sub(r"(?<=\d)[a-z]$", "", one.name.split(",")[0]), len(ORDER)))
