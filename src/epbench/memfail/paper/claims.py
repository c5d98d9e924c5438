"""The claims of the paper, which `data/claims.toml` declares: what is measured, what it must be, and what runs say about it.

A claim about all cases is denied by one case against it, and supported if more than half of the cases are for it and none is
against it. As many cases would turn one up by chance, their intervals are then corrected (Bonferroni: 95 % for all cases
together). A claim about most cases is decided by more than half of them, at 95 % each; a claim that something happens by two
cases, corrected. Everything else is not decided.

The intervals of a difference take the two groups for independent (Newcombe's), also where both have answered the same
questions, since reported numbers do not say which questions were right; that makes them rather too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Literal

from epbench.files.packaged import packaged
from epbench.files.text import parse_toml
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.measures import MEASURES, Cells, Count, Measure, comparable, duels
from epbench.memfail.paper.rows import cells_of
from epbench.reports.plots import grouped
from epbench.reports.tables import Runs, Table
from epbench.statistics.correlation import pearson
from epbench.statistics.intervals import wilson

Side = Literal["for", "against", "neither"]
Rule = Literal["all", "most", "some"]
Decision = Literal["supported", "denied", "not decided"]
Holds = Callable[[float, float, float], Side]
"""From a value, and the low and the high end of its interval, to what they say."""
MARGIN = 0.1
"""The largest gain, or share, that is called little, as no number in the paper says how little is meant."""
SEVERAL = 2
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Case:
    """A share or a difference with its interval, what it says about the claim, and the counts that it comes from."""

    name: str
    value: float
    low: float
    high: float
    side: Side
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a claim rests on."""

    decision: Decision
    rule: Rule
    cases: tuple[Case, ...] = ()  # what was measured; empty if runs are missing
    missing: str = ""  # which runs are missing; empty if none

    @property
    def numbers(self) -> dict[str, int]:
        """The number of cases on each side."""
        return {side: sum(case.side == side for case in self.cases) for side in ("for", "against", "neither")}


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim."""

    name: str  # short and unique, for files
    section: str  # where the paper makes it
    text: str  # what it says
    rule: Rule  # whether it is about all cases, most of them, or some
    needs: str  # the runs without which nothing is decided
    measure: str  # what is measured: one of `MEASURES`, or `nobody_dominates` or `follows_tokens`
    holds: str  # what it must be: `above` or `below` a number or the `margin`, or to `gain little`
    about: Mapping[str, Any] = field(default_factory=dict)  # of which configs, systems or stages it is measured

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        holds = holds_of(self.holds)
        if self.measure in MEASURES:
            evidence = weigh(MEASURES[self.measure](cells, **self.about), holds, self.rule)
        else:
            evidence = decide(_TESTS[self.measure](cells, holds, **self.about), self.rule)
        return evidence if evidence.cases else replace(evidence, missing=self.needs)


@cache
def claims() -> tuple[Claim, ...]:
    """The claims that `data/claims.toml` declares, in its order."""
    declared = parse_toml(packaged("epbench.memfail", "claims.toml").read_text("utf-8"))["claims"]
    return tuple(Claim(**claim | {"text": claim["text"].format(margin=f"{MARGIN:g}")}) for claim in declared)


def holds_of(text: str) -> Holds:
    """What a claim says of its measure: `above 0.5`, `below margin` or `gain little`."""
    kind, limit = text.split()
    if kind == "gain":
        return _gains_little
    at = MARGIN if limit == "margin" else float(limit)
    below: Side = "for" if kind == "below" else "against"
    above: Side = "for" if kind == "above" else "against"
    return lambda value, low, high: below if high < at else above if low > at else "neither"


def _gains_little(value: float, low: float, high: float) -> Side:
    """A certain gain that is measured above the margin speaks against a claim that something gains little."""
    return "for" if high <= MARGIN else "against" if low > 0 and value > MARGIN else "neither"


def weigh(measures: Iterable[Measure], holds: Holds, rule: Rule) -> Evidence:
    """Decide a claim from cases that were measured; without one nothing is decided, and one without questions is none."""
    known = [(name, counts) for name, *counts in measures if all(n for _, n in counts)]
    level = LEVEL if rule == "most" else 1 - (1 - LEVEL) / max(1, len(known))
    cases = []
    for name, counts in known:
        found = _with_interval(counts, level)
        cases.append(Case(name, *found, holds(*found), tuple(counts)))
    return decide(cases, rule)


def _with_interval(counts: Sequence[Count], level: float) -> tuple[float, float, float]:
    """A share with its interval by Wilson, or a difference with that by Newcombe, which is made of two of Wilson's."""
    shares = [(right / n, *(wilson(right, n, level=level) or (0.0, 1.0))) for right, n in counts]
    if len(shares) == 1:
        return shares[0]
    (share, low, high), (subtracted, least, most) = shares
    difference = share - subtracted
    down = ((share - low) ** 2 + (most - subtracted) ** 2) ** 0.5
    up = ((high - share) ** 2 + (subtracted - least) ** 2) ** 0.5
    return difference, difference - down, difference + up


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


def nobody_dominates(cells: Cells, holds: Holds) -> list[Case]:
    """Each system is surely beaten by some other on some config; with its own model, at the largest common k."""
    of_system: dict[str, list[Measure]] = {}
    for one, other in duels(cells):
        name = f"{one['who']} against {other['system']} on {one['config']} at k = {one['k']}"
        of_system.setdefault(one["who"], []).append((name, one["passed"], other["passed"]))
    cases = []
    for measures in of_system.values():
        found = weigh(measures, holds, "all").cases
        beaten, never = any(case.side == "for" for case in found), all(case.side == "against" for case in found)
        worst = min(found, key=lambda case: case.high)
        cases.append(replace(worst, side="for" if beaten else "against" if never else "neither"))
    return cases


def follows_tokens(cells: Cells, holds: Holds, config: str) -> list[Case]:
    """At each k, whether success and tokens go together over all systems and models (Pearson's r)."""
    cases = []
    for k, group in sorted(grouped([cell for cell in cells if cell["config"] == config], "k").items()):
        known = [cell for cell in group if cell["passed"][1] and cell["tokens"] is not None]
        success = [right / n for right, n in (cell["passed"] for cell in known)]
        found = pearson([cell["tokens"] for cell in known], success)
        if found is not None and found.n > 3:
            name = f"r of success and tokens on {config} at k = {k}, {found.n} systems and models"
            cases.append(Case(name, found.r, *found.interval, holds(found.r, *found.interval)))
    return cases


_TESTS: Mapping[str, Callable[..., list[Case]]]
_TESTS = {"nobody_dominates": nobody_dominates, "follows_tokens": follows_tokens}
"""Those that do not compare counts."""


RUNS, REPORTED = "your runs", "reported"
_HOW = (
    "A claim about all cases is denied by one case against it and supported by more than half of the cases without one against "
    "it; their intervals are 95 % for all cases together. A claim about most cases takes more than half of them, at 95 % each.",
    "Runs and reported numbers are not mixed, and baselines are left out. All cases with their numbers are in claims.json.",
)


def claims_of(runs: Runs, reported: Runs) -> tuple[Table, dict[str, Any]]:
    """What runs and reported numbers, by label and with all their k, say about each claim; baselines are left out.

    Returns:
        A table with a row for each claim: what decides it, and by source the decision, the numbers of cases, and the strongest
        case. And the content of claims.json: for each claim its section and text, and by source the decision and all cases.
    """
    parts = {RUNS: runs} | ({REPORTED: reported} if reported else {})
    cells = {source: comparable(cells_of(Inputs(reported=part))) for source, part in parts.items()}
    rows, written = [], []
    for claim in claims():
        found = {source: claim.of(of_source) for source, of_source in cells.items()}
        rows.append([claim.text, claim.section, *map(_cell, found.values())])
        sources = {source: _written(evidence) for source, evidence in found.items()}
        written.append({"name": claim.name, "section": claim.section, "claim": claim.text, **sources})
    table = Table(["claim of the paper", "section", *parts], rows, notes=_HOW, text_columns=2 + len(parts))
    return table, {"level": LEVEL, "margin": MARGIN, "claims": written}


def _written(evidence: Evidence) -> dict[str, Any]:
    cases = [{"case": case.pop("name"), **case} for case in map(asdict, evidence.cases)]
    missing = {"missing": evidence.missing} if evidence.missing else {}
    return {"decision": evidence.decision, "about": evidence.rule, **evidence.numbers, **missing, "cases": cases}


def _cell(evidence: Evidence) -> str:
    """The decision, with a case on its side if there is one, that with the narrowest interval."""
    if evidence.missing:
        return f"not decided: no {evidence.missing}"
    side = {"supported": "for", "denied": "against"}.get(evidence.decision, "neither")
    strongest = min(evidence.cases, key=lambda case: (case.side != side, case.high - case.low, case.name))
    numbers = ", ".join(f"{n} {of_side}" for of_side, n in evidence.numbers.items())
    shown = f"{strongest.name}: {strongest.value:.2f} ({strongest.low:.2f} to {strongest.high:.2f})"
    return f"{evidence.decision}: {numbers}; {shown}"
