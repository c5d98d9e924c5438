"""An accuracy with all that has to stand beside it: its interval, its test against chance, and what failed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Value
from epbench.metric_folders import metric_module

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
POWER = 1.959964 + 0.841621
"""Standard errors that an effect must have, to be found two-sided at .05 with 80 % power, by the normal approximation."""

QUESTION = ("id", "seg1_pos", "seg2_pos", "answer")
"""The columns that tell whether two rows ask the same question: ids alone are alike in sets of other pairs."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The accuracy of answers to some questions.

    Attributes:
        n: The number of answered questions.
        n_failed: The number of questions without an answer.
        accuracy: The share of right answers, 0 to 1; None if a question failed.
        interval: Its 95 % interval, by drawing excerpts; None if a question failed, or with a single excerpt.
        bounds: The accuracy if all failed questions were wrong, and if all were right; None if none failed.
        p: Two-sided p-value of the test against chance: exact binomial; with both orders the same over pairs, right both
            times against wrong both times; for a mean over models Wilcoxon's signed-rank test over excerpts. None if a
            question failed.
        units: The number of questions, pairs or excerpts that the test counts.
    """

    n: int
    n_failed: int
    accuracy: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    p: float | None
    units: int

    def fields(self) -> dict[str, Value]:
        """The columns of a record: accuracy, ci_low and ci_high, lowest and highest (`bounds`), n, n_failed and p."""
        low, high = self.interval or (None, None)
        lowest, highest = self.bounds or (None, None)
        return {
            "accuracy": self.accuracy, "ci_low": low, "ci_high": high, "lowest": lowest, "highest": highest,
            "n": self.n, "n_failed": self.n_failed, "p": self.p,
        }  # fmt: skip

    def text(self) -> str:
        """The text of a cell: `0.930 ± 0.007`, with half the width of the interval, or `0.48–0.61 (incomplete)`."""
        if self.accuracy is None:
            return "–" if self.bounds is None else f"{self.bounds[0]:.2f}–{self.bounds[1]:.2f} (incomplete)"
        half = f" ± {(self.interval[1] - self.interval[0]) / 2:.3f}" if self.interval else ""
        return f"{self.accuracy:.3f}{half}"


def rate_of(questions: pd.DataFrame, *, pooled: bool = False) -> Rate | None:
    """The rate of some questions; None without a question.

    Args:
        questions: Rows as `epbench.booksort.scores.question_files.read_questions` returns them.
        pooled: Whether `right` is a mean over models, 0 to 1.
    """
    if questions.empty:
        return None
    answered = questions[questions["right"].notna()]
    n, n_failed = len(answered), len(questions) - len(answered)
    if n_failed:
        right = float(answered["right"].sum())
        return Rate(n, n_failed, None, None, (right / len(questions), (right + n_failed) / len(questions)), None, 0)
    interval: tuple[float, float] | None = metric_module("sort_accuracy").accuracy_interval(
        answered["right"].tolist(), answered["excerpt"].tolist()
    )
    p, units = _pooled_test(answered) if pooled else _test(answered)
    return Rate(n, 0, float(answered["right"].mean()), interval, None, p, units)


def _test(answered: pd.DataFrame) -> tuple[float, int]:
    """The two-sided binomial test against chance, and the number of questions or pairs that it counts."""
    from scipy.stats import binomtest

    right, units = int(answered["right"].sum()), len(answered)
    if answered["swapped"].any():  # the two askings of a pair are not independent
        times = answered.groupby("pair")["right"].agg(["sum", "size"])
        both = times[times["size"] == 2]["sum"]
        right, units = int((both == 2).sum()), int((both != 1).sum())
    return (float(binomtest(right, units, CHANCE).pvalue) if units else 1.0), units


def _pooled_test(answered: pd.DataFrame) -> tuple[float, int]:
    """Wilcoxon's signed-rank test of the means of excerpts against chance, and the number of excerpts."""
    from scipy.stats import wilcoxon

    above = answered.groupby("excerpt")["right"].mean() - CHANCE
    # The exact distribution with ties is searched by permutation, which takes seconds for each bin of a small set.
    values, units = above.round(12), len(above)
    if not values.any():
        return 1.0, units
    return float(wilcoxon(values, zero_method="pratt", method="asymptotic").pvalue), units


def smallest_above_chance(n: int) -> float | None:
    """The smallest accuracy above chance that so many questions show with 80 % power, two-sided at .05; None if none.

    By the normal approximation, with the deviation of guessing: (1.960 + 0.842) · 0.5 / √n above 0.5.
    """
    found = CHANCE + POWER * CHANCE / math.sqrt(n) if n else 1.0
    return found if found < 1 else None


def p_text(p: float | None) -> str:
    """A p-value as the text of a cell, with its stars, such as `0.021*` or `< 0.001**`; a dash for None."""
    return "–" if p is None else f"< 0.001{stars(p)}" if p < 0.001 else f"{p:.3f}{stars(p)}"


def stars(p: float | None) -> str:
    """`**` for p < .01, `*` for p < .05, and nothing for more or None."""
    return "" if p is None else "**" if p < 0.01 else "*" if p < 0.05 else ""
