"""How much of p(A) + p(B) a model gives the right segment after each epoch (Figure 20)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from epbench.booksort.paper.weights.lines import Line, line_figure
from epbench.booksort.paper.weights.trainings import Training
from epbench.booksort.scores.question_files import read_questions
from epbench.exhibits.exhibit import Exhibit, Value
from epbench.reports.tables import Table, cell, interval_cell

NAME = "Figure 20"
TITLE = "Mean log ratio of the right answer, log(p(right) / (p(A) + p(B))), without context, by epoch"
CHANCE = math.log(0.5)
"""The log ratio of a model that gives both labels the same probability, in nats."""


def has_log_ratio(training: Training) -> bool:
    """Whether the probabilities of labels are known at any epoch."""
    return any(record["sort"].get("log_ratio") is not None for record in training.epochs)


def figure_20(trainings: Sequence[Training]) -> Exhibit:
    """Log ratios by epoch.

    Args:
        trainings: At least one, each with log ratios; see `has_log_ratio`.
    """
    records: list[dict[str, Value]] = []
    rows, lines = [], []
    for training in trainings:
        own = [_record(training, record["epoch"]) for record in training.epochs]
        records += own
        rows += [_cells(record) for record in own]
        intervals = [record["sort"].get("log_ratio_interval") for record in training.epochs]
        epochs = [record["epoch"] for record in training.epochs]
        lines.append(Line(training.label, epochs, [r["sort"].get("log_ratio") for r in training.epochs], intervals))
    notes = [
        f"In nats; {CHANCE:.3f} is that of a model that gives both labels the same probability, and 0 the highest. 95 %: "
        "drawing excerpts. Whether epochs differ is tested in Figure 19.",
        "of 118 of 120: the log ratio of the other questions is unknown, as they failed or the right label has no "
        "probability, which would lower the mean.",
    ]
    head = ["model", "training", "epoch", "log ratio", "95 %", "questions"]
    table = Table(
        head, rows, notes=notes if any(r["n"] != r["n_asked"] for r in records) else notes[:1], text_columns=2
    )
    return Exhibit(NAME, TITLE, records, table, lambda: line_figure(lines, "log ratio (nats)", chance=CHANCE))


def _record(training: Training, epoch: int) -> dict[str, Value]:
    sort = next(record["sort"] for record in training.epochs if record["epoch"] == epoch)
    ratios = read_questions(training.run_of(epoch))["log_ratio"]
    low, high = sort.get("log_ratio_interval") or (None, None)
    about: dict[str, Value] = {"source": "own", "model": training.model, "training": training.label}
    about |= {"trained": training.trained, "epoch": epoch, "log_ratio": sort.get("log_ratio"), "low": low, "high": high}
    return about | {"n": int(ratios.count()), "n_asked": len(ratios)}


def _cells(record: dict[str, Value]) -> list[str]:
    low, high = record["low"], record["high"]
    interval = [low, high] if isinstance(low, float) and isinstance(high, float) else None
    lost = record["n"] != record["n_asked"]
    shown = (
        f"{cell(record['log_ratio'])} (of {record['n']} of {record['n_asked']})" if lost else cell(record["log_ratio"])
    )
    about = [str(record[name]) for name in ("model", "training", "epoch")]
    return [*about, shown, interval_cell(interval, " to "), str(record["n_asked"])]
