"""From counts to a decision: shares and differences with intervals, each for a claim, against it, or neither.

A claim about all cases is denied by one case against it, and supported if more than half of the cases are for it and none is
against it. As many cases would turn one up by chance, their intervals are then corrected (Bonferroni: 95 % for all cases
together). A claim about most cases is decided by more than half of them, at 95 % each; a claim that something happens by two
cases, corrected. Everything else is not decided.

The intervals of a difference take the two groups for independent (Newcombe's), also where both have answered the same
questions, since reported numbers do not say which questions were right; that makes them rather too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from epbench.memfail.scores.breakdown import count_of, judged
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import is_baseline
from epbench.reports.tables import Runs, Scores
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


DEFAULT_K = 5
"""The number of memories at which errors are compared, as in the published code."""

# Mem0 2 only ever adds memories; what the paper says of Mem0's updates is about version 1.
_SYSTEMS = {"mem0-1": "Mem0", "a-mem": "A-MEM", "simplemem": "SimpleMem", "structmem": "StructMem"}
_MODELS = {"claude-haiku-4-5": "haiku-4.5", "gemini-3.1-pro-preview": "gemini-3.1"}
"""Names of systems and internal models as the paper has them, by ours and by those of providers."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one system at one k.

    Attributes:
        config: One of `epbench.memfail.dataset.load.CONFIGS`.
        system: The memory system, by the paper's name if it is one of the paper's.
        model: The model inside the system, likewise; empty if it has none.
        k: The number of memories that were asked for.
        right: The number of questions that passed every stage.
        n: The number of questions that did not fail.
        errors: The number of questions that failed at each stage, by `storage`, `summary`, `retrieval` and `reasoning`;
            empty where only success is known. Of persona questions only direct ones count here: a misleading one passes if its
            memory was lost in storage or retrieval.
        of_errors: The number of questions that the errors are counted in.
        tokens: The mean tokens of a retrieved memory, or None.
        question_tokens: The mean tokens that the reader took for a question, or None.
    """

    config: str
    system: str
    model: str
    k: int
    right: int
    n: int
    errors: Mapping[str, int] = field(default_factory=dict)
    of_errors: int = 0
    tokens: float | None = None
    question_tokens: float | None = None

    @property
    def spent(self) -> float | None:
        """Tokens of a memory; where only those of a question are known, these, which grow with it at one k."""
        return self.tokens if self.tokens is not None else self.question_tokens

    @property
    def who(self) -> tuple[str, str]:
        """System and internal model."""
        return self.system, self.model

    @property
    def name(self) -> str:
        """For people, such as `Mem0 (gpt-4.1-mini) on long_hop at k = 5`."""
        return f"{name_of(self.who)} on {self.config} at k = {self.k}"

    @property
    def rate(self) -> tuple[int, int]:
        """Successes and questions."""
        return self.right, self.n

    def lost(self, stage: str) -> tuple[int, int]:
        """The errors of a stage, which must be known, and of how many questions."""
        return self.errors[stage], self.of_errors


Place = tuple[str, str, str]
"""Config, system and internal model."""


def name_of(who: tuple[str, str]) -> str:
    """System and internal model for people."""
    return f"{who[0]} ({who[1]})" if who[1] else who[0]


def cells_of(runs: Runs) -> list[Cell]:
    """The cells of runs, without those of baselines.

    Args:
        runs: The scores by label, as `side_by_side` collects them: with `system_model` where run.json has it.
    """
    return [
        _cell(run, int(k), scores)
        for run in runs.values()
        if not is_baseline(run)
        for k, scores in run["by_k"].items()
        if scores.get("success_rate") is not None
    ]


def _cell(run: Scores, k: int, scores: Scores) -> Cell:
    with_errors = scores.get("direct", scores)
    counts = {error.removesuffix("_error"): count_of(with_errors, error) for error in ERRORS}
    known = {stage: count for stage, count in counts.items() if count is not None}
    system, model = run.get("system") or "", str(run.get("system_model") or "").rpartition(":")[2]
    return Cell(
        config=run["config"],
        system=_SYSTEMS.get(system, system),
        model=_MODELS.get(model, model),
        k=k,
        right=count_of(scores, "success_rate") or 0,
        n=judged(scores),
        errors=known if len(known) == len(counts) else {},
        of_errors=judged(with_errors),
        tokens=scores.get("tokens_per_memory"),
        question_tokens=scores.get("tokens_per_question"),
    )


def by_place(cells: Iterable[Cell]) -> dict[Place, list[Cell]]:
    """The cells of each config, system and internal model, by ascending k."""
    found: dict[Place, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.config, cell.who, cell.k)):
        found.setdefault((cell.config, *cell.who), []).append(cell)
    return found


def with_errors(cells: Iterable[Cell], *configs: str) -> list[Cell]:
    """For each system and model one cell that has errors by stage: at k = 5, or else at the smallest k.

    Args:
        cells: All cells.
        configs: Only of these; of all if empty.
    """
    known = [cell for cell in cells if cell.errors and (not configs or cell.config in configs)]
    return [min(group, key=lambda cell: (cell.k != DEFAULT_K, cell.k)) for group in by_place(known).values()]


def deepest(cells: Iterable[Cell], *configs: str) -> list[list[Cell]]:
    """For each config and internal model the cells of all systems at the largest k that all of them have.

    Where they have no k in common, each system is left with nothing to be compared with.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if not configs or cell.config in configs:
            groups.setdefault((cell.config, cell.model), []).append(cell)
    return [_at_common_k(group) for group in groups.values()]


def _at_common_k(group: Sequence[Cell]) -> list[Cell]:
    ks = [{cell.k for cell in group if cell.system == system} for system in {cell.system for cell in group}]
    common = set.intersection(*ks)
    return [cell for cell in group if cell.k == max(common)] if common else []
