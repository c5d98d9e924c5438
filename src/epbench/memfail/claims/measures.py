"""From cells to what claims are about: gains, differences between systems, and shares of errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from epbench.memfail.claims.cells import Cell, by_place, deepest, name_of, with_errors
from epbench.memfail.claims.evidence import (
    Case,
    Count,
    Evidence,
    Measure,
    Side,
    above,
    below,
    decide,
    little_gain,
    weigh,
)
from epbench.memfail.dataset.types import CONFIGS

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
