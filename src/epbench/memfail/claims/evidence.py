"""From counts to a decision: shares and differences with intervals, each for a claim, against it, or neither.

A claim about all cases is denied by one case against it, and supported if more than half of the cases are for it and none is
against it. As many cases would turn one up by chance, their intervals are then corrected (Bonferroni: 95 % for all cases
together). A claim about most cases is decided by more than half of them, at 95 % each; a claim that something happens by two
cases, corrected. Everything else is not decided.

The intervals of a difference take the two groups for independent (Newcombe's), also where both have answered the same
questions, since reported numbers do not say which questions were right; that makes them rather too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from epbench.statistics.intervals import wilson

Side = Literal["for", "against", "neither"]
Rule = Literal["all", "most", "some"]
Decision = Literal["supported", "denied", "not decided"]
Count = tuple[int, int]
"""A number of questions, and of how many."""

MARGIN = 0.1
"""The largest gain, or share, that is called little, as no number in the paper says how little is meant."""
SEVERAL = 2
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of questions, or the difference of two shares.

    Attributes:
        name: Of what, for people.
        count: The number of questions, and of how many.
        minus: The same of what is subtracted; None for a share.
    """

    name: str
    count: Count
    minus: Count | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A measure with its interval, and what it says about the claim."""

    name: str
    value: float
    low: float
    high: float
    side: Side
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a claim rests on.

    Attributes:
        decision: Supported, denied or not decided.
        rule: Whether the claim is about all cases, most of them, or some.
        cases: What was measured; the empty tuple if runs are missing.
        missing: Which runs are missing; empty if none.
    """

    decision: Decision
    rule: Rule
    cases: tuple[Case, ...] = ()
    missing: str = ""
    numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        sides: tuple[Side, ...] = ("for", "against", "neither")
        object.__setattr__(self, "numbers", {side: sum(case.side == side for case in self.cases) for side in sides})


Holds = Callable[[float, float, float], Side]
"""From value, low and high to what they say."""


def above(limit: float) -> Holds:
    """For a claim that something is more than a limit."""
    return lambda value, low, high: "for" if low > limit else "against" if high < limit else "neither"


def below(limit: float) -> Holds:
    """For a claim that something is less than a limit."""
    return lambda value, low, high: "for" if high < limit else "against" if low > limit else "neither"


def little_gain(value: float, low: float, high: float) -> Side:
    """For a claim that something gains little: a certain gain that is measured above the margin speaks against it."""
    return "for" if high <= MARGIN else "against" if low > 0 and value > MARGIN else "neither"


def weigh(measures: Sequence[Measure], holds: Holds, rule: Rule) -> Evidence:
    """Decide a claim from what was measured.

    Args:
        measures: The cases; without one nothing is decided.
        holds: What an interval says about the claim.
        rule: Whether the claim is about all cases, most or some.
    """
    measures = [one for one in measures if one.count[1] and (one.minus is None or one.minus[1])]
    level = LEVEL if rule == "most" else 1 - (1 - LEVEL) / max(1, len(measures))
    return decide([_case(measure, holds, level) for measure in measures], rule)


def decide(cases: Sequence[Case], rule: Rule) -> Evidence:
    """The decision that some cases make necessary."""
    n_for, n_against = (sum(case.side == side for case in cases) for side in ("for", "against"))
    half = len(cases) / 2
    decision: Decision = "not decided"
    if rule == "some":
        decision = "supported" if n_for >= SEVERAL else "denied" if cases and n_against == len(cases) else decision
    elif n_against > (half if rule == "most" else 0):
        decision = "denied"
    elif n_for > half:
        decision = "supported"
    return Evidence(decision, rule, tuple(cases))


def _case(measure: Measure, holds: Holds, level: float) -> Case:
    value, low, high = _interval(measure.count, measure.minus, level)
    counts = (measure.count,) if measure.minus is None else (measure.count, measure.minus)
    return Case(measure.name, value, low, high, holds(value, low, high), counts)


def _interval(one: Count, other: Count | None, level: float) -> tuple[float, float, float]:
    """A share and its interval by Wilson, or a difference of two and its interval by Newcombe, made of their Wilson intervals."""
    share, low, high = _share(one, level)
    if other is None:
        return share, low, high
    subtracted, least, most = _share(other, level)
    difference = share - subtracted
    return (
        difference,
        difference - ((share - low) ** 2 + (most - subtracted) ** 2) ** 0.5,
        difference + ((high - share) ** 2 + (subtracted - least) ** 2) ** 0.5,
    )


def _share(count: Count, level: float) -> tuple[float, float, float]:
    interval = wilson(*count, level=level)
    assert interval is not None  # measures without questions are left out
    return count[0] / count[1], *interval
