"""All tables and figures of the paper, in its order, then what it leaves out."""

from __future__ import annotations

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.memfail.paper.by_model import figure_2, figure_5
from epbench.memfail.paper.differences import differences
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.material.pools import table_3, table_4, table_5
from epbench.memfail.paper.material.statistics_of_rows import table_2
from epbench.memfail.paper.material.systems import table_1
from epbench.memfail.paper.scaling import scaling
from epbench.memfail.paper.stages import figures_6_to_9
from epbench.memfail.paper.success import beside_success, figure_1, figure_4
from epbench.memfail.paper.tokens import figure_3, tokens_and_cost


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make what can be made from runs, reported rates and datasets; of the rest, say what it needs.

    Args:
        inputs: What is given; everything in it may be empty.

    Returns:
        Tables 1 and 2, Figures 1 to 3, Tables 3 to 5, Figures 4 to 9; then the differences between systems, success by the
        number of facts and of hops, and tokens and cost.
    """
    return [
        table_1(),
        table_2(inputs),
        figure_1(inputs),
        beside_success(inputs),
        figure_2(inputs),
        *figure_3(inputs),
        table_3(inputs),
        table_4(inputs),
        table_5(inputs),
        figure_4(inputs),
        figure_5(inputs),
        *figures_6_to_9(inputs),
        differences(inputs),
        *scaling(inputs),
        tokens_and_cost(inputs),
    ]
