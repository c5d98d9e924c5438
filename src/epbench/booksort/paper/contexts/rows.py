"""Groups of questions with their accuracy and its test against guessing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.scores.scoring import summary
from epbench.booksort.scores.tables import accuracy
from epbench.exhibits.exhibit import Value
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd


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
