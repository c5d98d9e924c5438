"""Long-Hop by a model: chains, an audit of their conflicts, duplicates, wrong options, and truncation to the targets.

Paper: Section 4, task 4, Appendix B.6. Wrong options are the ends of other chains, chosen by the model: the true option
stands in a stored fact by construction, and in two thirds of the released rows it is the only one, which gives it away. The
reference accepts an anchor that stands in only one of its two facts; the paper demands both, and so do the checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row, long_hop_row
from epbench.memfail.dataset.word_rules import normalised, sentences
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, GenerationPrompts, Item, Step, object_of
from epbench.memfail.generation.specs import HOPS, ChainSpec, batches, chain_specs, option_orders, targets
from epbench.memfail.generation.words import FACT, literally_in, names_in, quoted, stand_in

BATCH = 8
SUMMARIES = 30  # of the latest chains, which the model is told not to repeat
CANDIDATES = 20  # that the model chooses four wrong options from


def long_hop_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return at most n rows, with 1, 2 and 3 hops as equally often as the surviving chains allow."""
    chains = _written(asker, n)
    chains = _audited(asker, chains)
    step = "chains without near duplicates"
    kept = asker.log.without_alike(step, chains, FACT, lambda chain: chain.facts, "one of its facts is like one of")
    asker.log.count(step, len(chains), len(kept))
    chosen, options = _with_options(asker, kept, n, seed)
    orders = option_orders(len(chosen), seed)
    rows = []
    for number, (chain, order) in enumerate(zip(chosen, orders, strict=True)):
        listed = [*options[chain.spec.number], chain.anchors[-1]]
        id_ = f"longhop-{chain.spec.hops}hop-{number:03}"
        rows.append(long_hop_row(id_, chain.facts, chain.anchors, chain.question, [listed[i] for i in order]))
    return rows


def chain_step(prompts: GenerationPrompts, known: Sequence[Chain]) -> Step[ChainSpec]:
    """Return the step that writes chains unlike the known ones."""
    lines = [f"  {' -> '.join(chain.anchors)}" for chain in known[-SUMMARIES:]]
    return Step(
        name="chains",
        batch=BATCH,
        prompt=lambda specs: prompts.long_hop_chain.format(specs=specs, known="\n".join(lines) or "  (none yet)"),
        fields={"anchors": TEXTS, "facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"hops": spec.hops, "statements": spec.hops + 1, "anchors": spec.hops + 2},
        counts=(facts_have_their_number, anchors_have_their_number),
        checks=(
            facts_are_short,
            anchors_stand_in_their_facts,
            anchors_stand_nowhere_else,
            facts_stand_alone,
            question_has_first_anchor,
            question_has_no_later_anchor,
        ),
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
        prompt=lambda specs: prompts.long_hop_audit.format(specs=specs),
        fields={"to_drop": {"type": "array", "items": object_of({"id": TEXT, "reason": TEXT})}},
        shown=lambda window: {"chains": [{"id": chain.label, "facts": [*chain.facts]} for chain in window.chains]},
        counts=(),
        checks=(audit_names_its_chains,),
        stand_in=lambda window: {"to_drop": []},
    )


def options_step(prompts: GenerationPrompts) -> Step[OptionsSpec]:
    """Return the step that chooses the wrong options of one chain."""
    return Step(
        name="options",
        batch=1,
        prompt=lambda specs: prompts.long_hop_options.format(specs=specs),
        fields={"options": TEXTS},
        shown=lambda spec: {
            "facts": [*spec.chain.facts],
            "question": spec.chain.question,
            "answer": spec.chain.anchors[-1],
            "candidates": [*spec.candidates],
        },
        counts=(options_have_their_number,),
        checks=(options_are_candidates, options_are_wrong, options_stand_in_no_fact_of_chain),
        stand_in=lambda spec: {"options": [*spec.candidates[:OPTIONS]]},
    )


def _written(asker: Asker, n: int) -> list[Chain]:
    """Ask for one batch of each number of hops at a time, so that the next ones can be told what there is already."""
    by_hops = {hops: batches([spec for spec in chain_specs(n) if spec.hops == hops], BATCH) for hops in HOPS}
    chains: list[Chain] = []
    for turn in range(max(map(len, by_hops.values()))):
        specs = [spec for of_hops in by_hops.values() for spec in (of_hops[turn] if turn < len(of_hops) else [])]
        rows = asker.accepted(chain_step(asker.prompts, chains), specs)
        chains += [_chain(spec, rows[spec.number]) for spec in specs if spec.number in rows]
    return chains


def _chain(spec: ChainSpec, row: Item) -> Chain:
    facts, anchors = ([text.strip() for text in row[name]] for name in ("facts", "anchors"))
    return Chain(spec, tuple(facts), tuple(anchors), row["question"].strip())


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
    """Return the first chains of each number of hops, up to the targets, and their wrong options by number.

    A chain without options gives way to a spare one. It takes its facts along, so chains that had its end as an option
    are asked about again, until all options stand in stored facts.
    """
    left, options = list(chains), dict[int, list[str]]()
    while True:
        chosen = _first_of_each(left, n)
        ends = {chain.anchors[-1] for chain in chosen}
        waiting = [chain for chain in chosen if not ends.issuperset(options.get(chain.spec.number, ["?"]))]
        if not waiting:
            asker.log.count("chains up to the targets", len(chains), len(chosen))
            return chosen, options
        specs = [spec for chain in waiting if (spec := _options_spec(asker, chain, chosen, seed))]
        accepted = asker.accepted(options_step(asker.prompts), specs)
        for spec in specs:
            listed = {normalised(candidate): candidate for candidate in spec.candidates}  # spelled as in the facts
            if row := accepted.get(spec.number):
                options[spec.number] = [listed[normalised(option)] for option in row["options"]]
        left = [chain for chain in left if chain not in waiting or chain.spec.number in accepted]


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


def _first_of_each(chains: Sequence[Chain], n: int) -> list[Chain]:
    return [
        chain
        for hops, most in targets(n).items()
        for chain in [chain for chain in chains if chain.spec.hops == hops][:most]
    ]


OPTIONS = 4
MOST_WORDS = 20  # of a fact; the model is told 16
_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Chain:
    """A chain that passed its own checks.

    Attributes:
        spec: What was asked for.
        facts: The statements.
        anchors: One more than statements.
        question: The stem of the question.
    """

    spec: ChainSpec
    facts: tuple[str, ...]
    anchors: tuple[str, ...]
    question: str

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
        return self.chain.spec.number

    @property
    def label(self) -> str:
        return self.chain.label


def facts_have_their_number(spec: ChainSpec, row: Item) -> str | None:
    """A chain with K hops has K + 1 facts."""
    n = len([fact for fact in row["facts"] if fact.strip()])
    return None if n == len(row["facts"]) == spec.hops + 1 else f"expected {spec.hops + 1} facts, found {n}"


def anchors_have_their_number(spec: ChainSpec, row: Item) -> str | None:
    """A chain with K hops has K + 2 different anchors."""
    n = len({normalised(anchor) for anchor in row["anchors"]} - {""})
    if n == len(row["anchors"]) == spec.hops + 2:
        return None
    return f"expected {spec.hops + 2} different anchors, found {n} in {len(row['anchors'])}"


def facts_are_short(spec: ChainSpec, row: Item) -> str | None:
    """Each fact is one sentence of at most 20 words."""
    for fact in row["facts"]:
        if len(sentences(fact)) != 1 or len(fact.split()) > MOST_WORDS:
            return f"expected one sentence of at most {MOST_WORDS} words, found {quoted(fact)}"
    return None


def anchors_stand_in_their_facts(spec: ChainSpec, row: Item) -> str | None:
    """Every anchor stands literally in each of the facts that border on it."""
    for number, (link, fact) in enumerate(zip(pairwise(row["anchors"]), row["facts"], strict=True), 1):
        for anchor in link:
            if not literally_in(anchor, fact):
                return f"fact {number} does not contain the anchor {anchor!r}: {quoted(fact)}"
    return None


def anchors_stand_nowhere_else(spec: ChainSpec, row: Item) -> str | None:
    """No anchor but the first stands in a fact that does not border on it."""
    for i, anchor in enumerate(row["anchors"][1:], 1):
        for number, fact in enumerate(row["facts"]):
            if number not in (i - 1, i) and literally_in(anchor, fact):
                return f"the anchor {anchor!r} also stands in fact {number + 1}: {quoted(fact)}"
    return None


def facts_stand_alone(spec: ChainSpec, row: Item) -> str | None:
    """A fact with `he` or `she` names the person itself."""
    for fact in row["facts"]:
        pronoun = _PRONOUN.search(fact)
        head = row["anchors"][0]
        if pronoun and not (literally_in(head, fact) and head[:1].isupper()) and not names_in(fact) - {"I"}:
            return f"nobody is named for {pronoun[0]!r}: {quoted(fact)}"
    return None


def question_has_first_anchor(spec: ChainSpec, row: Item) -> str | None:
    """The question has the first anchor, or at least its last word (`eating apples` for `eat apples`)."""
    head, question = normalised(row["anchors"][0]), normalised(row["question"])
    last = next((word for word in reversed(head.split()) if len(word) >= 3), None)
    if head in question or (last and last in question.split()):
        return None
    return f"the question does not contain the first anchor {row['anchors'][0]!r}"


def question_has_no_later_anchor(spec: ChainSpec, row: Item) -> str | None:
    """The question gives away neither the way nor the answer."""
    named = [anchor for anchor in row["anchors"][1:] if normalised(anchor) in normalised(row["question"])]
    return f"the question gives the anchor {named[0]!r} away" if named else None


def audit_names_its_chains(spec: Window, row: Item) -> str | None:
    """The audit drops only chains that it was shown."""
    known = {chain.label for chain in spec.chains}
    unknown = [drop["id"] for drop in row["to_drop"] if drop["id"] not in known]
    return f"there is no chain {unknown[0]!r}" if unknown else None


def options_have_their_number(spec: OptionsSpec, row: Item) -> str | None:
    """There are four different wrong options."""
    n = len({normalised(option) for option in row["options"]} - {""})
    return None if n == len(row["options"]) == OPTIONS else f"expected {OPTIONS} different options, found {n}"


def options_are_candidates(spec: OptionsSpec, row: Item) -> str | None:
    """All wrong options are ends of other chains, so that all options stand in stored facts, and none stands out."""
    listed = {normalised(candidate) for candidate in spec.candidates}
    others = [option for option in row["options"] if normalised(option) not in listed]
    return f"{others[0]!r} is none of the candidates" if others else None


def options_are_wrong(spec: OptionsSpec, row: Item) -> str | None:
    """No wrong option contains the true answer, or is contained in it."""
    alike = [option for option in row["options"] if overlap(option, spec.chain.anchors[-1])]
    return f"{alike[0]!r} is too close to the true answer" if alike else None


def options_stand_in_no_fact_of_chain(spec: OptionsSpec, row: Item) -> str | None:
    """No wrong option stands in a fact of the chain itself."""
    stated = [option for option in row["options"] if stands_in_chain(option, spec.chain)]
    return f"{stated[0]!r} stands in a fact of the chain" if stated else None


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
