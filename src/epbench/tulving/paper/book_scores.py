"""A score of one reader on several books: its error on each, and how much the books differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance
from typing import TYPE_CHECKING

from epbench.statistics.intervals import Spread, spread_of_groups
from epbench.tulving.paper.dots import Point
from epbench.tulving.paper.inputs import PaperRun
from epbench.tulving.paper.means import Interval

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 2 * 1.959964  # of a normal 95 % interval, in standard errors
_MOST = 0.5  # no numbers from 0 to 1 have a larger standard deviation, however many they are


@dataclass(frozen=True)
class BookScore:
    """A score of a reader on one book.

    Attributes:
        book: The name of the book.
        run: The run.
        score: The name of the score in scores.json.
        value: The score, 0 to 1; None if questions were lost.
        interval: Its 95 % interval, by drawing cues; None without a value, and for questions with a single cue.
        bounds: The score if all lost questions are wrong and if all are right; None if none was lost.
        n: The number of questions that count for it.
    """

    book: str
    run: PaperRun
    score: str
    value: float | None
    interval: Interval | None
    bounds: Interval | None
    n: int

    @property
    def error(self) -> float | None:
        """The standard error of the score, from its interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / _WIDTH


@dataclass(frozen=True)
class AllBooks:
    """A score of a reader over the books on which it has an interval.

    Attributes:
        n_books: How many they are.
        n: The number of their questions.
        spread: How much they differ; None for fewer than two.
        between: The 95 % interval of the deviation between books; None without a spread, and where no question differs.
    """

    n_books: int
    n: int
    spread: Spread | None
    between: Interval | None

    @classmethod
    def of(cls, found: Sequence[BookScore]) -> AllBooks:
        """Put the scores of several books together."""
        errors = {one.book: error for one in found if (error := one.error) is not None}
        values = {one.book: [one.value] for one in found if one.book in errors and one.value is not None}
        n = sum(one.n for one in found if one.book in values)
        if len(values) < 2:
            return cls(len(values), n, None, None)
        spread = spread_of_groups(values, errors)
        return cls(len(values), n, spread, _interval_between(spread) if spread.within or spread.between else None)

    def interval(self) -> Interval | None:
        """Where the score on another book is expected, within 0 and 1; None where no two books differ."""
        if self.spread is None or self.spread.interval is None or len(set(self.spread.means.values())) == 1:
            return None
        low, high = self.spread.interval
        return max(0.0, low), min(1.0, high)

    def point(self) -> Point:
        """The mean as a point, with a bar of one deviation between books to each side."""
        if self.spread is None:
            return None, None
        deviation = self.spread.between or 0.0
        return self.spread.mean, (self.spread.mean - deviation, self.spread.mean + deviation)


def _interval_between(spread: Spread) -> Interval:
    """The deviations between books that the observed variance is compatible with, the errors within taken off."""
    from scipy.stats import chi2

    freedom = spread.n_groups - 1
    squares = freedom * variance(spread.means.values())
    low, high = (squares / float(chi2.ppf(share, freedom)) - spread.within**2 for share in (0.975, 0.025))
    most = max(_MOST, spread.between or 0.0)
    return math.sqrt(max(0.0, low)), min(most, math.sqrt(max(0.0, high)))


def book_score(book: str, run: PaperRun, score: str) -> BookScore:
    """A score of a run.

    Args:
        book: The name of the book.
        run: The run.
        score: A name in scores.json; for a bin `f1_by_bin.` and the bin.
    """
    of_bin = run.scores["f1_by_bin"].get(score.removeprefix("f1_by_bin."))
    value = of_bin if score.startswith("f1_by_bin.") else run.scores[score]
    interval, bounds = (run.scores.get(name, {}).get(score) for name in ("intervals", "incomplete"))
    return BookScore(book, run, score, value, interval, bounds, int(_counts(run.questions, score).sum()))


def _counts(questions: pd.DataFrame, score: str) -> pd.Series[bool]:
    """Which questions count for a score."""
    latest = (questions["get"] == "latest") & (questions["n_chapters"] >= 2)
    ordered = (questions["get"] == "chronological") & (questions["reference"].map(lambda items: len(set(items))) >= 2)
    everything = questions["get"] == "all"
    of_bin = everything & (questions["bin"] == score.removeprefix("f1_by_bin."))
    named = {"simple_recall_score": everything, "latest": latest, "chronological_awareness": latest | ordered}
    return named.get(score, of_bin)
