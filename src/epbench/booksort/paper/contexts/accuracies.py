"""Groups of questions: their accuracy with its test against guessing, as numbers, in cells, and as points of a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.scores.scoring import summary
from epbench.booksort.scores.tables import accuracy
from epbench.exhibits.exhibit import Value
from epbench.reports.figures import colour_of, error_bars
from epbench.safe_text import one_line
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS, STYLES = "osD^vPX*", ("-", "--", ":", "-.")


def numbers(rows: pd.DataFrame) -> dict[str, Value]:
    """The accuracy of some questions, as columns of the data of an exhibit.

    Args:
        rows: At least one question; see `epbench.booksort.scores.question_files.read_questions`.

    Returns:
        accuracy, low and high (95 %, drawing excerpts), if_failed_wrong and if_failed_right (the accuracy is between them
        if questions failed, and is None itself), n (answered), n_failed, p (one-sided, against guessing), greedy_accuracy,
        label_mass, and needed: see the function of that name.
    """
    found = summary(rows)
    least, most = found.get("incomplete", {}).get("accuracy", (None, None))
    return {
        "accuracy": found["accuracy"], "low": found["ci_low"], "high": found["ci_high"], "if_failed_wrong": least,
        "if_failed_right": most, "n": found["n"], "n_failed": found["n_failed"], "p": found["p_value"],
        "greedy_accuracy": found["greedy_accuracy"], "label_mass": found["label_mass"],
        "needed": None if rows["swapped"].any() else needed(len(rows)),
    }  # fmt: skip


def needed(n: int) -> float | None:
    """The lowest accuracy over n questions that a one-sided binomial test tells from guessing at 0.05; None if there is none."""
    from scipy.stats import binom

    right = int(binom.isf(0.05, n, 0.5)) + 1
    return right / n if right <= n else None


def with_holm(records: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    """Add p_holm to the records, corrected for the number of those that have a p."""
    corrected = iter(holm([p for record in records if isinstance(p := record["p"], float)]))
    return [record | {"p_holm": next(corrected) if isinstance(record["p"], float) else None} for record in records]


def shown(record: dict[str, Value]) -> str:
    """The accuracy of a record as the text of a cell, with stars by its corrected p."""
    found = {"accuracy": record["accuracy"], "ci_low": record["low"], "ci_high": record["high"]}
    if record["n_failed"]:
        found["incomplete"] = {"accuracy": [record["if_failed_wrong"], record["if_failed_right"]]}  # type: ignore[assignment]
    return accuracy(found) + stars(record)


def stars(record: dict[str, Value]) -> str:
    """`*` where the corrected p is below 0.05, and `**` below 0.01."""
    p = record.get("p_holm")
    return "" if not isinstance(p, float) or p >= 0.05 else "**" if p < 0.01 else "*"


CHANCE_TEST = (
    "* p < 0.05, ** p < 0.01: one-sided binomial test against guessing (pairs asked in both orders: sign test), corrected by "
    "Holm for the number of tests in the table. needed: the lowest accuracy that so many questions tell from guessing at "
    "0.05, without correction. ± is half the width of a 95 % interval that draws excerpts; the test takes pairs for "
    "independent."
)
"""What stands below a table whose accuracies are tested against guessing."""


def draw_line(
    axes: Axes, number: int, places: Sequence[float], records: Sequence[Mapping[str, Value]], label: str = ""
) -> None:
    """Draw the accuracies of some records as a line.

    Where questions failed there is no point but a dotted bar, from the accuracy if they were all wrong to that if they were
    all right.

    Args:
        axes: Where to draw.
        number: The number of the line; it decides colour, marker and style.
        places: Where the points are on the x axis.
        records: With accuracy, low, high, if_failed_wrong and if_failed_right; see `numbers`.
        label: Its name in the legend; empty for none.
    """
    colour = colour_of(number)
    values = [one if isinstance(one := record["accuracy"], float) else float("nan") for record in records]
    name = legend_text(label) if label else None
    style, marker = STYLES[number % len(STYLES)], MARKERS[number % len(MARKERS)]
    axes.plot(places, values, style, marker=marker, color=colour, label=name)
    error_bars(axes, places, values, [ends(record, "low", "high") for record in records], colour)
    for place, record in zip(places, records, strict=True):
        if lost := ends(record, "if_failed_wrong", "if_failed_right"):
            axes.plot([place, place], lost, ":", color=colour, marker="_", linewidth=1.5)


def chance_line(axes: Axes) -> None:
    """A dotted line at the accuracy of guessing."""
    axes.axhline(0.5, color="#888", linestyle=(0, (1, 2)), linewidth=1, label="chance")


def legend_below(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with each name once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    columns = min(3, len(found))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def legend_text(label: str) -> str:
    """A label on one line; matplotlib leaves out those that begin with an underscore, so that a blank stands before it."""
    text = one_line(label)
    return f" {text}" if text.startswith("_") else text


def ends(record: Mapping[str, Value], low: str, high: str) -> tuple[float, float] | None:
    """The two ends of an interval of a record; None if there is none."""
    first, last = record[low], record[high]
    return (first, last) if isinstance(first, float) and isinstance(last, float) else None
