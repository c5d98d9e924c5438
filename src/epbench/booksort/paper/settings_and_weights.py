"""The tables and figures of the SORT paper that are about settings, contexts and trained weights, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.booksort.paper.contexts.lengths import figure_12, figure_14
from epbench.booksort.paper.contexts.middle import figure_11
from epbench.booksort.paper.contexts.whole_book import figure_10
from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.settings.bins import table_4
from epbench.booksort.paper.settings.books import table_3
from epbench.booksort.paper.settings.chosen import chosen_table
from epbench.booksort.paper.settings.models import table_5
from epbench.booksort.paper.settings.prompts import table_6, table_9
from epbench.booksort.paper.settings.queries import table_8
from epbench.booksort.paper.weights import make as weights
from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.exhibits.reported import ReportedRow
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in

if TYPE_CHECKING:
    Made = list[Exhibit | Missing]


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Tables 3 to 10, Figures 10, 11, 12 and 14 to 20, and Appendix F.5.

    Args:
        inputs: What was given; it may be nothing, as some tables need no run.
    """
    runs, reported = inputs.runs, inputs.reported
    folders = [*(part for run in runs for part in runs_in(run.folder)), *(t.folder for t in inputs.trainings)]
    datasets = list(dict.fromkeys([*inputs.datasets, *datasets_of(folders)]))
    made: Made = []
    made += _unless_bad("Table 3", lambda: [table_3(datasets)])
    made += _unless_bad("Table 4", lambda: [table_4(datasets)])
    made += [table_5(runs, _with(reported, "mmlu")), table_6()]
    made += chosen_table("prompt", runs, _with(reported, "prompt"))
    made += [table_8(runs, _with(reported, "recall_at_10.8")), table_9()]
    made += chosen_table("reading", runs, _with(reported, "reading"))
    made += [figure_10(runs, reported), *figure_11(runs), figure_12(runs)]
    made += [figure_14(runs, [row for row in reported if row.table == "Appendix E.2"])]
    return [*made, *weights.exhibits(inputs.trainings, reported)]


def datasets_of(folders: Sequence[Path]) -> list[str]:
    """The sets that runs and trainings are about, without those that are no longer where these found them."""
    found = [str(read_run(folder).get("dataset", "")) for folder in folders]
    return [name for name in dict.fromkeys(found) if Path(name).is_dir()]


def _with(reported: Sequence[ReportedRow], score: str) -> list[ReportedRow]:
    return [row for row in reported if score in row.scores]


def _unless_bad(name: str, make: Callable[[], Made]) -> Made:
    """What is made, or what is wrong with the set that it is made from."""
    try:
        return make()
    except BadInput as error:
        return [Missing(name, "the data of the runs", f"a set that can be read ({error})")]
