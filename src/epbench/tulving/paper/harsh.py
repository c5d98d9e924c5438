"""Harsh F1 by bin beside the lenient one of the paper: how much a run owes to items that cost it nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table, interval_cell
from epbench.tulving.paper.dots import Series, dots
from epbench.tulving.paper.inputs import PaperRun
from epbench.tulving.paper.means import INTERVALS, LOST, Mean, about, judge_notes, mean_of, mean_over_bins, shown
from epbench.tulving.questions.generate import BINS

if TYPE_CHECKING:
    import pandas as pd

_NAME = "Harsh F1"
_TITLE = "F1 by bin when every item of an answer counts, beside the lenient F1"
ALL_BINS = "all bins"
"""Stands for the simple recall score: the mean of the means of the bins."""

_NOTES = (
    "F1 is the paper's lenient one (Appendix B.3.2): precision counts at most as many items as there are true ones, so that "
    "naming more costs nothing, unless there is no true item. Harsh F1 counts every different item. Recall is the same in "
    "both, and so are answers that name no more items than are true, and all of bin 0.",
    "The loss is F1 less harsh F1 of the same questions; it cannot be negative, and no test is needed to see that it is more "
    "than nothing.",
    "Only questions that ask for all items count (get = all); bins count the matching chapters.",
)


def harsh(runs: Sequence[PaperRun]) -> Exhibit | Missing:
    """Both F1 of each run by bin, and over all bins."""
    cells = {number: _cells(run.questions) for number, run in enumerate(runs)}
    bins = [bin_ for bin_ in (ALL_BINS, *BINS) if any(bin_ in of_run for of_run in cells.values())]
    if not bins:
        return Missing(_NAME, _TITLE, "runs with questions that ask for all items (get = all)")
    found = [
        (run, bin_, cells[number][bin_]) for number, run in enumerate(runs) for bin_ in bins if bin_ in cells[number]
    ]
    records = [_record(run, bin_, *means) for run, bin_, means in found]
    rows = [
        [shown(run), bin_, f1.text(), harsh_f1.text(), loss.text() if f1.value is not None else "–",
         interval_cell(loss.interval), str(f1.n), str(f1.n_failed)]
        for run, bin_, (f1, harsh_f1, loss) in found
    ]  # fmt: skip
    lost = [LOST] if any(f1.n_failed for _, _, (f1, _, _) in found) else []
    head = ["run", "bin", "F1", "harsh F1", "loss", "95 % interval of the loss", "n", "failed"]
    sections = [i for i in range(len(found) - 1) if found[i][0] is not found[i + 1][0]]
    table = Table(head, rows, "", [*_NOTES, INTERVALS, *lost, *judge_notes(runs)], text_columns=2, sections=sections)
    losses = [{bin_: loss.point() for bin_, (_, _, loss) in cells[number].items()} for number in range(len(runs))]
    series = [Series(shown(run), [losses[number].get(bin_) for bin_ in bins]) for number, run in enumerate(runs)]
    names = [bin_ if bin_ == ALL_BINS else f"bin {bin_}" for bin_ in bins]
    return Exhibit(_NAME, _TITLE, records, table, partial(dots, names, series, "F1 less harsh F1"))


Means = tuple[Mean, Mean, Mean]
"""Of F1, of harsh F1, and of their difference."""


def _cells(questions: pd.DataFrame) -> dict[str, Means]:
    questions = questions.assign(loss=questions["f1"].astype(float) - questions["harsh_f1"].astype(float))
    asked = questions[questions["get"] == "all"]
    bins = [bin_ for bin_ in BINS if (asked["bin"] == bin_).any()]
    if not bins:
        return {}
    columns = ("f1", "harsh_f1", "loss")
    f1, harsh_f1, loss = (mean_over_bins(questions, column, bins) for column in columns)
    found = {ALL_BINS: (f1, harsh_f1, loss)}
    for bin_ in bins:
        f1, harsh_f1, loss = (mean_of(asked[asked["bin"] == bin_], column) for column in columns)
        found[bin_] = f1, harsh_f1, loss
    return found


def _record(run: PaperRun, bin_: str, f1: Mean, harsh_f1: Mean, loss: Mean) -> dict[str, Value]:
    low, high = loss.interval or (None, None)
    of_loss: dict[str, Value] = {"loss": loss.value, "loss_sd": loss.deviation, "loss_low": low, "loss_high": high}
    counts: dict[str, Value] = {"bin": bin_, "n": f1.n, "n_failed": f1.n_failed}
    return about(run) | counts | f1.fields("f1") | harsh_f1.fields("harsh_f1") | of_loss
