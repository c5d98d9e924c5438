"""From rows to a decision: shares and differences with intervals, each for a claim, against it, or neither.

A claim about all cases is denied by one case against it, and supported if more than half of the cases are for it and none is
against it. As many cases would turn one up by chance, their intervals are then corrected (Bonferroni: 95 % for all cases
together). A claim about most cases is decided by more than half of them, at 95 % each; a claim that something happens by two
cases, corrected. Everything else is not decided.

The intervals of a difference take the two groups for independent (Newcombe's), also where both have answered the same
questions, since reported numbers do not say which questions were right; that makes them rather too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from epbench.memfail.paper.rows import Row
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import count_of, is_baseline, judged
from epbench.statistics.intervals import wilson

Side = Literal["for", "against", "neither"]
Rule = Literal["all", "most", "some"]
Decision = Literal["supported", "denied", "not decided"]
Count = tuple[int, int]
"""A number of questions, and of how many."""
Measure = tuple[str, Count] | tuple[str, Count, Count]
"""What is measured, for people: a share of questions, or a share from which another one is subtracted."""
Holds = Callable[[float, float, float], Side]
"""From a value, and the low and the high end of its interval, to what they say."""
MARGIN = 0.1
"""The largest gain, or share, that is called little, as no number in the paper says how little is meant."""
SEVERAL = 2
LEVEL = 0.95
USUAL_K = 5
"""The number of memories at which errors are compared, as in the published code."""

# Mem0 2 only ever adds memories; what the paper says of Mem0's updates is about version 1.
_SYSTEMS = {"mem0-1": "Mem0", "a-mem": "A-MEM", "simplemem": "SimpleMem", "structmem": "StructMem"}
_MODELS = {"claude-haiku-4-5": "haiku-4.5", "gemini-3.1-pro-preview": "gemini-3.1"}
"""Names of systems and internal models as the paper has them, by ours and by those of providers."""


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

    @property
    def numbers(self) -> dict[str, int]:
        """The number of cases on each side."""
        return {side: sum(case.side == side for case in self.cases) for side in ("for", "against", "neither")}


def above(limit: float) -> Holds:
    """For a claim that something is more than a limit."""
    return lambda value, low, high: "for" if low > limit else "against" if high < limit else "neither"


def below(limit: float) -> Holds:
    """For a claim that something is less than a limit."""
    return lambda value, low, high: "for" if high < limit else "against" if low > limit else "neither"


def little_gain(value: float, low: float, high: float) -> Side:
    """For a claim that something gains little: a certain gain that is measured above the margin speaks against it."""
    return "for" if high <= MARGIN else "against" if low > 0 and value > MARGIN else "neither"


def weigh(measures: Iterable[Measure], holds: Holds, rule: Rule) -> Evidence:
    """Decide a claim from what was measured.

    Args:
        measures: The cases; without one nothing is decided, and one without questions is none.
        holds: What an interval says about the claim.
        rule: Whether the claim is about all cases, most or some.
    """
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
    return (
        difference,
        difference - ((share - low) ** 2 + (most - subtracted) ** 2) ** 0.5,
        difference + ((high - share) ** 2 + (subtracted - least) ** 2) ** 0.5,
    )


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


def comparable(rows: Iterable[Row]) -> list[Row]:
    """The rows of memory systems of which a question was judged, for claims.

    Returns:
        For each its config and k; system and model, the model inside it, by the paper's names; who, both for people; name,
        such as `Mem0 (gpt-4.1-mini) on long_hop at k = 5`; passed, the count of successes; lost, the counts of errors by
        stage, empty where only success is known; tokens, those of a memory, or where only those of a question are known,
        these, which grow with it at one k; None where neither is. Of persona questions the errors of direct ones alone
        count: a misleading one passes if its memory was lost in storage or retrieval.
    """
    return [_cell(row) for row in rows if not is_baseline(row["run"]) and row["scores"].get("success_rate") is not None]


def _cell(row: Row) -> Row:
    part = row["scores"].get("direct", row["scores"])
    lost = {error.removesuffix("_error"): (count_of(part, error), judged(part)) for error in ERRORS}
    system, model = _SYSTEMS.get(row["system"], row["system"]), (row["system_model"] or "").rpartition(":")[2]
    model = _MODELS.get(model, model)
    who = f"{system} ({model})" if model else system
    memory, question = row["tokens_per_memory"], row["tokens_per_question"]
    return {
        "config": row["config"],
        "k": row["k"],
        "system": system,
        "model": model,
        "who": who,
        "name": f"{who} on {row['config']} at k = {row['k']}",
        "passed": (row["n_right"], row["n"]),
        "lost": {} if None in (count for count, _ in lost.values()) else lost,
        "tokens": question if memory is None else memory,
    }


def by_place(cells: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """The cells of each config, system and internal model, by ascending k."""
    place = ("config", "system", "model")
    return _grouped(sorted(cells, key=itemgetter(*place, "k")), *place)


def _grouped(cells: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for cell in cells:
        found.setdefault(tuple(cell[name] for name in names), []).append(cell)
    return found


def with_errors(cells: Iterable[Row], *configs: str, only: str = "", but: str = "") -> list[Row]:
    """For each system and model one cell that has errors by stage: at k = 5, or else at the smallest k.

    Args:
        cells: All cells.
        configs: Only of these; of all if empty.
        only: The one system that is wanted; empty for all.
        but: A system that is left out.
    """
    known = [cell for cell in cells if cell["lost"] and (not configs or cell["config"] in configs)]
    found = [min(of, key=lambda cell: (cell["k"] != USUAL_K, cell["k"])) for of in by_place(known).values()]
    return [cell for cell in found if cell["system"] != but and only in ("", cell["system"])]


def deepest(cells: Iterable[Row], *configs: str) -> list[list[Row]]:
    """For each config and internal model the cells of all systems at the largest k that all of them have.

    Where they have no k in common, each system is left with nothing to be compared with.
    """
    wanted = [cell for cell in cells if not configs or cell["config"] in configs]
    return [_at_common_k(group) for group in _grouped(wanted, "config", "model").values()]


def _at_common_k(group: Sequence[Row]) -> list[Row]:
    common = set.intersection(*({cell["k"] for cell in own} for own in _grouped(group, "system").values()))
    return [cell for cell in group if cell["k"] == max(common)] if common else []
