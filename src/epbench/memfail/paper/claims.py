"""The claims of the paper, in our words: each is a function from the cells of runs to evidence.

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
    Cell,
    Count,
    Evidence,
    Measure,
    Side,
    above,
    below,
    by_place,
    decide,
    deepest,
    little_gain,
    name_of,
    weigh,
    with_errors,
)


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
    test: Callable[[Cells], Evidence]
    needs: str

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        evidence = self.test(cells)
        return evidence if evidence.cases else Evidence("not decided", evidence.rule, missing=self.needs)


EASY, HARD, COEXISTING, PERSONA, LONG_HOP = CONFIGS
WEAKEST = "gpt-4.1-mini"
"""The weakest of the paper's internal models, that of its Figure 1."""
STRONGER = ("haiku-4.5", "gpt-5.4-mini", "gemini-3.1")

Cells = Sequence[Cell]


def nobody_dominates(cells: Cells) -> Evidence:
    """Each system is surely beaten by some other on some config; with its own model, at the largest common k."""
    duels: dict[tuple[str, str], list[Measure]] = {}
    for group in deepest(cells):
        for one, other in _pairs(group):
            name = f"{name_of(one.who)} against {other.system} on {one.config} at k = {one.k}"
            duels.setdefault(one.who, []).append(Measure(name, one.rate, other.rate))
    cases = []
    for duels_of_one in duels.values():
        found = weigh(duels_of_one, below(0), "all").cases
        beaten = [case for case in found if case.side == "for"]
        worst = min(found, key=lambda case: case.high)
        never = all(case.side == "against" for case in found)
        side: Side = "for" if beaten else "against" if never else "neither"
        cases.append(replace(worst, side=side))
    return decide(cases, "all")


def _pairs(cells: Cells) -> Iterator[tuple[Cell, Cell]]:
    """Each cell with each cell of another system."""
    return ((one, other) for one, other in permutations(cells, 2) if one.system != other.system)


def versus(cells: Cells, system: str, *configs: str) -> list[Measure]:
    """The success of one system minus that of each other system with the same model, at the largest common k."""
    return [
        Measure(f"{one.name}, minus {other.system}", one.rate, other.rate)
        for group in deepest(cells, *configs)
        for one, other in _pairs(group)
        if one.system == system
    ]


def gains(cells: Iterable[Cell]) -> list[Measure]:
    """The success of each system at its largest k minus that at its smallest."""
    return [
        Measure(
            f"{name_of(own[0].who)} on {own[0].config}, k = {own[-1].k} minus k = {own[0].k}", own[-1].rate, own[0].rate
        )
        for own in by_place(cells).values()
        if own[-1].k > own[0].k
    ]


def bound_by(cells: Cells, stage: str) -> list[Cell]:
    """The cells of the systems that lose most questions at this stage, at the k at which errors are compared."""
    places = {
        (cell.config, *cell.who) for cell in with_errors(cells) if cell.errors[stage] == max(cell.errors.values()) > 0
    }
    return [cell for cell in cells if (cell.config, *cell.who) in places]


def from_stronger_models(cells: Cells) -> list[Measure]:
    """The success with each stronger internal model minus that with the weakest, at the largest k that both have."""
    found = []
    places = by_place(cells)
    for (config, system, model), strong in places.items():
        weak = {cell.k: cell for cell in places.get((config, system, WEAKEST), [])}
        common = [cell for cell in strong if cell.k in weak]
        if model in STRONGER and common:
            name = f"{system} on {config} at k = {common[-1].k}, {model} minus {WEAKEST}"
            found.append(Measure(name, common[-1].rate, weak[common[-1].k].rate))
    return found


def share_of_errors(cells: Iterable[Cell], stage: str) -> list[Measure]:
    """The share of this stage among the errors of the memory system itself, that is without reasoning."""
    found = []
    for cell in cells:
        errors = {name: count for name, count in cell.errors.items() if name != "reasoning"}
        if sum(errors.values()):
            found.append(Measure(f"{stage} among the errors of {cell.name}", (errors[stage], sum(errors.values()))))
    return found


def share_of_questions(cells: Iterable[Cell], stage: str) -> list[Measure]:
    return [Measure(f"{stage} errors of {cell.name}", cell.lost(stage)) for cell in cells]


def mem0_loses_long_texts(cells: Cells) -> Evidence:
    found = {
        (cell.config, cell.model): cell for cell in with_errors(cells, PERSONA, COEXISTING) if cell.system == "Mem0"
    }
    measures = []
    for (config, model), long in found.items():
        short = found.get((COEXISTING, model))
        if config == PERSONA and short:
            name = f"storage errors of {name_of(long.who)}, {PERSONA} minus {COEXISTING}"
            measures.append(Measure(name, long.lost("storage"), short.lost("storage")))
    return weigh(measures, above(0), "all")


def _lost_of_stored(cell: Cell, stage: str) -> Count:
    """The errors of a later stage among the questions that lost nothing in storage."""
    return cell.errors[stage], cell.of_errors - cell.errors["storage"]


def a_mem_summarises_best(cells: Cells) -> Evidence:
    measures = []
    for one, other in _pairs(with_errors(cells, HARD)):
        if one.system == "A-MEM" and one.model == other.model:
            name = f"summary errors in what was stored, {one.name} minus {other.system}"
            measures.append(Measure(name, *(_lost_of_stored(cell, "summary") for cell in (one, other))))
    return weigh(measures, below(0), "most")


def spends_without_gain(cells: Cells) -> Evidence:
    """Where A-MEM takes more tokens than another system, its success is not much higher."""
    measures = []
    for group in deepest(cell for cell in cells if cell.spent is not None):
        for one, other in _pairs(group):
            if one.system == "A-MEM" and one.spent is not None and other.spent is not None and one.spent > other.spent:
                name = (
                    f"{one.name}, minus {other.system}, which takes {other.spent:,.0f} tokens and not {one.spent:,.0f}"
                )
                measures.append(Measure(name, one.rate, other.rate))
    return weigh(measures, little_gain, "all")


def follows_tokens(cells: Cells, config: str, rises: bool) -> Evidence:
    """At each k, whether success and tokens go together over all systems and models (Pearson's r)."""
    from epbench.statistics.correlation import pearson

    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        if cell.config == config:
            groups.setdefault((cell.config, cell.k), []).append(cell)
    cases = []
    for (_, k), group in sorted(groups.items(), key=lambda item: item[0][1]):
        pairs = [(cell.spent, cell.right / cell.n) for cell in group if cell.n and cell.spent is not None]
        found = pearson([tokens for tokens, _ in pairs], [success for _, success in pairs])
        if found is not None and found.n > 3:
            side = (above if rises else below)(0)(found.r, *found.interval)
            name = f"r of success and tokens on {config} at k = {k}, {found.n} systems and models"
            cases.append(Case(name, found.r, *found.interval, side))
    return decide(cases, "most")


def of_systems(cells: Iterable[Cell], *names: str) -> list[Cell]:
    return [cell for cell in cells if cell.system in names]


def without(cells: Iterable[Cell], *names: str) -> list[Cell]:
    return [cell for cell in cells if cell.system not in names]


_TWO_K = "runs of one system at two k"
_ERRORS = "runs with errors by stage"
_MODELS = f"runs of one system with {WEAKEST} and with one of {', '.join(STRONGER)}"

CLAIMS: Sequence[Claim] = (
    Claim(
        "no-system-dominates", "1", "Every system is beaten by another one on some task.", nobody_dominates,
        "runs of two systems with one internal model",
    ),
    Claim(
        "mem0-best-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts Mem0 passes more questions than the other systems.",
        lambda cells: weigh(versus(cells, "Mem0", COEXISTING), above(0), "most"),
        f"runs of Mem0 (version 1) and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-collapses-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts StructMem passes fewer than every other system.",
        lambda cells: weigh(versus(cells, "StructMem", COEXISTING), below(0), "all"),
        f"runs of StructMem and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-leads-on-causal-tasks", "1, 6 (Q4)",
        "On Long-Hop and Conditional-Facts the graph of StructMem passes more than the other systems.",
        lambda cells: weigh(versus(cells, "StructMem", LONG_HOP, EASY, HARD), above(0), "most"),
        f"runs of StructMem and of another system on {LONG_HOP}, {EASY} or {HARD}",
    ),
    Claim(
        "coexisting-grows-with-k", "6 (Q1)", "On Coexisting-Facts more memories raise success.",
        lambda cells: weigh(gains(c for c in cells if c.config == COEXISTING), above(0), "most"),
        f"{_TWO_K} on {COEXISTING}",
    ),
    Claim(
        "elsewhere-k-gains-little", "1, 6 (Q1)", f"On all other tasks more memories gain little (at most {MARGIN:g}).",
        lambda cells: weigh(gains(c for c in cells if c.config != COEXISTING), little_gain, "all"),
        f"{_TWO_K} on other configs than {COEXISTING}",
    ),
    Claim(
        "k-helps-where-retrieval-fails", "6 (Q1, takeaway)",
        "Where retrieval is the commonest error, more memories raise success.",
        lambda cells: weigh(gains(bound_by(cells, "retrieval")), above(0), "most"),
        f"{_TWO_K}, with retrieval as the commonest error",
    ),
    Claim(
        "k-gains-little-where-summaries-fail", "6 (Q1, takeaway)",
        f"Where summary is the commonest error, more memories gain little (at most {MARGIN:g}).",
        lambda cells: weigh(gains(bound_by(cells, "summary")), little_gain, "all"),
        f"{_TWO_K}, with summary as the commonest error",
    ),
    Claim(
        "coexisting-induces-retrieval-errors", "6 (Q1)", "On Coexisting-Facts most errors of most systems are of retrieval.",
        lambda cells: weigh(share_of_errors(with_errors(cells, COEXISTING), "retrieval"), above(0.5), "most"),
        f"{_ERRORS} on {COEXISTING}",
    ),
    Claim(
        "hard-induces-summary-errors", "6 (Q1)", "On Conditional-Facts (Hard) most errors of all systems are of summary.",
        lambda cells: weigh(share_of_errors(with_errors(cells, HARD), "summary"), above(0.5), "all"),
        f"{_ERRORS} on {HARD}",
    ),
    Claim(
        "persona-induces-summary-errors", "6 (Q1)",
        "On Persona-Retrieval most errors of all systems but Mem0 are of summary (direct questions).",
        lambda cells: weigh(share_of_errors(without(with_errors(cells, PERSONA), "Mem0"), "summary"), above(0.5), "all"),
        f"{_ERRORS} of other systems than Mem0 on {PERSONA}",
    ),
    Claim(
        "mem0-loses-personas-in-storage", "6 (Q1, Q4)",
        "On Persona-Retrieval most errors of Mem0 are of storage (direct questions).",
        lambda cells: weigh(share_of_errors(of_systems(with_errors(cells, PERSONA), "Mem0"), "storage"), above(0.5), "all"),
        f"{_ERRORS} of Mem0 (version 1) on {PERSONA}",
    ),
    Claim(
        "mem0-keeps-short-texts", "6 (Q4)", "Mem0 loses more long texts (personas) than short ones (preferences) in storage.",
        mem0_loses_long_texts, f"{_ERRORS} of Mem0 (version 1) on {PERSONA} and {COEXISTING} with one internal model",
    ),
    Claim(
        "long-hop-induces-retrieval-errors", "6 (Q1)", "On Long-Hop most errors of most systems are of retrieval.",
        lambda cells: weigh(share_of_errors(with_errors(cells, LONG_HOP), "retrieval"), above(0.5), "most"),
        f"{_ERRORS} on {LONG_HOP}",
    ),
    Claim(
        "only-mem0-fails-in-storage", "6 (Q1)", f"All systems but Mem0 lose few questions in storage (at most {MARGIN:g}).",
        lambda cells: weigh(share_of_questions(without(with_errors(cells), "Mem0"), "storage"), below(MARGIN), "all"),
        f"{_ERRORS} of other systems than Mem0",
    ),
    Claim(
        "reasoning-errors-are-infrequent", "5.1", f"Errors of reasoning are infrequent everywhere (at most {MARGIN:g}).",
        lambda cells: weigh(share_of_questions(with_errors(cells), "reasoning"), below(MARGIN), "all"),
        _ERRORS,
    ),
    Claim(
        "stronger-models-gain-little", "1, 6 (Q2, takeaway)",
        f"A stronger model inside the system gains little (at most {MARGIN:g}).",
        lambda cells: weigh(from_stronger_models(cells), little_gain, "all"), _MODELS,
    ),
    Claim(
        "stronger-models-can-harm", "1, 6 (Q2)", "A stronger model inside the system lowers success in several cases.",
        lambda cells: weigh(from_stronger_models(cells), below(0), "some"), _MODELS,
    ),
    Claim(
        "hard-grows-with-tokens", "1, 6 (Q3)", "On Conditional-Facts (Hard) systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, HARD, rises=True), f"tokens of at least four systems or models on {HARD}",
    ),
    Claim(
        "persona-grows-with-tokens", "1, 6 (Q3)", "On Persona-Retrieval systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, PERSONA, rises=True), f"tokens of at least four systems or models on {PERSONA}",
    ),
    Claim(
        "coexisting-falls-with-tokens", "1, 6 (Q3)", "On Coexisting-Facts systems with longer memories pass fewer.",
        lambda cells: follows_tokens(cells, COEXISTING, rises=False),
        f"tokens of at least four systems or models on {COEXISTING}",
    ),
    Claim(
        "a-mem-spends-without-gain", "6 (Q4, Q5)",
        f"Where A-MEM takes more tokens than another system, it gains little (at most {MARGIN:g}).",
        spends_without_gain, "runs of A-MEM and of another system with tokens",
    ),
    Claim(
        "a-mem-summarises-best", "6 (Q4)", "On Conditional-Facts (Hard) A-MEM has fewer errors of summary than other systems.",
        a_mem_summarises_best, f"{_ERRORS} of A-MEM and of another system on {HARD}",
    ),
)  # fmt: skip
