"""How surprising texts are to a model after each epoch: the segments, the books, and what was never trained (Figure 16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.weights.lines import Line, draw_lines, legend_of
from epbench.booksort.paper.weights.trainings import Training
from epbench.exhibits.exhibit import Exhibit, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "Figure 16"
TITLE = "Perplexity of the segments in their prompts without context, and of other texts, by epoch"
DRAWN = ("segments", "books")


def figure_16(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit:
    """Perplexities by epoch.

    Args:
        trainings: At least one.
        reported: Rows with a score `perplexity` of one book; the memory says when.
    """
    texts = list(dict.fromkeys(name for t in trainings for record in t.epochs for name in record["perplexity"]))
    records: list[dict[str, Value]] = [
        _record("reported", row.model, row.source, row.memory, None, f"book {row.dataset}", row.scores["perplexity"])
        for row in reported
    ]
    rows = []
    for training in trainings:
        for record in training.epochs:
            found, epoch = record["perplexity"], record["epoch"]
            records += [
                _record("own", training.model, training.label, training.trained, epoch, name, found[name])
                for name in texts
                if name in found
            ]
            rows.append([training.model, training.label, str(epoch), *(_shown(found.get(name)) for name in texts)])
    for row in reported:
        cells = [marked(row.model, "reported"), row.memory, "–"]
        value = _shown(row.scores["perplexity"])
        rows.append([*cells, *(value if name == "books" else "–" for name in texts)])
    notes = [
        "segments: all tokens of both segments of all pairs, in prompts without context. The other texts are measured on "
        "chunks as they are trained. A control never sees segments and books.",
        *(f"Reported: {row.source}, {row.table}, of book {row.dataset} alone. {row.note}".strip() for row in reported),
    ]
    head = ["model", "training", "epoch", *(name.replace("_", " ") for name in texts)]
    return Exhibit(NAME, TITLE, records, Table(head, rows, notes=notes, text_columns=2), lambda: _draw(trainings))


def _record(
    source: str, model: str, training: str, trained: str, epoch: int | None, text: str, value: float | None
) -> dict[str, Value]:
    about: dict[str, Value] = {"source": source, "model": model, "training": training, "trained": trained}
    return about | {"epoch": epoch, "text": text, "perplexity": value}


def _draw(trainings: Sequence[Training]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    panels = figure.subplots(1, len(DRAWN))
    for axes, text in zip(panels, DRAWN, strict=True):
        axes.spines[["top", "right"]].set_visible(False)
        lines = [
            Line(t.label, [r["epoch"] for r in t.epochs], [r["perplexity"].get(text) for r in t.epochs])
            for t in trainings
        ]
        draw_lines(axes, lines, f"perplexity of {text}", log=True)
    legend_of(figure, panels[0])
    return figure


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
