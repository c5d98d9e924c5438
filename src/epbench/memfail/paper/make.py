"""All tables and figures of the paper that runs, reported rates and datasets suffice for, in its order."""

from __future__ import annotations

from epbench.memfail.paper.dataset import table_2
from epbench.memfail.paper.differences import differences
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.stages import figures_6_to_9, tokens_and_cost
from epbench.memfail.paper.systems import beside_success, figure_1, figure_2, figure_3, figure_4, figure_5, scaling
from epbench.reports.exhibit import Exhibit, Missing


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make what can be made; of the rest, say what it needs.

    Args:
        inputs: What is given; everything in it may be empty.

    Returns:
        Table 2 and Figures 1 to 9; then what the paper leaves out: the differences between systems, success by the number
        of facts and of hops, and tokens and cost.
    """
    return [
        table_2(inputs), figure_1(inputs), beside_success(inputs), figure_2(inputs), *figure_3(inputs), figure_4(inputs),
        figure_5(inputs), *figures_6_to_9(inputs), differences(inputs), *scaling(inputs), tokens_and_cost(inputs),
    ]  # fmt: skip
