"""What claims compare: rows under the paper's names as cells, and from cells shares and differences of counts.

Of each measure one case is a share of questions, or a share from which another one is subtracted; `claims.toml` names the
measure of each claim, and says of which configs, systems or stages it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from operator import itemgetter

from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.rows import Row
from epbench.memfail.scores.figures import MODELS, USUAL_K
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import count_of, is_baseline, judged
from epbench.reports.plots import grouped

Count = tuple[int, int]
"""A number of questions, and of how many."""
Measure = tuple[str, Count] | tuple[str, Count, Count]
"""What is measured, for people: a share of questions, or a share from which another one is subtracted."""
Cells = Sequence[Row]
"""What `comparable` returns."""

EASY, HARD, COEXISTING, PERSONA, LONG_HOP = CONFIGS
WEAKEST, *STRONGER = MODELS

# Mem0 2 only ever adds memories; what the paper says of Mem0's updates is about version 1.
_SYSTEMS = {"mem0-1": "Mem0", "a-mem": "A-MEM", "simplemem": "SimpleMem", "structmem": "StructMem"}
_MODELS = {"claude-haiku-4-5": "haiku-4.5", "gemini-3.1-pro-preview": "gemini-3.1"}
"""Names of systems and internal models as the paper has them, by ours and by those of providers."""


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
    return {
        **{name: row[name] for name in ("config", "k")},
        "system": system,
        "model": model,
        "who": who,
        "name": f"{who} on {row['config']} at k = {row['k']}",
        "passed": (row["n_right"], row["n"]),
        "lost": {} if None in (count for count, _ in lost.values()) else lost,
        "tokens": row["tokens_per_question"] if row["tokens_per_memory"] is None else row["tokens_per_memory"],
    }


def by_place(cells: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """The cells of each config, system and internal model, by ascending k."""
    place = ("config", "system", "model")
    return grouped(sorted(cells, key=itemgetter(*place, "k")), *place)


def with_errors(cells: Iterable[Row], *configs: str, only: str = "", but: str = "") -> list[Row]:
    """For each system and model one cell that has errors by stage: at k = 5, or else at the smallest k.

    If they are given, only these configs, only this system, and all but this one.
    """
    known = [cell for cell in cells if cell["lost"] and (not configs or cell["config"] in configs)]
    found = [min(of, key=lambda cell: (cell["k"] != USUAL_K, cell["k"])) for of in by_place(known).values()]
    return [cell for cell in found if cell["system"] != but and only in ("", cell["system"])]


def duels(cells: Iterable[Row], *configs: str) -> Iterator[tuple[Row, Row]]:
    """Each cell with that of each other system on the same config, one of these or any, with the same model.

    They stand at the largest k that all systems have; where they have none in common, nothing is compared.
    """
    wanted = [cell for cell in cells if not configs or cell["config"] in configs]
    for group in grouped(wanted, "config", "model").values():
        common = set.intersection(*({cell["k"] for cell in own} for own in grouped(group, "system").values()))
        at_k = [cell for cell in group if cell["k"] == max(common, default=None)]
        yield from ((one, other) for one, other in permutations(at_k, 2) if one["system"] != other["system"])


def versus(cells: Cells, system: str, configs: Sequence[str]) -> list[Measure]:
    """The success of one system minus that of each other system."""
    own = ((one, other) for one, other in duels(cells, *configs) if one["system"] == system)
    return [(f"{one['name']}, minus {other['system']}", one["passed"], other["passed"]) for one, other in own]


def gains(cells: Cells, configs: Sequence[str] = CONFIGS, bound_by: str = "") -> list[Measure]:
    """The success of each system at its largest k minus that at its smallest.

    With `bound_by` only where most questions are lost at this stage, at the k at which errors are compared.
    """
    places = by_place(cell for cell in cells if cell["config"] in configs)
    bound = by_place(cell for cell in with_errors(cells) if _is_most(cell, bound_by)) if bound_by else places
    ends = [(own[0], own[-1]) for place, own in places.items() if place in bound and own[-1]["k"] > own[0]["k"]]
    return [
        (f"{few['who']} on {few['config']}, k = {many['k']} minus k = {few['k']}", many["passed"], few["passed"])
        for few, many in ends
    ]


def _is_most(cell: Row, stage: str) -> bool:
    most: int = max(count for count, _ in cell["lost"].values())
    return most > 0 and cell["lost"][stage][0] == most


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


def share_of_errors(cells: Cells, stage: str, config: str, only: str = "", but: str = "") -> list[Measure]:
    """The share of this stage among the errors of the memory system itself, that is without reasoning."""
    found: list[Measure] = []
    for cell in with_errors(cells, config, only=only, but=but):
        n = sum(count for name, (count, _) in cell["lost"].items() if name != "reasoning")
        found.append((f"{stage} among the errors of {cell['name']}", (cell["lost"][stage][0], n)))
    return found


def share_of_questions(cells: Cells, stage: str, but: str = "") -> list[Measure]:
    """The share of this stage among all questions."""
    return [(f"{stage} errors of {cell['name']}", cell["lost"][stage]) for cell in with_errors(cells, but=but)]


def mem0_on_long_texts(cells: Cells) -> list[Measure]:
    """The storage errors of Mem0 among personas minus those among preferences."""
    found = with_errors(cells, PERSONA, COEXISTING, only="Mem0")
    name = f"storage errors of {{}}, {PERSONA} minus {COEXISTING}"
    return [
        (name.format(long["who"]), long["lost"]["storage"], short["lost"]["storage"])
        for long, short in permutations(found, 2)
        if long["config"] == PERSONA != short["config"] and long["model"] == short["model"]
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
    name = "{}, minus {}, which takes {:,.0f} tokens and not {:,.0f}"
    return [
        (name.format(one["name"], other["system"], other["tokens"], one["tokens"]), one["passed"], other["passed"])
        for one, other in duels(cell for cell in cells if cell["tokens"] is not None)
        if one["system"] == "A-MEM" and one["tokens"] > other["tokens"]
    ]


MEASURES: Mapping[str, Callable[..., list[Measure]]] = {
    measure.__name__: measure
    for measure in (
        *(versus, gains, from_stronger_models, share_of_errors, share_of_questions),
        *(mem0_on_long_texts, a_mem_on_stored, spending),
    )
}
"""What `claims.toml` may name."""
