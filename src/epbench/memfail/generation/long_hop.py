"""Long-Hop by a model: chains, an audit of their conflicts, duplicates, wrong options, and truncation to the targets.

Paper: Section 4, task 4, Appendix B.6. Wrong options are the ends of other chains, chosen by the model: the true option
stands in a stored fact by construction, and in two thirds of the released rows it is the only one, which gives it away. The
reference accepts an anchor that stands in only one of its two facts; the paper demands both, and so do the checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row, long_hop_row
from epbench.memfail.dataset.word_rules import normalised, sentences
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, Fault, GenerationPrompts, Item, Step, object_of
from epbench.memfail.generation.specs import HOPS, ChainSpec, batches, chain_specs, option_orders, targets
from epbench.memfail.generation.words import FACT, literally_in, names_in, quoted, stand_in

BATCH = 8
SUMMARIES = 30  # of the latest chains, which the model is told not to repeat
CANDIDATES = 20  # that the model chooses four wrong options from


def long_hop_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return at most n rows, with 1, 2 and 3 hops as equally often as the surviving chains allow."""
    chains, step = _audited(asker, _written(asker, n)), "chains without near duplicates"
    facts = {chain.number: chain.facts for chain in chains}
    kept = asker.log.without_alike(step, chains, FACT, facts, "one of its facts is like one of")
    asker.log.count(step, len(chains), len(kept))
    chosen, options = _with_options(asker, kept, n, seed)
    rows = []
    for number, (chain, order) in enumerate(zip(chosen, option_orders(len(chosen), seed), strict=True)):
        listed = [*options[chain.number], chain.anchors[-1]]
        id_ = f"longhop-{chain.spec.hops}hop-{number:03}"
        rows.append(long_hop_row(id_, chain.facts, chain.anchors, chain.question, [listed[i] for i in order]))
    return rows


def chain_step(prompts: GenerationPrompts, known: Sequence[Chain]) -> Step[ChainSpec]:
    """Return the step that writes chains unlike the known ones."""
    lines = [f"  {' -> '.join(chain.anchors)}" for chain in known[-SUMMARIES:]]
    return Step(
        name="chains",
        batch=BATCH,
        prompt=partial(prompts.long_hop_chain.format, known="\n".join(lines) or "  (none yet)"),
        fields={"anchors": TEXTS, "facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"hops": spec.hops, "statements": spec.hops + 1, "anchors": spec.hops + 2},
        faults=_chain_faults,
        stand_in=lambda spec: {
            "anchors": [stand_in(f"{spec.label}a{i}", 3) for i in range(spec.hops + 2)],
            "facts": [stand_in(f"{spec.label}f{i}", 12) for i in range(spec.hops + 1)],
            "question": stand_in(spec.label, 14),
        },
    )


def audit_step(prompts: GenerationPrompts) -> Step[Window]:
    """Return the step that finds chains which would spoil one another in one store."""
    return Step(
        name="audits",
        batch=1,
        prompt=prompts.long_hop_audit.format,
        fields={"to_drop": {"type": "array", "items": object_of({"id": TEXT, "reason": TEXT})}},
        shown=lambda window: {"chains": [{"id": chain.label, "facts": [*chain.facts]} for chain in window.chains]},
        faults=_audit_faults,
        stand_in=lambda window: {"to_drop": []},
    )


def options_step(prompts: GenerationPrompts) -> Step[OptionsSpec]:
    """Return the step that chooses the wrong options of one chain."""
    return Step(
        name="options",
        batch=1,
        prompt=prompts.long_hop_options.format,
        fields={"options": TEXTS},
        shown=lambda spec: {
            "facts": [*spec.chain.facts],
            "question": spec.chain.question,
            "answer": spec.chain.anchors[-1],
            "candidates": [*spec.candidates],
        },
        faults=_options_faults,
        stand_in=lambda spec: {"options": [*spec.candidates[:OPTIONS]]},
    )


def _written(asker: Asker, n: int) -> list[Chain]:
    """Ask for one batch of each number of hops at a time, so that the next ones can be told what there is already."""
    by_hops = {hops: batches([spec for spec in chain_specs(n) if spec.hops == hops], BATCH) for hops in HOPS}
    chains: list[Chain] = []
    for turn in range(max(map(len, by_hops.values()))):
        specs = [spec for of_hops in by_hops.values() for spec in (of_hops[turn] if turn < len(of_hops) else [])]
        rows = asker.accepted(chain_step(asker.prompts, chains), specs)
        for spec, row in [(spec, rows[spec.number]) for spec in specs if spec.number in rows]:
            facts, anchors = (tuple(text.strip() for text in row[name]) for name in ("facts", "anchors"))
            chains.append(Chain(spec, facts, anchors, row["question"].strip()))
    return chains


def _audited(asker: Asker, chains: list[Chain]) -> list[Chain]:
    """Drop chains that disturb others: first looked at all together, then in windows that overlap by half."""
    before = len(chains)
    if chains:
        chains = _audit(asker, [Window(0, tuple(chains))])
    if len(chains) > BATCH:
        starts = range(0, len(chains) - BATCH // 2, BATCH // 2)
        chains = _audit(asker, [Window(i, tuple(chains[at : at + BATCH])) for i, at in enumerate(starts, 1)])
    clashes = dict(people_are_disjoint(chains))
    for place, clash in clashes.items():
        asker.log.drop(people_are_disjoint.__name__, "chains without conflicts", chains[place].label, clash)
    kept = [chain for place, chain in enumerate(chains) if place not in clashes]
    asker.log.count("chains without conflicts", before, len(kept))
    return kept


def _audit(asker: Asker, windows: Sequence[Window]) -> list[Chain]:
    """Return the chains of all windows that no audit drops; an audit without a verdict drops nothing, and is logged."""
    dropped: dict[str, str] = {}
    for audit in asker.accepted(audit_step(asker.prompts), windows).values():
        dropped |= {drop["id"]: drop["reason"] for drop in audit["to_drop"]}
    for label, reason in dropped.items():
        asker.log.drop("conflict", "audits", label, reason)
    chains = {chain.label: chain for window in windows for chain in window.chains}
    return [chain for label, chain in chains.items() if label not in dropped]


def _with_options(asker: Asker, chains: Sequence[Chain], n: int, seed: int) -> tuple[list[Chain], dict[int, list[str]]]:
    """Return the first chains of each number of hops, up to the targets, and their wrong options by number."""
    # A chain without options gives way to a spare one. It takes its facts along, so chains that had its end as an option
    # are asked about again, until all options stand in stored facts.
    left, options = list(chains), dict[int, list[str]]()
    while True:
        of_hops = {hops: [chain for chain in left if chain.spec.hops == hops] for hops in HOPS}
        chosen = [chain for hops, most in targets(n).items() for chain in of_hops[hops][:most]]
        ends = {chain.anchors[-1] for chain in chosen}
        waiting = [chain for chain in chosen if not ends.issuperset(options.get(chain.number, ["?"]))]
        if not waiting:
            asker.log.count("chains up to the targets", len(chains), len(chosen))
            return chosen, options
        specs = [spec for chain in waiting if (spec := _options_spec(asker, chain, chosen, seed))]
        accepted = asker.accepted(options_step(asker.prompts), specs)
        for spec in specs:
            listed = {normalised(candidate): candidate for candidate in spec.candidates}  # spelled as in the facts
            if row := accepted.get(spec.number):
                options[spec.number] = [listed[normalised(option)] for option in row["options"]]
        left = [chain for chain in left if chain not in waiting or chain.number in accepted]


def _options_spec(asker: Asker, chain: Chain, stored: Sequence[Chain], seed: int) -> OptionsSpec | None:
    """Return the ends of other stored chains that could be wrong options; None, and a note, if they are too few."""
    fitting = {
        normalised(end): end
        for end in (other.anchors[-1] for other in stored if other is not chain)
        if not overlap(end, chain.anchors[-1]) and not stands_in_chain(end, chain)
    }
    if len(fitting) < OPTIONS:
        reason = f"only {len(fitting)} other chains have ends that could be wrong options, {OPTIONS} are needed"
        asker.log.drop("enough_candidates", "options", chain.label, reason)
        return None
    stream = RandomStream("memfail candidates", seed, chain.label)
    return OptionsSpec(chain, tuple(stream.sample([*fitting.values()], CANDIDATES)))


OPTIONS = 4
MOST_WORDS = 20  # of a fact; the model is told 16
_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Chain:
    """A chain that passed its own checks."""

    spec: ChainSpec
    facts: tuple[str, ...]
    anchors: tuple[str, ...]  # one more than facts
    question: str  # its stem

    @property
    def number(self) -> int:
        return self.spec.number

    @property
    def label(self) -> str:
        return self.spec.label

    @property
    def person(self) -> str | None:
        """The name of the person that the chain is about; None if it is told in the first person."""
        head = self.anchors[0]
        named = head[:1].isupper() and head.split()[0] not in ("I", "My", "The")
        return head if named and all(literally_in(head, fact) for fact in self.facts) else None


@dataclass(frozen=True)
class Window:
    """Chains that are looked at together, for conflicts."""

    number: int
    chains: tuple[Chain, ...]

    @property
    def label(self) -> str:
        return f"audit {self.number}"


@dataclass(frozen=True)
class OptionsSpec:
    """A chain, and the ends of other chains out of which its wrong options are chosen."""

    chain: Chain
    candidates: tuple[str, ...]

    @property
    def number(self) -> int:
        return self.chain.number

    @property
    def label(self) -> str:
        return self.chain.label


def _chain_faults(spec: ChainSpec, row: Item) -> Iterator[Fault]:
    facts, anchors, question = row["facts"], row["anchors"], normalised(row["question"])
    n_facts, n_anchors = len([fact for fact in facts if fact.strip()]), len({*map(normalised, anchors)} - {""})
    if not n_facts == len(facts) == spec.hops + 1:
        yield "facts_have_their_number", f"expected {spec.hops + 1} facts, found {n_facts}"
    if not n_anchors == len(anchors) == spec.hops + 2:
        told = f"expected {spec.hops + 2} different anchors, found {n_anchors} in {len(anchors)}"
        yield "anchors_have_their_number", told
    if not (n_facts == len(facts) == spec.hops + 1 and n_anchors == len(anchors) == spec.hops + 2):
        return
    for fact in facts:
        if len(sentences(fact)) != 1 or len(fact.split()) > MOST_WORDS:
            yield "facts_are_short", f"expected one sentence of at most {MOST_WORDS} words, found {quoted(fact)}"
            break
    links = [(i, a, fact) for i, (link, fact) in enumerate(zip(pairwise(anchors), facts, strict=True), 1) for a in link]
    for number, anchor, fact in links:
        if not literally_in(anchor, fact):
            told = f"fact {number} does not contain the anchor {anchor!r}: {quoted(fact)}"
            yield "anchors_stand_in_their_facts", told
            break
    apart = [(a, i, fact) for at, a in enumerate(anchors[1:]) for i, fact in enumerate(facts) if i not in (at, at + 1)]
    for anchor, i, fact in apart:
        if literally_in(anchor, fact):
            told = f"the anchor {anchor!r} also stands in fact {i + 1}: {quoted(fact)}"
            yield "anchors_stand_nowhere_else", told
            break
    head, named = anchors[0], anchors[0][:1].isupper()
    for fact in facts:
        pronoun = _PRONOUN.search(fact)
        if pronoun and not (literally_in(head, fact) and named) and not names_in(fact) - {"I"}:
            yield "facts_stand_alone", f"nobody is named for {pronoun[0]!r}: {quoted(fact)}"
            break
    # The last word of the first anchor is enough: `eating apples` for `eat apples`.
    last = next((word for word in reversed(normalised(head).split()) if len(word) >= 3), None)
    if normalised(head) not in question and last not in question.split():
        yield "question_has_first_anchor", f"the question does not contain the first anchor {head!r}"
    if given := [anchor for anchor in anchors[1:] if normalised(anchor) in question]:
        yield "question_has_no_later_anchor", f"the question gives the anchor {given[0]!r} away"


def _audit_faults(window: Window, row: Item) -> Iterator[Fault]:
    known = {chain.label for chain in window.chains}
    if unknown := [drop["id"] for drop in row["to_drop"] if drop["id"] not in known]:
        yield "audit_names_its_chains", f"there is no chain {unknown[0]!r}"


def _options_faults(spec: OptionsSpec, row: Item) -> Iterator[Fault]:
    """All wrong options are ends of other chains, so that all options stand in stored facts, and none stands out."""
    options, listed = row["options"], {normalised(candidate) for candidate in spec.candidates}
    n = len({normalised(option) for option in options} - {""})
    if not n == len(options) == OPTIONS:
        yield "options_have_their_number", f"expected {OPTIONS} different options, found {n}"
        return
    if others := [option for option in options if normalised(option) not in listed]:
        yield "options_are_candidates", f"{others[0]!r} is none of the candidates"
    if alike := [option for option in options if overlap(option, spec.chain.anchors[-1])]:
        yield "options_are_wrong", f"{alike[0]!r} is too close to the true answer"
    if stated := [option for option in options if stands_in_chain(option, spec.chain)]:
        yield "options_stand_in_no_fact_of_chain", f"{stated[0]!r} stands in a fact of the chain"


def people_are_disjoint(chains: Sequence[Chain]) -> Iterator[tuple[int, str]]:
    """Yield the places of chains about a person whom an earlier chain names."""
    seen: dict[str, str] = {}
    for place, chain in enumerate(chains):
        names = chain.person.split() if chain.person else []
        if clash := next((word for word in names if word in seen), None):
            yield place, f"the name {clash!r} also stands in {seen[clash]}"
        else:
            seen |= dict.fromkeys(names, chain.label)


def overlap(one: str, other: str) -> bool:
    """Return whether one of two phrases contains the other."""
    one, other = normalised(one), normalised(other)
    return one in other or other in one


def stands_in_chain(option: str, chain: Chain) -> bool:
    """Return whether an option stands in a fact of a chain."""
    return any(normalised(option) in normalised(fact) for fact in chain.facts)
