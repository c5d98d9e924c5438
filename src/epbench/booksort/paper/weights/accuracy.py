"""How often a model is right after each epoch, without the text and with it (Figure 17 and Appendix F.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.paper.weights.lines import Line, line_figure
from epbench.booksort.paper.weights.trainings import Training
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.booksort.scores.tables import accuracy, mass, whole
from epbench.exhibits.exhibit import Exhibit, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table, cell

CHANCE = 0.5
_HEAD = ("model", "training", "epoch", "accuracy", "greedy accuracy", "label mass", "questions", "failed")


def figure_17(trainings: Sequence[Training]) -> Exhibit:
    """Accuracy by epoch without context: what the weights remember."""
    title = "Accuracy on SORT without context, by epoch of a training on the books or of a control"
    return _exhibit("Figure 17", title, trainings, "sort", ())


def in_context(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit:
    """Accuracy by epoch with the excerpt in context: what a training costs.

    Args:
        trainings: Those whose epochs were asked with the excerpt in context; there may be none if there are reported rows.
        reported: The rows of Appendix F.5, whose memory is like `books, epoch 1`.
    """
    title = "Accuracy on SORT with the excerpt in context, by epoch of a training"
    return _exhibit("Appendix F.5", title, trainings, "sort-in-context", reported)


def asked_in_context(training: Training) -> bool:
    """Whether the epochs of a training were also asked with the excerpt in context."""
    return any(record.get("sort_in_context") for record in training.epochs)


def _exhibit(
    name: str, title: str, trainings: Sequence[Training], kind: str, reported: Sequence[ReportedRow]
) -> Exhibit:
    records = [_reported(row) for row in reported]
    rows = [[marked(r.model, "reported"), *r.memory.split(", epoch "), cell(r.scores["accuracy"])] for r in reported]
    rows = [[*row, *["–"] * 4] for row in rows]
    lines, low_mass = [], False
    for training in trainings:
        found = {record["epoch"]: training.scores_of(record["epoch"], kind) for record in training.epochs}
        records += [_record(training, epoch, scores) for epoch, scores in found.items()]
        rows += [_cells(training, epoch, scores) for epoch, scores in found.items()]
        low_mass |= any((scores.get("label_mass") or 1.0) < LOW_MASS for scores in found.values())
        values = [scores["accuracy"] for scores in found.values()]
        intervals, ranges = [_interval(one) for one in found.values()], [_range(one) for one in found.values()]
        lines.append(Line(training.label, list(found), values, intervals, ranges))
    notes = [
        "± is half the width of a 95 % interval that draws excerpts. Epoch 0 is the model before training. Where the books "
        "are trained, only epoch 1 is episodic, as each text was seen once. Figure 18 tests whether epochs differ without "
        "context.",
        *([f"Reported: {reported[0].source}, {reported[0].table}."] if reported else []),
        *([_LOW_MASS] if low_mass else []),
    ]
    table = Table(_HEAD, rows, notes=notes, text_columns=2)
    draw = (lambda: line_figure(lines, "accuracy", chance=CHANCE)) if lines else None
    return Exhibit(name, title, records, table, draw)


_LOW_MASS = (
    "Where the label mass is below a half, the accuracy says which label a model holds for the more probable one, and not "
    "what it would answer."
)


def _record(training: Training, epoch: int, scores: Mapping[str, Any]) -> dict[str, Value]:
    low, high = scores["intervals"].get("accuracy", (None, None))
    least, most = scores.get("incomplete", {}).get("accuracy", (None, None))
    return {
        "source": "own", "model": training.model, "training": training.label, "trained": training.trained,
        "epoch": epoch, "accuracy": scores["accuracy"], "low": low, "high": high, "if_failed_wrong": least,
        "if_failed_right": most, "greedy_accuracy": scores["greedy_accuracy"], "label_mass": scores["label_mass"],
        "n": scores["n_questions"], "n_failed": scores["n_failed"],
    }  # fmt: skip


def _reported(row: ReportedRow) -> dict[str, Value]:
    trained, epoch = row.memory.split(", epoch ")
    unknown: dict[str, Value] = dict.fromkeys(
        ("low", "high", "if_failed_wrong", "if_failed_right", "greedy_accuracy", "label_mass", "n", "n_failed")
    )
    about: dict[str, Value] = {"source": "reported", "model": row.model, "training": row.source, "trained": trained}
    return about | {"epoch": int(epoch), "accuracy": row.scores["accuracy"]} | unknown


def _cells(training: Training, epoch: int, scores: Mapping[str, Any]) -> list[str]:
    found = whole(scores)
    shown = [training.model, training.label, str(epoch), accuracy(found), accuracy(found, "greedy_accuracy")]
    return [*shown, mass(scores), str(scores["n_questions"]), str(scores["n_failed"])]


def _interval(scores: Mapping[str, Any]) -> Sequence[float] | None:
    found: Sequence[float] | None = scores["intervals"].get("accuracy")
    return found if scores["accuracy"] is not None else None


def _range(scores: Mapping[str, Any]) -> Sequence[float] | None:
    """Between which accuracies the true one lies, if questions failed."""
    found: Sequence[float] | None = scores.get("incomplete", {}).get("accuracy")
    return found
