"""Whether a layer can read the right answers out of a trained model's hidden states, book by book (Figure 15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.weights.lines import Line, draw_lines, legend_of
from epbench.booksort.paper.weights.trainings import Training
from epbench.exhibits.exhibit import Exhibit, Value
from epbench.reports.figures import colour_of
from epbench.reports.tables import Table, cell, interval_cell
from epbench.safe_text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "Figure 15"
TITLE = "Accuracy of a layer that reads the answers out of hidden states, tested on a book that it was not trained on"
CHANCE = 0.5
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")


def has_readout(training: Training) -> bool:
    """Whether a layer was trained on any epoch, which takes pairs of two books."""
    return any(record.get("readout") for record in training.epochs)


def figure_15(trainings: Sequence[Training]) -> Exhibit:
    """Read-out by epoch, and by the book that it was tested on.

    Args:
        trainings: At least one, each with a read-out; see `has_readout`.
    """
    records: list[dict[str, Value]] = []
    rows = []
    books = sorted({book for t in trainings for r in t.epochs if r.get("readout") for book in r["readout"]["by_group"]})
    for training in trainings:
        for record in (record for record in training.epochs if record.get("readout")):
            found, epoch = record["readout"], record["epoch"]
            records.append(_record(training, epoch, None, found["accuracy"], found["interval"], found["n"]))
            sizes = _sizes(training, epoch)
            for book, value in found["by_group"].items():
                records.append(_record(training, epoch, book, value, None, sizes.get(book)))
            shown = [training.model, training.label, str(epoch), cell(found["accuracy"])]
            by_book = [cell(found["by_group"].get(book)) for book in books]
            rows.append([*shown, interval_cell(found["interval"], digits=2), str(found["n"]), *by_book])
    notes = [
        "A logistic regression on the last hidden state before the answer, trained on the pairs of all books but one and "
        "tested on that one. 95 %: Wilson's interval, which takes predictions for independent.",
        "Chance is 0.5. The bars on the right are the last measured epoch of each training.",
    ]
    head = ["model", "training", "epoch", "read-out", "95 %", "pairs", *(f"book {book}" for book in books)]
    table = Table(head, rows, notes=notes, text_columns=2)
    return Exhibit(NAME, TITLE, records, table, lambda: _draw(trainings, books))


def _record(
    training: Training, epoch: int, book: str | None, value: float, interval: Sequence[float] | None, n: int | None
) -> dict[str, Value]:
    low, high = interval or (None, None)
    about: dict[str, Value] = {"source": "own", "model": training.model, "training": training.label}
    about |= {"trained": training.trained, "epoch": epoch, "book": book}
    return about | {"accuracy": value, "low": low, "high": high, "n": n}


def _sizes(training: Training, epoch: int) -> dict[str, int]:
    """The number of pairs of each book."""
    groups: dict[str, Any] = training.scores_of(epoch)["by_group"]["book"]
    return {book: summary["n"] + summary["n_failed"] for book, summary in groups.items()}


def _draw(trainings: Sequence[Training], books: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines = []
    for training in trainings:
        found = {record["epoch"]: record["readout"] for record in training.epochs if record.get("readout")}
        intervals = [one["interval"] for one in found.values()]
        lines.append(Line(training.label, list(found), [one["accuracy"] for one in found.values()], intervals))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    draw_lines(left, lines, "accuracy of the read-out", chance=CHANCE)
    _bars(right, trainings, books)
    legend_of(figure, left)
    return figure


def _bars(axes: Axes, trainings: Sequence[Training], books: Sequence[str]) -> None:
    """The last epoch of each training, by the book that was held out."""
    width = 0.8 / len(trainings)
    for number, training in enumerate(trainings):
        last = [record for record in training.epochs if record.get("readout")][-1]
        values = [last["readout"]["by_group"].get(book, float("nan")) for book in books]
        places = [i + (number - (len(trainings) - 1) / 2) * width for i in range(len(books))]
        axes.bar(
            places, values, width, color=colour_of(number), hatch=_HATCHES[number % len(_HATCHES)], edgecolor="white",
            label=f"{one_line(training.label)}, epoch {last['epoch']}",
        )  # fmt: skip
    axes.axhline(CHANCE, color="#888", linestyle=(0, (1, 2)), linewidth=1)
    axes.set_xticks(range(len(books)), [one_line(book) for book in books], rotation=45 if len(books) > 4 else 0)
    axes.set_xlabel("book that was held out")
    axes.set_ylabel("accuracy of the read-out")
    axes.set_ylim(0, 1)
