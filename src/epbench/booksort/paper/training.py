"""Models that were trained on the books: what is measured by epoch (Figures 15, 16, 17 and 20, Appendix F.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.contexts import labels
from epbench.booksort.paper.inputs import Inputs, Training
from epbench.booksort.paper.lines import CHANCE, lined
from epbench.booksort.paper.rates import ACCURACY, FAILED, N, prepared, rate_of, sources
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_interval, of_source
from epbench.reports.plots import bars, legend, lines, panels, rates
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate, Value, framed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINING = "a training of a model on the books"
CONTROL = ", and beside it of a control without the books"
_PERPLEXITY = "Perplexity of the segments in their prompts without context, and of other texts, by epoch"
_EPOCH = "epoch (0: before training)"
_ABOUT = (
    Column("model", of_source("model"), text=True), Column("training", "training", text=True),
    Column("trained", "trained", text=True), Column("epoch", "epoch"),
)  # fmt: skip
_NUMBERS = ("mean", "low", "high", "lowest", "highest", "n", "n_failed")


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Figures 15, 16, 17 and 20, and Appendix F.5: what a training does to what the weights remember, and what it costs.

    Args:
        inputs: Trainings of which no epoch was measured are left out; of the reported numbers, those of Appendix F are used.
    """
    trainings = [one for one in inputs.trainings if one.epochs]
    of_f, of_f5 = ([row for row in inputs.reported if row.table == table] for table in ("Appendix F", "Appendix F.5"))
    measured = f"{TRAINING}, with measures of its epochs{CONTROL}"
    return [
        figure_15(trainings),
        figure_16(trainings, of_f) if trainings else Missing("Figure 16", _PERPLEXITY, measured),
        accuracies("Figure 17", "Accuracy on SORT without context, by epoch of a training on the books or of a control",
                   trainings, "none", (), measured),
        figure_20(trainings),
        accuracies("Appendix F.5", "Accuracy on SORT with the excerpt in context, by epoch of a training",
                   trainings, "in-context", of_f5, f"{TRAINING}, whose epochs were also asked in-context"),
    ]  # fmt: skip


def _about(training: Training, epoch: int) -> dict[str, Value]:
    names = {"source": "own", "model": training.model, "training": training.label, "trained": training.trained}
    return {**names, "epoch": epoch}


def _training(row: Row) -> str:
    return str(row["training"])


def figure_15(trainings: Sequence[Training]) -> Exhibit | Missing:
    """Whether a layer can read the right answers out of hidden states, by epoch and by the book that it was tested on."""
    name = "Figure 15"
    title = (
        "Accuracy of a layer that reads the answers out of hidden states, tested on a book that it was not trained on"
    )
    rows: list[Row] = []
    for training in trainings:
        for record in (record for record in training.epochs if record.get("readout")):
            found, about = record["readout"], _about(training, record["epoch"])
            low, high = found["interval"] or (None, None)
            whole = Estimate(found["n"], 0, found["accuracy"], low=low, high=high)
            rows.append({**about, "book": None, **whole.columns(*_NUMBERS)})
            asked = [run.questions["book_idx"] for run in training.runs if run.epoch == record["epoch"]]
            for book, value in found["by_group"].items():
                n = int((asked[0].astype(str) == book).sum()) if asked else None
                rows.append({**about, "book": book, **Estimate(n, 0, value).columns(*_NUMBERS)})
    if not rows:
        return Missing(name, title, f"{TRAINING}, with a read-out from pairs of at least two books")
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

    columns = [*_ABOUT, Column("{}", mean_interval())]
    names = {None: "all books", **{book: f"book {book}" for book in books}}
    return Exhibit(name, title, framed(rows), columns, notes, plot, across="book", names=names)


def figure_16(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit:
    """How surprising texts are to a model after each epoch: the segments, the books, and what was never trained."""
    texts = dict.fromkeys(text for t in trainings for record in t.epochs for text in record["perplexity"])
    rows: list[Row] = [
        {**_about(training, record["epoch"]), "text": text, "mean": record["perplexity"][text]}
        for training in trainings
        for record in training.epochs
        for text in texts
        if text in record["perplexity"]
    ]
    theirs = [
        {"source": "reported", "model": row.model, "training": row.source, "trained": row.memory, "epoch": None,
         "text": f"book {row.dataset}", "mean": row.scores["perplexity"]}
        for row in reported
    ]  # fmt: skip
    notes = [
        "segments: all tokens of both segments of all pairs, in prompts without context. The other texts are measured on "
        "chunks as they are trained. A control never sees segments and books.",
        *sources(reported),
    ]

    def plot() -> Figure:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        drawn = [{**row, "low": None, "high": None} for row in rows if row["text"] in ("segments", "books")]
        figure = lined("epoch", _training, _EPOCH, panel=lambda row: str(row["text"]), scale="epochs",
                       y_label="perplexity", guess=None)(drawn)  # fmt: skip
        for axes in figure.axes:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        return figure

    columns = [*_ABOUT, Column("{}", lambda row: "–" if row["mean"] is None else f"{row['mean']:,.2f}")]
    names = {text: text.replace("_", " ") for text in texts}
    frame = framed([*rows, *theirs])
    return Exhibit("Figure 16", _PERPLEXITY, frame, columns, notes, plot, across="text", names=names, sections="source")


def accuracies(
    name: str, title: str, trainings: Sequence[Training], memory: str, reported: Sequence[ReportedRow], needs: str
) -> Exhibit | Missing:
    """Accuracy by epoch, of the runs with one memory.

    Args:
        name: Of the exhibit.
        title: Of the exhibit.
        trainings: The trainings.
        memory: `none` for what the weights remember, `in-context` for what a training costs.
        reported: Rows whose memory is like `books, epoch 1`.
        needs: What is said without a run and a reported row.
    """
    rows: list[Row] = []
    for training in trainings:
        for run in (run for run in training.runs if run.memory == memory):
            questions = prepared(run.questions)
            numbers = {**rate_of(questions).columns(*_NUMBERS), **labels(questions)}
            rows.append({**_about(training, run.epoch or 0), **numbers})
    empty = {**Estimate(None, None).columns(*_NUMBERS), "greedy_accuracy": None, "label_mass": None}
    theirs: list[Row] = []
    for row in reported:
        trained, epoch = row.memory.split(", epoch ")
        names = {"source": "reported", "model": row.model, "training": row.source, "trained": trained}
        theirs.append({**names, "epoch": int(epoch), **empty, "mean": row.scores["accuracy"]})
    if not rows and not theirs:
        return Missing(name, title, needs)
    notes = [
        "± is half the width of a 95 % interval that draws excerpts. Epoch 0 is the model before training. Where the books "
        "are trained, only epoch 1 is episodic, as each text was seen once. Figure 18 tests whether epochs differ without "
        "context.",
        *sources(reported),
    ]
    if any(row["label_mass"] is not None and row["label_mass"] < LOW_MASS for row in rows):
        notes.append(
            "Where the label mass is below a half, the accuracy says which label a model holds for the more probable one, and "
            "not what it would answer."
        )
    columns = [
        *_ABOUT, ACCURACY, Column("greedy accuracy", "greedy_accuracy"), Column("label mass", "label_mass"), N, FAILED,
    ]  # fmt: skip
    plot = (lambda: lined("epoch", _training, _EPOCH, scale="epochs")(rows)) if rows else None
    return Exhibit(name, title, framed([*rows, *theirs]), columns, notes, plot, sections="source")


def figure_20(trainings: Sequence[Training]) -> Exhibit | Missing:
    """How much of p(A) + p(B) a model gives the right segment after each epoch."""
    name = "Figure 20"
    title = "Mean log ratio of the right answer, log(p(right) / (p(A) + p(B))), without context, by epoch"
    rows: list[Row] = []
    for training in trainings:
        runs = {run.epoch: run for run in training.runs if run.memory == "none"}
        if not any(record["sort"].get("log_ratio") is not None for record in training.epochs):
            continue
        for record in (record for record in training.epochs if record["epoch"] in runs):
            low, high = record["sort"].get("log_ratio_interval") or (None, None)
            ratios = runs[record["epoch"]].questions["log_ratio"]
            numbers = {"mean": record["sort"].get("log_ratio"), "low": low, "high": high}
            rows.append(
                {**_about(training, record["epoch"]), **numbers, "n": int(ratios.count()), "n_asked": len(ratios)}
            )
    if not rows:
        return Missing(name, title, f"{TRAINING} whose answers have probabilities")
    guess = math.log(CHANCE)
    notes = [
        f"In nats; {guess:.3f} is that of a model that gives both labels the same probability, and 0 the highest. 95 %: "
        "drawing excerpts. Whether epochs differ is tested in Figure 19.",
        "Questions that failed, or whose right label has no probability, which would lower the mean, are asked but not among n.",
    ]
    columns = [*_ABOUT, Column("log ratio", "mean"), Column("95 %", _ends), N, Column("asked", "n_asked")]
    plot = lined("epoch", _training, _EPOCH, scale="epochs", y_label="log ratio (nats)", guess=guess)
    return Exhibit(name, title, framed(rows), columns, notes, lambda: plot(rows))


def _ends(row: Row) -> str:
    return "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
