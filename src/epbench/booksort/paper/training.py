"""What a training on the books does to a model by epoch (Figures 15, 16, 17 and 20, Appendix F.5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, Training
from epbench.booksort.paper.rates import CHANCE, UNTESTED, Group, accuracy_of, named
from epbench.booksort.paper.results import labels
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, columns_of, exhibit, fixed, interval, mean_interval
from epbench.reports.figures import plain_numbers
from epbench.reports.plots import Plot, bars, legend, line_panels, lines, panels, rates
from epbench.reports.reported import ReportedRow, sources
from epbench.statistics.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINING = "a training of a model on the books"
CONTROL = ", and beside it of a control without the books"
_EPOCH = "epoch (0: before training)"
_MEASURED = f"{TRAINING}, with measures of its epochs{CONTROL}"
_ABOUT = [*named("of_model"), *columns_of({"training": "training", "trained": "trained", "epoch": "epoch"}, 2)]


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Figures 15, 16, 17 and 20, and Appendix F.5: what a training does to what the weights remember, and what it costs."""
    trainings = [one for one in inputs.trainings if one.epochs]
    of_f, of_f5 = ([row for row in inputs.reported if row.table == table] for table in ("Appendix F", "Appendix F.5"))
    without = "Accuracy on SORT without context, by epoch of a training on the books or of a control"
    inside = "Accuracy on SORT with the excerpt in context, by epoch of a training"
    asked = f"{TRAINING}, whose epochs were also asked in-context"
    return [
        _figure_15(trainings),
        _figure_16(trainings, of_f),
        _accuracies(("Figure 17", without, _MEASURED), trainings, "none", ()),
        _figure_20(trainings),
        _accuracies(("Appendix F.5", inside, asked), trainings, "in-context", of_f5),
    ]


def _about(training: Training, epoch: int | None) -> Group:
    names = {"source": "own", "model": training.model, "training": training.label, "trained": training.trained}
    return {**names, "epoch": epoch}


def _of_reported(row: ReportedRow, trained: str, epoch: int | None) -> Group:
    names = {"source": "reported", "model": row.model, "training": row.source, "trained": trained}
    return {**names, "epoch": epoch}


def _by_epoch(**more: Any) -> Plot:
    return line_panels("epoch", "{training}", _EPOCH, scale="epochs", **more)


def _figure_15(trainings: Sequence[Training]) -> Exhibit | Missing:
    """Whether a layer can read the right answers out of hidden states, by epoch and by the book that it was tested on."""
    measured = [(one, record) for one in trainings for record in one.epochs if record.get("readout")]
    rows = [row for training, record in measured for row in _readout(training, record)]
    notes = [
        "A logistic regression on the last hidden state before the answer, trained on the pairs of all books but one and "
        "tested on that one. In brackets Wilson's 95 % interval, which takes predictions for independent; n is in the data.",
        "Chance is 0.5. The bars on the right are the last measured epoch of each training.",
    ]
    books = sorted({row["book"] for row in rows if row["book"] is not None})

    def plot() -> Figure:
        last = {row["training"]: row["epoch"] for row in rows}
        figure, (left, right) = panels(["", ""], width=4.6, height=3.6)
        lines(left, [row for row in rows if row["book"] is None], "epoch", "training", order=list(last), starred=False)
        ends = [row for row in rows if row["book"] is not None and row["epoch"] == last[row["training"]]]
        bars(right, sorted(ends, key=lambda row: books.index(row["book"])), "book", "training", order=list(last))
        rates(left, _EPOCH, guess=CHANCE)
        rates(right, "book that was held out", guess=CHANCE)
        legend(figure)
        return figure

    title = (
        "Accuracy of a layer that reads the answers out of hidden states, tested on a book that it was not trained on"
    )
    needs = f"{TRAINING}, with a read-out from pairs of at least two books"
    names = {None: "all books", **{book: f"book {book}" for book in books}}
    columns = [*_ABOUT, Column("{}", mean_interval())]
    return exhibit("Figure 15", title, rows, columns, notes, plot, needs=needs, across="book", names=names)


def _readout(training: Training, record: Any) -> Iterator[Row]:
    """The read-out after an epoch, of all books and of each."""
    found, about = record["readout"], _about(training, record["epoch"])
    low, high = found["interval"] or (None, None)
    yield {**about, "book": None, **Estimate(found["n"], 0, found["accuracy"], None, low, high).columns(*UNTESTED)}
    asked = next((run.questions["book_idx"].astype(str) for run in training.runs if run.epoch == record["epoch"]), None)
    for book, value in found["by_group"].items():
        n = None if asked is None else int((asked == book).sum())
        yield {**about, "book": book, **Estimate(n, 0, value).columns(*UNTESTED)}


def _figure_16(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """How surprising texts are to a model after each epoch: the segments, the books, and what was never trained."""
    title = "Perplexity of the segments in their prompts without context, and of other texts, by epoch"
    if not trainings:
        return Missing("Figure 16", title, _MEASURED)
    texts = list(dict.fromkeys(text for one in trainings for record in one.epochs for text in record["perplexity"]))
    rows: list[Row] = [
        {**_about(training, record["epoch"]), "text": text, "mean": record["perplexity"][text]}
        for training in trainings
        for record in training.epochs
        for text in texts
        if text in record["perplexity"]
    ]
    theirs = [
        {**_of_reported(row, row.memory, None), "text": f"book {row.dataset}", "mean": row.scores["perplexity"]}
        for row in reported
    ]
    notes = [
        "segments: all tokens of both segments of all pairs, in prompts without context. The other texts are measured on "
        "chunks as they are trained. A control never sees segments and books.",
        *sources(reported),
    ]

    def plot() -> Figure:
        draw = _by_epoch(panel="{text}", y_label="perplexity", guess=None)
        figure = draw([{**row, "low": None, "high": None} for row in rows if row["text"] in ("segments", "books")])
        for axes in figure.axes:
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
        return figure

    columns, names = [*_ABOUT, Column("{}", fixed("mean", 2))], {text: text.replace("_", " ") for text in texts}
    more: dict[str, Any] = {"across": "text", "names": names, "sections": "source"}
    return exhibit("Figure 16", title, [*rows, *theirs], columns, notes, plot, needs=_MEASURED, **more)


def _accuracies(
    about: tuple[str, str, str], trainings: Sequence[Training], memory: str, reported: Sequence[ReportedRow]
) -> Exhibit | Missing:
    """Accuracy by epoch of the runs with one memory: `none` for what the weights remember, `in-context` for what it costs."""
    rows: list[Row] = [
        {**_about(training, run.epoch), **accuracy_of(run.questions).columns(*UNTESTED), **labels(run.questions)}
        for training in trainings
        for run in training.runs
        if run.memory == memory
    ]
    empty = {**Estimate(None, None).columns(*UNTESTED), "greedy_accuracy": None, "label_mass": None}
    theirs: list[Row] = []
    for row in reported:
        trained, epoch = row.memory.split(", epoch ")
        theirs.append({**_of_reported(row, trained, int(epoch)), **empty, "mean": row.scores["accuracy"]})
    notes = [
        "± is how far the 95 % interval, which draws excerpts, reaches. Epoch 0 is the model before training. Where the books "
        "are trained, only epoch 1 is episodic, as each text was seen once. Figure 18 tests whether epochs differ without "
        "context.",
        *sources(reported),
    ]
    if any(row["label_mass"] is not None and row["label_mass"] < LOW_MASS for row in rows):
        notes.append(
            "Where the label mass is below a half, the accuracy says which label a model holds for the more probable one, and "
            "not what it would answer."
        )
    (name, title, needs), greedy = about, Column("greedy accuracy", "greedy_accuracy")
    columns = [*_ABOUT, *named("accuracy"), greedy, *named("label_mass n failed")]
    plot = partial(_by_epoch(), rows) if rows else None
    return exhibit(name, title, [*rows, *theirs], columns, notes, plot, needs=needs, sections="source")


def _figure_20(trainings: Sequence[Training]) -> Exhibit | Missing:
    """How much of p(A) + p(B) a model gives the right segment after each epoch."""
    rows: list[Row] = []
    for training in trainings:
        measured = {record["epoch"]: record["sort"] for record in training.epochs}
        known = any(sort.get("log_ratio") is not None for sort in measured.values())
        for run in (run for run in training.runs if known and run.memory == "none" and run.epoch in measured):
            sort, ratios = measured[run.epoch], run.questions["log_ratio"]
            low, high = sort.get("log_ratio_interval") or (None, None)
            numbers = {"mean": sort.get("log_ratio"), "low": low, "high": high}
            rows.append({**_about(training, run.epoch), **numbers, "n": int(ratios.count()), "n_asked": len(ratios)})
    guess = math.log(CHANCE)
    notes = [
        f"In nats; {guess:.3f} is that of a model that gives both labels the same probability, and 0 the highest. 95 %: "
        "drawing excerpts. Whether epochs differ is tested in Figure 19.",
        "Questions that failed, or whose right label has no probability, which would lower the mean, are asked but not among n.",
    ]
    ratio = columns_of({"log ratio": "mean", "95 %": interval(between=" to "), "n": "n", "asked": "n_asked"})
    title = "Mean log ratio of the right answer, log(p(right) / (p(A) + p(B))), without context, by epoch"
    plot = partial(_by_epoch(y_label="log ratio (nats)", guess=guess), rows)
    needs = f"{TRAINING} whose answers have probabilities"
    return exhibit("Figure 20", title, rows, [*_ABOUT, *ratio], notes, plot, needs=needs)
