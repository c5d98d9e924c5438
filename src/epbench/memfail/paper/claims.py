"""The claims of the paper, which `data/claims.toml` declares: each is a comparison of the rows of runs, which gives evidence.

What a claim leaves open is decided here and said in its text: what is little is `evidence.MARGIN`, and the weakest internal
model is the one of Figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

from epbench.files.packaged import packaged
from epbench.files.text import parse_toml
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.evidence import (
    MARGIN,
    Case,
    Count,
    Evidence,
    Holds,
    Measure,
    Rule,
    above,
    below,
    by_place,
    decide,
    deepest,
    little_gain,
    weigh,
    with_errors,
)
from epbench.memfail.paper.rows import Row
from epbench.reports.plots import grouped
from epbench.statistics.correlation import pearson

EASY, HARD, COEXISTING, PERSONA, LONG_HOP = CONFIGS
WEAKEST = "gpt-4.1-mini"
"""The weakest of the paper's internal models, that of its Figure 1."""
STRONGER = ("haiku-4.5", "gpt-5.4-mini", "gemini-3.1")
Cells = Sequence[Row]
"""What `comparable` returns."""
Test = Callable[[Cells, Rule], Evidence]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        name: Short and unique, for files.
        section: Where the paper makes it.
        text: What it says.
        rule: Whether it is about all cases, most of them, or some.
        needs: The runs without which nothing is decided.
        test: What decides it.
    """

    name: str
    section: str
    text: str
    rule: Rule
    needs: str
    test: Test

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        evidence = self.test(cells, self.rule)
        return evidence if evidence.cases else replace(evidence, missing=self.needs)


def _duels(cells: Iterable[Row], *configs: str) -> Iterator[tuple[Row, Row]]:
    """Each cell with that of each other system with the same model, at the largest common k."""
    pairs = (pair for group in deepest(cells, *configs) for pair in permutations(group, 2))
    return ((one, other) for one, other in pairs if one["system"] != other["system"])


def nobody_dominates(cells: Cells, rule: Rule) -> Evidence:
    """Each system is surely beaten by some other on some config; with its own model, at the largest common k."""
    duels: dict[str, list[Measure]] = {}
    for one, other in _duels(cells):
        name = f"{one['who']} against {other['system']} on {one['config']} at k = {one['k']}"
        duels.setdefault(one["who"], []).append((name, one["passed"], other["passed"]))
    cases = []
    for duels_of_one in duels.values():
        found = weigh(duels_of_one, below(0), rule).cases
        beaten, never = any(case.side == "for" for case in found), all(case.side == "against" for case in found)
        worst = min(found, key=lambda case: case.high)
        cases.append(replace(worst, side="for" if beaten else "against" if never else "neither"))
    return decide(cases, rule)


def versus(cells: Cells, system: str, *configs: str) -> list[Measure]:
    """The success of one system minus that of each other system."""
    duels = ((one, other) for one, other in _duels(cells, *configs) if one["system"] == system)
    return [(f"{one['name']}, minus {other['system']}", one["passed"], other["passed"]) for one, other in duels]


def gains(cells: Iterable[Row]) -> list[Measure]:
    """The success of each system at its largest k minus that at its smallest."""
    ends = [(own[0], own[-1]) for own in by_place(cells).values() if own[-1]["k"] > own[0]["k"]]
    return [
        (f"{few['who']} on {few['config']}, k = {many['k']} minus k = {few['k']}", many["passed"], few["passed"])
        for few, many in ends
    ]


def bound_by(cells: Cells, stage: str) -> list[Row]:
    """The cells of the systems that lose most questions at this stage, at the k at which errors are compared."""
    bound = (
        cell
        for cell in with_errors(cells)
        if 0 < cell["lost"][stage][0] == max(count for count, _ in cell["lost"].values())
    )
    places = by_place(bound)
    return [cell for cell in cells if (cell["config"], cell["system"], cell["model"]) in places]


def from_stronger_models(cells: Cells) -> list[Measure]:
    """The success with each stronger internal model minus that with the weakest, at the largest k that both have."""
    found: list[Measure] = []
    places = by_place(cells)
    for (config, system, model), strong in places.items():
        weak = {cell["k"]: cell for cell in places.get((config, system, WEAKEST), [])}
        common = [cell for cell in strong if cell["k"] in weak]
        if model in STRONGER and common:
            k = common[-1]["k"]
            name = f"{system} on {config} at k = {k}, {model} minus {WEAKEST}"
            found.append((name, common[-1]["passed"], weak[k]["passed"]))
    return found


def share_of_errors(cells: Iterable[Row], stage: str) -> list[Measure]:
    """The share of this stage among the errors of the memory system itself, that is without reasoning."""
    found: list[Measure] = []
    for cell in cells:
        errors = {name: count for name, (count, _) in cell["lost"].items() if name != "reasoning"}
        found.append((f"{stage} among the errors of {cell['name']}", (errors[stage], sum(errors.values()))))
    return found


def share_of_questions(cells: Iterable[Row], stage: str) -> list[Measure]:
    """The share of this stage among all questions."""
    return [(f"{stage} errors of {cell['name']}", cell["lost"][stage]) for cell in cells]


def mem0_on_long_texts(cells: Cells) -> list[Measure]:
    """The storage errors of Mem0 among personas minus those among preferences."""
    found = {(cell["config"], cell["model"]): cell for cell in with_errors(cells, PERSONA, COEXISTING, only="Mem0")}
    return [
        (
            f"storage errors of {of['who']}, {PERSONA} minus {COEXISTING}",
            of["lost"]["storage"],
            short["lost"]["storage"],
        )
        for (config, model), of in found.items()
        if config == PERSONA and (short := found.get((COEXISTING, model)))
    ]


def a_mem_on_stored(cells: Cells) -> list[Measure]:
    """The summary errors of A-MEM among the questions that lost nothing in storage, minus those of other systems."""

    def of_stored(cell: Row) -> Count:
        (summary, _), (storage, n) = cell["lost"]["summary"], cell["lost"]["storage"]
        return summary, n - storage

    return [
        (f"summary errors in what was stored, {one['name']} minus {other['system']}", of_stored(one), of_stored(other))
        for one, other in permutations(with_errors(cells, HARD), 2)
        if one["system"] == "A-MEM" != other["system"] and one["model"] == other["model"]
    ]


def spending(cells: Cells) -> list[Measure]:
    """The success of A-MEM minus that of each system that takes fewer tokens."""
    found: list[Measure] = []
    for one, other in _duels(cell for cell in cells if cell["tokens"] is not None):
        if one["system"] == "A-MEM" and one["tokens"] > other["tokens"]:
            takes = f"which takes {other['tokens']:,.0f} tokens and not {one['tokens']:,.0f}"
            found.append((f"{one['name']}, minus {other['system']}, {takes}", one["passed"], other["passed"]))
    return found


def follows_tokens(cells: Cells, config: str, holds: Holds, rule: Rule) -> Evidence:
    """At each k, whether success and tokens go together over all systems and models (Pearson's r)."""
    cases = []
    for k, group in sorted(grouped([cell for cell in cells if cell["config"] == config], "k").items()):
        known = [cell for cell in group if cell["passed"][1] and cell["tokens"] is not None]
        success = [right / n for right, n in (cell["passed"] for cell in known)]
        found = pearson([cell["tokens"] for cell in known], success)
        if found is not None and found.n > 3:
            name = f"r of success and tokens on {config} at k = {k}, {found.n} systems and models"
            cases.append(Case(name, found.r, *found.interval, holds(found.r, *found.interval)))
    return decide(cases, rule)


def _weighed(holds: Holds, measures: Callable[[Cells], Iterable[Measure]]) -> Test:
    return lambda cells, rule: weigh(measures(cells), holds, rule)


def _most_errors(stage: str, config: str, only: str = "", but: str = "") -> Test:
    return _weighed(above(0.5), lambda cells: share_of_errors(with_errors(cells, config, only=only, but=but), stage))


_TESTS: Mapping[str, Test] = {
    "no-system-dominates": nobody_dominates,
    "mem0-best-on-coexisting": _weighed(above(0), lambda cells: versus(cells, "Mem0", COEXISTING)),
    "structmem-collapses-on-coexisting": _weighed(below(0), lambda cells: versus(cells, "StructMem", COEXISTING)),
    "structmem-leads-on-causal-tasks": _weighed(
        above(0), lambda cells: versus(cells, "StructMem", LONG_HOP, EASY, HARD)
    ),
    "coexisting-grows-with-k": _weighed(above(0), lambda cells: gains(c for c in cells if c["config"] == COEXISTING)),
    "elsewhere-k-gains-little": _weighed(
        little_gain, lambda cells: gains(c for c in cells if c["config"] != COEXISTING)
    ),
    "k-helps-where-retrieval-fails": _weighed(above(0), lambda cells: gains(bound_by(cells, "retrieval"))),
    "k-gains-little-where-summaries-fail": _weighed(little_gain, lambda cells: gains(bound_by(cells, "summary"))),
    "coexisting-induces-retrieval-errors": _most_errors("retrieval", COEXISTING),
    "hard-induces-summary-errors": _most_errors("summary", HARD),
    "persona-induces-summary-errors": _most_errors("summary", PERSONA, but="Mem0"),
    "mem0-loses-personas-in-storage": _most_errors("storage", PERSONA, only="Mem0"),
    "mem0-keeps-short-texts": _weighed(above(0), mem0_on_long_texts),
    "long-hop-induces-retrieval-errors": _most_errors("retrieval", LONG_HOP),
    "only-mem0-fails-in-storage": _weighed(
        below(MARGIN), lambda cells: share_of_questions(with_errors(cells, but="Mem0"), "storage")
    ),
    "reasoning-errors-are-infrequent": _weighed(
        below(MARGIN), lambda cells: share_of_questions(with_errors(cells), "reasoning")
    ),
    "stronger-models-gain-little": _weighed(little_gain, from_stronger_models),
    "stronger-models-can-harm": _weighed(below(0), from_stronger_models),
    "hard-grows-with-tokens": lambda cells, rule: follows_tokens(cells, HARD, above(0), rule),
    "persona-grows-with-tokens": lambda cells, rule: follows_tokens(cells, PERSONA, above(0), rule),
    "coexisting-falls-with-tokens": lambda cells, rule: follows_tokens(cells, COEXISTING, below(0), rule),
    "a-mem-spends-without-gain": _weighed(little_gain, spending),
    "a-mem-summarises-best": _weighed(below(0), a_mem_on_stored),
}
"""What decides each claim, by its name."""


@cache
def claims() -> tuple[Claim, ...]:
    """The claims that `data/claims.toml` declares, in its order."""
    declared = parse_toml(packaged("epbench.memfail", "claims.toml").read_text("utf-8"))["claims"]
    texts = [claim["text"].format(margin=f"{MARGIN:g}") for claim in declared]
    return tuple(
        Claim(claim["name"], claim["section"], text, claim["rule"], claim["needs"], _TESTS[claim["name"]])
        for claim, text in zip(declared, texts, strict=True)
    )
