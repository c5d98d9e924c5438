"""How much more a run gets right than the same model without memory, question by question."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.paper.results.cells import Split
from epbench.booksort.paper.results.rates import QUESTION, stars
from epbench.exhibits.exhibit import Value
from epbench.statistics.paired import Paired, holm, paired_outcomes
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[Value, Value, Value]
"""A book, a part of the paper and a length of segments."""


@dataclass(frozen=True)
class Gain:
    """The difference of two runs on the same questions.

    Attributes:
        found: The comparison, of the run with memory against the one without; None if a question failed.
        baseline: The label of the run without memory.
        smallest: The smallest difference that so many questions show with 80 % power; None if unknown.
        p_holm: The p-value by Holm for all groups of the run; None without a test.
    """

    found: Paired | None
    baseline: str
    smallest: float | None
    p_holm: float | None = None

    def text(self) -> str:
        """The text of a cell, such as `+0.41 [0.36, 0.45]**`; a dash if a question failed."""
        if self.found is None:
            return "–"
        interval = f" [{self.found.interval[0]:.2f}, {self.found.interval[1]:.2f}]" if self.found.interval else ""
        return f"{self.found.difference:+.2f}{interval}{stars(self.p_holm)}"

    def fields(self) -> dict[str, Value]:
        """The columns of a record."""
        low, high = (self.found and self.found.interval) or (None, None)
        return {
            "baseline": self.baseline,
            "gain": self.found.difference if self.found else None,
            "gain_low": low,
            "gain_high": high,
            "gain_n": self.found.n if self.found else None,
            "gain_p": self.found.p if self.found else None,
            "gain_p_holm": self.p_holm,
            "smallest_gain": self.smallest,
        }

    @staticmethod
    def no_fields() -> dict[str, Value]:
        """The same columns where there is no run without memory."""
        return dict.fromkeys(Gain(None, "", None).fields())

    @staticmethod
    def power_note(gains: Sequence[Gain]) -> str:
        """The sentence that says what so few questions could show."""
        known = [(gain.found.n, gain.smallest) for gain in gains if gain.found and gain.smallest]
        if not known:
            return "What so few questions could show is not known."
        n, smallest = min(known)
        return f"The smallest group has n = {n:,}, which shows a difference of {smallest:.2f} with 80 % power at .05."


def gains(run: PaperRun, baselines: Sequence[PaperRun], split: Split) -> dict[Key, Gain]:
    """The gain of a run over the first run without memory with the same model, by group; empty without such a run.

    Args:
        run: The run with memory.
        baselines: Runs without memory.
        split: Divides the questions into groups by book, part and length of segments.
    """
    with_memory = run.questions.set_index(list(QUESTION), drop=False)
    for baseline in baselines:
        if baseline.model != run.model:
            continue
        without = baseline.questions.set_index(list(QUESTION))["right"]
        if with_memory.index.isin(without.index).all():
            both = with_memory.assign(without=without.reindex(with_memory.index)).reset_index(drop=True)
            return _corrected(
                {
                    (group["book_idx"], group["part"], group["segment_length"]): _gain(part, baseline.label)
                    for group, part in split(both)
                }
            )
    return {}


def _gain(questions: pd.DataFrame, baseline: str) -> Gain:
    if questions[["right", "without"]].isna().any(axis=None):
        return Gain(None, baseline, None)
    first, second = questions["right"].tolist(), questions["without"].tolist()
    clusters: list[Hashable] = questions["excerpt"].tolist()
    units = questions["pair"].tolist() if questions["swapped"].any() else None
    found = paired_outcomes(first, second, clusters, units)
    differences = (questions["right"] - questions["without"]).tolist()
    return Gain(found, baseline, smallest_difference_of_means(differences, paired=True))


def _corrected(found: dict[Key, Gain]) -> dict[Key, Gain]:
    corrected = iter(holm([gain.found.p for gain in found.values() if gain.found]))
    return {key: replace(gain, p_holm=next(corrected)) if gain.found else gain for key, gain in found.items()}
