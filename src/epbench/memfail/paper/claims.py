"""The claims of the paper, in our words: each is a declared comparison of the rows of runs, which gives evidence.

Paper: Sections 1, 5.1 and 6 with its takeaways. What a claim leaves open is decided here and said in its text: what is little
is `evidence.MARGIN`, and the weakest internal model is the one of Figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

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
Test = Callable[[Cells], Evidence]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        name: Short and unique, for files.
        section: Where the paper makes it.
        text: What it says.
        test: What decides it.
        needs: The runs without which nothing is decided.
    """

    name: str
    section: str
    text: str
    test: Test
    needs: str

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        evidence = self.test(cells)
        return evidence if evidence.cases else replace(evidence, missing=self.needs)


def _duels(cells: Iterable[Row], *configs: str) -> Iterator[tuple[Row, Row]]:
    """Each cell with that of each other system with the same model, at the largest common k."""
    pairs = (pair for group in deepest(cells, *configs) for pair in permutations(group, 2))
    return ((one, other) for one, other in pairs if one["system"] != other["system"])


def nobody_dominates(cells: Cells) -> Evidence:
    """Each system is surely beaten by some other on some config; with its own model, at the largest common k."""
    duels: dict[str, list[Measure]] = {}
    for one, other in _duels(cells):
        name = f"{one['who']} against {other['system']} on {one['config']} at k = {one['k']}"
        duels.setdefault(one["who"], []).append((name, one["passed"], other["passed"]))
    cases = []
    for duels_of_one in duels.values():
        found = weigh(duels_of_one, below(0), "all").cases
        beaten, never = any(case.side == "for" for case in found), all(case.side == "against" for case in found)
        worst = min(found, key=lambda case: case.high)
        cases.append(replace(worst, side="for" if beaten else "against" if never else "neither"))
    return decide(cases, "all")


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


def follows_tokens(cells: Cells, config: str, holds: Holds) -> Evidence:
    """At each k, whether success and tokens go together over all systems and models (Pearson's r)."""
    cases = []
    for k, group in sorted(grouped([cell for cell in cells if cell["config"] == config], "k").items()):
        known = [cell for cell in group if cell["passed"][1] and cell["tokens"] is not None]
        success = [right / n for right, n in (cell["passed"] for cell in known)]
        found = pearson([cell["tokens"] for cell in known], success)
        if found is not None and found.n > 3:
            name = f"r of success and tokens on {config} at k = {k}, {found.n} systems and models"
            cases.append(Case(name, found.r, *found.interval, holds(found.r, *found.interval)))
    return decide(cases, "most")


def _weighed(measures: Callable[[Cells], Iterable[Measure]], holds: Holds, rule: Rule) -> Test:
    return lambda cells: weigh(measures(cells), holds, rule)


def _versus(system: str, configs: Sequence[str], holds: Holds, rule: Rule) -> Test:
    return lambda cells: weigh(versus(cells, system, *configs), holds, rule)


def _most_errors(stage: str, config: str, rule: Rule, only: str = "", but: str = "") -> Test:
    return lambda cells: weigh(share_of_errors(with_errors(cells, config, only=only, but=but), stage), above(0.5), rule)


_TWO_K = "runs of one system at two k"
_ERRORS = "runs with errors by stage"
_MODELS_OF = f"runs of one system with {WEAKEST} and with one of {', '.join(STRONGER)}"
_TOKENS = "tokens of at least four systems or models"

CLAIMS: Sequence[Claim] = (
    Claim(
        "no-system-dominates", "1", "Every system is beaten by another one on some task.", nobody_dominates,
        "runs of two systems with one internal model",
    ),
    Claim(
        "mem0-best-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts Mem0 passes more questions than the other systems.",
        _versus("Mem0", [COEXISTING], above(0), "most"), f"runs of Mem0 (version 1) and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-collapses-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts StructMem passes fewer than every other system.",
        _versus("StructMem", [COEXISTING], below(0), "all"), f"runs of StructMem and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-leads-on-causal-tasks", "1, 6 (Q4)",
        "On Long-Hop and Conditional-Facts the graph of StructMem passes more than the other systems.",
        _versus("StructMem", [LONG_HOP, EASY, HARD], above(0), "most"),
        f"runs of StructMem and of another system on {LONG_HOP}, {EASY} or {HARD}",
    ),
    Claim(
        "coexisting-grows-with-k", "6 (Q1)", "On Coexisting-Facts more memories raise success.",
        _weighed(lambda cells: gains(c for c in cells if c["config"] == COEXISTING), above(0), "most"),
        f"{_TWO_K} on {COEXISTING}",
    ),
    Claim(
        "elsewhere-k-gains-little", "1, 6 (Q1)", f"On all other tasks more memories gain little (at most {MARGIN:g}).",
        _weighed(lambda cells: gains(c for c in cells if c["config"] != COEXISTING), little_gain, "all"),
        f"{_TWO_K} on other configs than {COEXISTING}",
    ),
    Claim(
        "k-helps-where-retrieval-fails", "6 (Q1, takeaway)",
        "Where retrieval is the commonest error, more memories raise success.",
        _weighed(lambda cells: gains(bound_by(cells, "retrieval")), above(0), "most"),
        f"{_TWO_K}, with retrieval as the commonest error",
    ),
    Claim(
        "k-gains-little-where-summaries-fail", "6 (Q1, takeaway)",
        f"Where summary is the commonest error, more memories gain little (at most {MARGIN:g}).",
        _weighed(lambda cells: gains(bound_by(cells, "summary")), little_gain, "all"),
        f"{_TWO_K}, with summary as the commonest error",
    ),
    Claim(
        "coexisting-induces-retrieval-errors", "6 (Q1)", "On Coexisting-Facts most errors of most systems are of retrieval.",
        _most_errors("retrieval", COEXISTING, "most"), f"{_ERRORS} on {COEXISTING}",
    ),
    Claim(
        "hard-induces-summary-errors", "6 (Q1)", "On Conditional-Facts (Hard) most errors of all systems are of summary.",
        _most_errors("summary", HARD, "all"), f"{_ERRORS} on {HARD}",
    ),
    Claim(
        "persona-induces-summary-errors", "6 (Q1)",
        "On Persona-Retrieval most errors of all systems but Mem0 are of summary (direct questions).",
        _most_errors("summary", PERSONA, "all", but="Mem0"), f"{_ERRORS} of other systems than Mem0 on {PERSONA}",
    ),
    Claim(
        "mem0-loses-personas-in-storage", "6 (Q1, Q4)",
        "On Persona-Retrieval most errors of Mem0 are of storage (direct questions).",
        _most_errors("storage", PERSONA, "all", only="Mem0"), f"{_ERRORS} of Mem0 (version 1) on {PERSONA}",
    ),
    Claim(
        "mem0-keeps-short-texts", "6 (Q4)", "Mem0 loses more long texts (personas) than short ones (preferences) in storage.",
        _weighed(mem0_on_long_texts, above(0), "all"),
        f"{_ERRORS} of Mem0 (version 1) on {PERSONA} and {COEXISTING} with one internal model",
    ),
    Claim(
        "long-hop-induces-retrieval-errors", "6 (Q1)", "On Long-Hop most errors of most systems are of retrieval.",
        _most_errors("retrieval", LONG_HOP, "most"), f"{_ERRORS} on {LONG_HOP}",
    ),
    Claim(
        "only-mem0-fails-in-storage", "6 (Q1)", f"All systems but Mem0 lose few questions in storage (at most {MARGIN:g}).",
        _weighed(lambda cells: share_of_questions(with_errors(cells, but="Mem0"), "storage"), below(MARGIN), "all"),
        f"{_ERRORS} of other systems than Mem0",
    ),
    Claim(
        "reasoning-errors-are-infrequent", "5.1", f"Errors of reasoning are infrequent everywhere (at most {MARGIN:g}).",
        _weighed(lambda cells: share_of_questions(with_errors(cells), "reasoning"), below(MARGIN), "all"), _ERRORS,
    ),
    Claim(
        "stronger-models-gain-little", "1, 6 (Q2, takeaway)",
        f"A stronger model inside the system gains little (at most {MARGIN:g}).",
        _weighed(from_stronger_models, little_gain, "all"), _MODELS_OF,
    ),
    Claim(
        "stronger-models-can-harm", "1, 6 (Q2)", "A stronger model inside the system lowers success in several cases.",
        _weighed(from_stronger_models, below(0), "some"), _MODELS_OF,
    ),
    Claim(
        "hard-grows-with-tokens", "1, 6 (Q3)", "On Conditional-Facts (Hard) systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, HARD, above(0)), f"{_TOKENS} on {HARD}",
    ),
    Claim(
        "persona-grows-with-tokens", "1, 6 (Q3)", "On Persona-Retrieval systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, PERSONA, above(0)), f"{_TOKENS} on {PERSONA}",
    ),
    Claim(
        "coexisting-falls-with-tokens", "1, 6 (Q3)", "On Coexisting-Facts systems with longer memories pass fewer.",
        lambda cells: follows_tokens(cells, COEXISTING, below(0)), f"{_TOKENS} on {COEXISTING}",
    ),
    Claim(
        "a-mem-spends-without-gain", "6 (Q4, Q5)",
        f"Where A-MEM takes more tokens than another system, it gains little (at most {MARGIN:g}).",
        _weighed(spending, little_gain, "all"), "runs of A-MEM and of another system with tokens",
    ),
    Claim(
        "a-mem-summarises-best", "6 (Q4)", "On Conditional-Facts (Hard) A-MEM has fewer errors of summary than other systems.",
        _weighed(a_mem_on_stored, below(0), "most"), f"{_ERRORS} of A-MEM and of another system on {HARD}",
    ),
)  # fmt: skip
