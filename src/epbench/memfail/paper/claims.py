"""The claims of the paper, which `data/claims.toml` declares: what is measured, what it must be, and what runs say about it.

`_HOW` says how claims about all cases and about most are decided. As many cases would turn one up by chance, intervals for all
of them are corrected (Bonferroni). A claim that something happens takes two cases, corrected; the rest is not decided.

The intervals of a difference take the two groups for independent (Newcombe's), also where both have answered the same
questions, since reported numbers do not say which questions were right; that makes them rather too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import permutations
from operator import itemgetter
from typing import Any, Literal

from epbench.files.packaged import packaged
from epbench.files.text import parse_toml
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.paper.inputs import Inputs, Row, cells_of
from epbench.memfail.scores.report import MODELS, USUAL_K
from epbench.memfail.scores.tables import count_of, is_baseline, judged
from epbench.reports.plots import grouped, grouped_by
from epbench.reports.tables import Runs, Table
from epbench.statistics.intervals import wilson
from epbench.statistics.paired import pearson

Side = Literal["for", "against", "neither"]
Rule = Literal["all", "most", "some"]
Holds = Callable[[float, float, float], Side]  # from a value, and the ends of its interval, to what they say
Count = tuple[int, int]  # a number of questions, and of how many
Measure = tuple[str, Count] | tuple[str, Count, Count]  # its name, and a share, or one from which another is subtracted
Measures = Iterator[Measure]
Cells = Sequence[Row]  # as `comparable` returns them
MARGIN = 0.1
"""The largest gain, or share, that is called little, as no number in the paper says how little is meant."""
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

    decision: Literal["supported", "denied", "not decided"]
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
    measure: str  # what is measured: one of `_MEASURES` or `_TESTS`
    holds: str  # what it must be: `above` or `below` a number or the `margin`, or to `gain little`
    about: Mapping[str, Any] = field(default_factory=dict)  # of which configs, systems or stages it is measured

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        holds = holds_of(self.holds)
        if test := _TESTS.get(self.measure):
            evidence = decide([*test(cells, holds, **self.about)], self.rule)
        else:
            evidence = weigh(_MEASURES[self.measure](cells, **self.about), holds, self.rule)
        return evidence if evidence.cases else replace(evidence, missing=self.needs)


def claims() -> list[Claim]:
    """The claims that `data/claims.toml` declares, in its order."""
    declared = parse_toml(packaged("epbench.memfail", "claims.toml").read_text("utf-8"))["claims"]
    return [Claim(**claim | {"text": claim["text"].format(margin=f"{MARGIN:g}")}) for claim in declared]


def holds_of(text: str) -> Holds:
    """What a claim says of its measure: `above 0.5`, `below margin` or `gain little`."""
    kind, limit = text.split()
    at = MARGIN if limit in ("margin", "little") else float(limit)
    if kind == "above":
        return lambda value, low, high: "for" if low > at else "against" if high < at else "neither"
    if kind == "below":
        return lambda value, low, high: "for" if high < at else "against" if low > at else "neither"
    # A certain gain above the margin speaks against the claim.
    return lambda value, low, high: "for" if high <= at else "against" if low > 0 and value > at else "neither"


def weigh(measures: Iterable[Measure], holds: Holds, rule: Rule) -> Evidence:
    """Decide a claim from cases that were measured; without one nothing is decided, and one without questions is none."""
    known = [(name, counts) for name, *counts in measures if all(n for _, n in counts)]
    level = LEVEL if rule == "most" else 1 - (1 - LEVEL) / max(1, len(known))
    found = [(name, _with_interval(counts, level), counts) for name, counts in known]
    return decide([Case(name, *value, holds(*value), tuple(counts)) for name, value, counts in found], rule)


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
    half, all_against = len(cases) / 2, 0 < n_against == len(cases)
    is_denied = all_against if rule == "some" else n_against > (half if rule == "most" else 0)
    is_supported = n_for > (1 if rule == "some" else half)
    return Evidence("denied" if is_denied else "supported" if is_supported else "not decided", tuple(cases))


_, HARD, COEXISTING, PERSONA, _ = CONFIGS
WEAKEST, *STRONGER = MODELS

# Mem0 2 only ever adds memories; what the paper says of Mem0's updates is about version 1.
_NAMES = {"mem0-1": "Mem0", "a-mem": "A-MEM", "simplemem": "SimpleMem", "structmem": "StructMem"}
_NAMES |= {"claude-haiku-4-5": "haiku-4.5", "gemini-3.1-pro-preview": "gemini-3.1"}
"""Names of systems and internal models as the paper has them, by ours and by those of providers."""


def comparable(rows: Iterable[Row]) -> list[Row]:
    """The rows of memory systems of which a question was judged, for claims, as cells.

    `lost`, the counts of errors by stage, is empty where only success is known. Of persona questions those of direct ones alone
    count: a misleading one passes if its memory was lost in storage or retrieval. `tokens` are those of a memory, or where only
    those of a question are known, these, which grow with it at one k.
    """
    return [_cell(row) for row in rows if not is_baseline(row["run"]) and row["scores"].get("success_rate") is not None]


def _cell(row: Row) -> Row:
    part = row["scores"].get("direct", row["scores"])
    lost = {error.removesuffix("_error"): (count_of(part, error), judged(part)) for error in ERRORS}
    names = row["system"], (row["system_model"] or "").rpartition(":")[2]
    system, model = (_NAMES.get(name, name) for name in names)
    who = f"{system} ({model})" if model else system
    about = {"system": system, "model": model, "who": who, "name": f"{who} on {row['config']} at k = {row['k']}"}
    return row | {
        **about,
        "passed": (row["n_right"], row["n"]),
        "lost": {} if None in (count for count, _ in lost.values()) else lost,
        "tokens": row["tokens_per_question"] if row["tokens_per_memory"] is None else row["tokens_per_memory"],
    }


def by_place(cells: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """The cells of each config, system and internal model, by ascending k."""
    place = ("config", "system", "model")
    return grouped(sorted(cells, key=itemgetter(*place, "k")), *place)


def with_errors(cells: Iterable[Row], *configs: str, only: str = "", but: str = "") -> list[Row]:
    """For each system and model one cell that has errors by stage: at k = 5, or else at the smallest k."""
    known = [cell for cell in cells if cell["lost"] and (not configs or cell["config"] in configs)]
    found = [min(of, key=lambda cell: (cell["k"] != USUAL_K, cell["k"])) for of in by_place(known).values()]
    return [cell for cell in found if cell["system"] != but and only in ("", cell["system"])]


def duels(cells: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Each cell with that of each other system and the same model on a config, at the largest k that all systems have."""
    for group in grouped(cells, "config", "model").values():
        common = set.intersection(*({cell["k"] for cell in own} for own in grouped(group, "system").values()))
        at_k = [cell for cell in group if cell["k"] == max(common, default=None)]
        yield from ((one, other) for one, other in permutations(at_k, 2) if one["system"] != other["system"])


def versus(cells: Cells, system: str, configs: Sequence[str]) -> Measures:
    """The success of one system minus that of each other system."""
    for one, other in duels(cell for cell in cells if cell["config"] in configs):
        if one["system"] == system:
            yield f"{one['name']}, minus {other['system']}", one["passed"], other["passed"]


def gains(cells: Cells, configs: Sequence[str] = CONFIGS, bound_by: str = "") -> Measures:
    """The success of each system at its largest k minus that at its smallest.

    With `bound_by` only where most questions are lost at this stage, at the k at which errors are compared.
    """
    for own in by_place(cell for cell in cells if cell["config"] in configs).values():
        few, many, lost = own[0], own[-1], [cell["lost"] for cell in with_errors(own)]
        is_bound = not bound_by or any(0 < of[bound_by][0] == max(of.values())[0] for of in lost)
        if is_bound and many["k"] > few["k"]:
            name = f"{few['who']} on {few['config']}, k = {many['k']} minus k = {few['k']}"
            yield name, many["passed"], few["passed"]


def from_stronger_models(cells: Cells) -> Measures:
    """The success with each stronger internal model minus that with the weakest, at the largest k that both have."""
    places = by_place(cells)
    for (config, system, model), strong in places.items():
        weak = {cell["k"]: cell for cell in places.get((config, system, WEAKEST), [])}
        if model in STRONGER and (common := [cell for cell in strong if cell["k"] in weak]):
            name = f"{system} on {config} at k = {common[-1]['k']}, {model} minus {WEAKEST}"
            yield name, common[-1]["passed"], weak[common[-1]["k"]]["passed"]


def share_of_errors(cells: Cells, stage: str, config: str, only: str = "", but: str = "") -> Measures:
    """The share of this stage among the errors of the memory system itself, that is without reasoning."""
    for cell in with_errors(cells, config, only=only, but=but):
        n = sum(count for name, (count, _) in cell["lost"].items() if name != "reasoning")
        yield f"{stage} among the errors of {cell['name']}", (cell["lost"][stage][0], n)


def share_of_questions(cells: Cells, stage: str, but: str = "") -> Measures:
    """The share of this stage among all questions."""
    return ((f"{stage} errors of {cell['name']}", cell["lost"][stage]) for cell in with_errors(cells, but=but))


def mem0_on_long_texts(cells: Cells) -> Measures:
    """The storage errors of Mem0 among personas minus those among preferences."""
    short = {cell["model"]: cell for cell in with_errors(cells, COEXISTING, only="Mem0")}
    for long in with_errors(cells, PERSONA, only="Mem0"):
        if long["model"] in short:
            name = f"storage errors of {long['who']}, {PERSONA} minus {COEXISTING}"
            yield name, long["lost"]["storage"], short[long["model"]]["lost"]["storage"]


def a_mem_on_stored(cells: Cells) -> Measures:
    """The summary errors of A-MEM among the questions that lost nothing in storage, minus those of other systems."""

    def of_stored(cell: Row) -> Count:
        (summary, _), (storage, n) = cell["lost"]["summary"], cell["lost"]["storage"]
        return summary, n - storage

    for one, other in permutations(with_errors(cells, HARD), 2):
        if one["system"] == "A-MEM" != other["system"] and one["model"] == other["model"]:
            name = f"summary errors in what was stored, {one['name']} minus {other['system']}"
            yield name, of_stored(one), of_stored(other)


def spending(cells: Cells) -> Measures:
    """The success of A-MEM minus that of each system that takes fewer tokens."""
    for one, other in duels(cell for cell in cells if cell["tokens"] is not None):
        if one["system"] == "A-MEM" and (more := one["tokens"]) > (fewer := other["tokens"]):
            name = f"{one['name']}, minus {other['system']}, which takes {fewer:,.0f} tokens and not {more:,.0f}"
            yield name, one["passed"], other["passed"]


def nobody_dominates(cells: Cells, holds: Holds) -> Iterator[Case]:
    """Each system is surely beaten by some other on some config; with its own model, at the largest common k."""
    for who, pairs in grouped_by(duels(cells), lambda pair: pair[0]["who"]).items():
        measures: Measures = (
            (f"{who} against {other['system']} on {one['config']} at k = {one['k']}", one["passed"], other["passed"])
            for one, other in pairs
        )
        found = weigh(measures, holds, "all").cases
        sides = {case.side for case in found}
        side: Side = "for" if "for" in sides else "against" if sides == {"against"} else "neither"
        yield replace(min(found, key=lambda case: case.high), side=side)


def follows_tokens(cells: Cells, holds: Holds, config: str) -> Iterator[Case]:
    """At each k, whether success and tokens go together over all systems and models (Pearson's r)."""
    known = [cell for cell in cells if cell["config"] == config and cell["passed"][1] and cell["tokens"] is not None]
    for k, group in sorted(grouped(known, "k").items()):
        success = [right / n for right, n in (cell["passed"] for cell in group)]
        found = pearson([cell["tokens"] for cell in group], success)
        if found is not None and found.n > 3:
            name = f"r of success and tokens on {config} at k = {k}, {found.n} systems and models"
            yield Case(name, found.r, *found.interval, holds(found.r, *found.interval))


_BY_COUNTS = (versus, gains, from_stronger_models, share_of_errors, share_of_questions)
_OF_SYSTEMS = (mem0_on_long_texts, a_mem_on_stored, spending)
_MEASURES: Mapping[str, Callable[..., Measures]] = {of.__name__: of for of in (*_BY_COUNTS, *_OF_SYSTEMS)}
_TESTS: Mapping[str, Callable[..., Iterator[Case]]] = {of.__name__: of for of in (nobody_dominates, follows_tokens)}
_HOW = (
    "A claim about all cases is denied by one case against it and supported by more than half of the cases without one against "
    "it; their intervals are 95 % for all cases together. A claim about most cases takes more than half of them, at 95 % each.",
    "Runs and reported numbers are not mixed, and baselines are left out. All cases with their numbers are in claims.json.",
)


def claims_of(runs: Runs, reported: Runs) -> tuple[Table, dict[str, Any]]:
    """What runs and reported numbers, by label, say about each claim: a table, and the content of claims.json."""
    parts = {"your runs": runs} | ({"reported": reported} if reported else {})
    cells = {source: comparable(cells_of(Inputs(reported=part))) for source, part in parts.items()}
    rows, written = [], []
    for claim in claims():
        found = {source: claim.of(of_source) for source, of_source in cells.items()}
        rows.append([claim.text, claim.section, *map(_shown, found.values())])
        sources = {source: _written(claim.rule, evidence) for source, evidence in found.items()}
        written.append({"name": claim.name, "section": claim.section, "claim": claim.text, **sources})
    table = Table(["claim of the paper", "section", *parts], rows, notes=_HOW, text_columns=2 + len(parts))
    return table, {"level": LEVEL, "margin": MARGIN, "claims": written}


def _written(rule: Rule, evidence: Evidence) -> dict[str, Any]:
    cases = [{"case": case.pop("name"), **case} for case in map(asdict, evidence.cases)]
    missing = {"missing": evidence.missing} if evidence.missing else {}
    return {"decision": evidence.decision, "about": rule, **evidence.numbers, **missing, "cases": cases}


def _shown(evidence: Evidence) -> str:
    """The decision, with a case on its side if there is one, that with the narrowest interval."""
    if evidence.missing:
        return f"not decided: no {evidence.missing}"
    side = {"supported": "for", "denied": "against"}.get(evidence.decision, "neither")
    strongest = min(evidence.cases, key=lambda case: (case.side != side, case.high - case.low, case.name))
    numbers = ", ".join(f"{n} {of_side}" for of_side, n in evidence.numbers.items())
    shown = f"{strongest.name}: {strongest.value:.2f} ({strongest.low:.2f} to {strongest.high:.2f})"
    return f"{evidence.decision}: {numbers}; {shown}"
