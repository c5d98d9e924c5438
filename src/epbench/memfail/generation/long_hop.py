"""Long-Hop by a model: chains, an audit of their conflicts, duplicates, wrong options, and truncation to the targets.

Paper: Section 4, task 4, Appendix B.6. Wrong options are the ends of other chains, chosen by the model: the true option
stands in a stored fact by construction, and in two thirds of the released rows it is the only one, which gives it away. The
reference accepts an anchor that stands in only one of its two facts; the paper demands both, and so do the checks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from epbench.draws import RandomStream
from epbench.judges.model import object_schema
from epbench.memfail.dataset.schema import LETTERS, Row, long_hop_row
from epbench.memfail.dataset.word_rules import literally_in, normalised, sentences
from epbench.memfail.generation.asking import SEED, TEXT, TEXTS, Asker, Checks, Item, Spec, Step, quoted, stand_in
from epbench.models.protocol import packed

BATCH = 8
SUMMARIES = 30  # of the latest chains, which the model is told not to repeat
CANDIDATES = 20  # that the model chooses the wrong options from
N_WRONG = 4  # options beside the true one
MOST_WORDS = 20  # of a fact; the model is told 16
_NAME = re.compile(r"\b[A-Z][\w'’-]+")  # `I` is none
_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)

HOPS = (1, 2, 3)
SPARE = 55 / 40  # chains asked for over chains wanted, as many do not survive the checks; as in the reference
_OPTION_SEED = 0xC401CE  # what the reference mixes into the seed before it shuffles options


@dataclass(frozen=True)
class Chain(Spec):
    """One chain of Long-Hop with `hops` hops: as many facts plus one, and as many anchors plus two; empty at first."""

    hops: int
    facts: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    question: str = ""  # its stem
    candidates: tuple[str, ...] = ()  # the ends of other chains out of which its wrong options are chosen

    @property
    def label(self) -> str:
        return f"chain-{self.hops}hop-{self.number:03}"


def chain_specs(n: int) -> list[Chain]:
    """Return the chains to ask for: those of `targets`, and as many more as usually do not survive the checks."""
    wanted = [hops for hops, n_chains in targets(n).items() for _ in range(-int(-n_chains * SPARE // 1))]
    return [Chain(number, hops) for number, hops in enumerate(wanted)]


def targets(n: int) -> dict[int, int]:
    """Return how many of n chains have 1, 2 and 3 hops: as equal as can be."""
    return {hops: len(range(i, n, len(HOPS))) for i, hops in enumerate(HOPS)}


def option_orders(n: int, seed: int = SEED) -> list[list[int]]:
    """Draw the order of the five options of n rows as the reference does; the true one is the last before that."""
    drawn = random.Random(seed ^ _OPTION_SEED)
    orders = [[*range(len(LETTERS))] for _ in range(n)]
    for order in orders:
        drawn.shuffle(order)
    return orders


def long_hop_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return at most n rows, with 1, 2 and 3 hops as equally often as the surviving chains allow."""
    chains, step = _audited(asker, _written(asker, n)), "chains without near duplicates"
    facts = {chain.number: chain.facts for chain in chains}
    kept = asker.log.without_alike(step, chains, facts, "one of its facts is like one of")
    asker.log.count(step, len(chains), len(kept))
    chosen, options = _with_options(asker, kept, n, seed)
    rows = []
    for number, (chain, order) in enumerate(zip(chosen, option_orders(len(chosen), seed), strict=True)):
        listed = [*options[chain.number], chain.anchors[-1]]
        id_ = f"longhop-{chain.hops}hop-{number:03}"
        rows.append(long_hop_row(id_, chain.facts, chain.anchors, chain.question, [listed[i] for i in order]))
    return rows


def _written(asker: Asker, n: int) -> list[Chain]:
    """Ask for one batch of each number of hops at a time, so that the next ones can be told what there is already."""
    specs_of = [[spec for spec in chain_specs(n) if spec.hops == hops] for hops in HOPS]
    chains: list[Chain] = []
    for turn in zip_longest(*(packed(specs, lambda spec: 1, BATCH) for specs in specs_of), fillvalue=[]):
        specs = [spec for batch in turn for spec in batch]
        known = "\n".join(f"  {' -> '.join(chain.anchors)}" for chain in chains[-SUMMARIES:])
        rows = asker.accepted(replace(CHAINS, more={"known": known or "  (none yet)"}), specs)
        for spec in (spec for spec in specs if spec.number in rows):
            row = rows[spec.number]
            facts, anchors = (tuple(text.strip() for text in row[name]) for name in ("facts", "anchors"))
            chains.append(replace(spec, facts=facts, anchors=anchors, question=row["question"].strip()))
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
        asker.log.reject(people_are_disjoint.__name__, "chains without conflicts", chains[place].label, clash)
    kept = [chain for place, chain in enumerate(chains) if place not in clashes]
    asker.log.count("chains without conflicts", before, len(kept))
    return kept


def _audit(asker: Asker, windows: Sequence[Window]) -> list[Chain]:
    """Return the chains of all windows that no audit drops; an audit without a verdict drops nothing, and is logged."""
    dropped: dict[str, str] = {}
    for audit in asker.accepted(AUDITS, windows).values():
        dropped |= {drop["id"]: drop["reason"] for drop in audit["to_drop"]}
    for label, reason in dropped.items():
        asker.log.reject("conflict", "audits", label, reason)
    chains = {chain.label: chain for window in windows for chain in window.chains}
    return [chain for label, chain in chains.items() if label not in dropped]


def _with_options(asker: Asker, chains: Sequence[Chain], n: int, seed: int) -> tuple[list[Chain], dict[int, list[str]]]:
    """Return the first chains of each number of hops, up to the targets, and their wrong options by number."""
    # A chain without options gives way to a spare one. It takes its facts along, so chains that had its end as an option
    # are asked about again, until all options stand in stored facts.
    left, options = list(chains), dict[int, list[str]]()
    while True:
        of_hops = {hops: [chain for chain in left if chain.hops == hops] for hops in HOPS}
        chosen = [chain for hops, most in targets(n).items() for chain in of_hops[hops][:most]]
        ends = {chain.anchors[-1] for chain in chosen}
        waiting = [chain for chain in chosen if not ends.issuperset(options.get(chain.number, ["?"]))]
        if not waiting:
            asker.log.count("chains up to the targets", len(chains), len(chosen))
            return chosen, options
        specs = [spec for chain in waiting if (spec := _options_spec(asker, chain, chosen, seed))]
        accepted = asker.accepted(OPTIONS, specs)
        for spec in specs:
            listed = {normalised(candidate): candidate for candidate in spec.candidates}  # spelled as in the facts
            if row := accepted.get(spec.number):
                options[spec.number] = [listed[normalised(option)] for option in row["options"]]
        left = [chain for chain in left if chain not in waiting or chain.number in accepted]


def _options_spec(asker: Asker, chain: Chain, stored: Sequence[Chain], seed: int) -> Chain | None:
    """Return the chain with the ends of other stored ones that could be wrong options; None, and a note, if too few."""
    fitting = {
        normalised(end): end
        for end in (other.anchors[-1] for other in stored if other is not chain)
        if not overlap(end, chain.anchors[-1]) and not stands_in_chain(end, chain)
    }
    if len(fitting) < N_WRONG:
        reason = f"only {len(fitting)} other chains have ends that could be wrong options, {N_WRONG} are needed"
        asker.log.reject("enough_candidates", "options", chain.label, reason)
        return None
    stream = RandomStream("memfail candidates", seed, chain.label)
    return replace(chain, candidates=tuple(stream.sample([*fitting.values()], CANDIDATES)))


def person_of(chain: Chain) -> str | None:
    """Return the name of the person that a chain is about; None if it is told in the first person."""
    head = chain.anchors[0]
    named = head[:1].isupper() and head.split()[0] not in ("I", "My", "The")
    return head if named and all(literally_in(head, fact) for fact in chain.facts) else None


@dataclass(frozen=True)
class Window(Spec):
    """Chains that are looked at together, for conflicts."""

    chains: tuple[Chain, ...]

    @property
    def label(self) -> str:
        return f"audit {self.number}"


def _chain_checks(spec: Chain, row: Item) -> Iterator[Checks]:
    facts, anchors, question = row["facts"], row["anchors"], normalised(row["question"])
    n_facts, n_anchors = len([fact for fact in facts if fact.strip()]), len({*map(normalised, anchors)} - {""})
    yield {
        "facts_have_their_number": not n_facts == len(facts) == spec.hops + 1
        and f"expected {spec.hops + 1} facts, found {n_facts}",
        "anchors_have_their_number": not n_anchors == len(anchors) == spec.hops + 2
        and f"expected {spec.hops + 2} different anchors, found {n_anchors} in {len(anchors)}",
    }
    links = [(i, a, fact) for i, (link, fact) in enumerate(zip(pairwise(anchors), facts, strict=True), 1) for a in link]
    apart = [(a, i, fact) for at, a in enumerate(anchors[1:]) for i, fact in enumerate(facts) if i not in (at, at + 1)]
    head, named = anchors[0], anchors[0][:1].isupper()
    # The last word of the first anchor is enough: `eating apples` for `eat apples`.
    last = next((word for word in reversed(normalised(head).split()) if len(word) >= 3), None)
    yield {
        "facts_are_short": (
            f"expected one sentence of at most {MOST_WORDS} words, found {quoted(fact)}"
            for fact in facts
            if len(sentences(fact)) != 1 or len(fact.split()) > MOST_WORDS
        ),
        "anchors_stand_in_their_facts": (
            f"fact {number} does not contain the anchor {anchor!r}: {quoted(fact)}"
            for number, anchor, fact in links
            if not literally_in(anchor, fact)
        ),
        "anchors_stand_nowhere_else": (
            f"the anchor {anchor!r} also stands in fact {i + 1}: {quoted(fact)}"
            for anchor, i, fact in apart
            if literally_in(anchor, fact)
        ),
        "facts_stand_alone": (
            f"nobody is named for {pronoun[0]!r}: {quoted(fact)}"
            for fact in facts
            if (pronoun := _PRONOUN.search(fact))
            and not (literally_in(head, fact) and named)
            and not _NAME.search(fact.strip()[1:])
        ),
        "question_has_first_anchor": normalised(head) not in question
        and last not in question.split()
        and f"the question does not contain the first anchor {head!r}",
        "question_has_no_later_anchor": (
            f"the question gives the anchor {anchor!r} away" for anchor in anchors[1:] if normalised(anchor) in question
        ),
    }


def _audit_checks(window: Window, row: Item) -> Iterator[Checks]:
    known = {chain.label for chain in window.chains}
    yield {
        "audit_names_its_chains": (
            f"there is no chain {drop['id']!r}" for drop in row["to_drop"] if drop["id"] not in known
        )
    }


def _options_checks(chain: Chain, row: Item) -> Iterator[Checks]:
    """All wrong options are ends of other chains, so that all options stand in stored facts, and none stands out."""
    options, listed = row["options"], {normalised(candidate) for candidate in chain.candidates}
    n = len({normalised(option) for option in options} - {""})
    yield {
        "options_have_their_number": not n == len(options) == N_WRONG
        and f"expected {N_WRONG} different options, found {n}"
    }
    yield {
        "options_are_candidates": (
            f"{option!r} is none of the candidates" for option in options if normalised(option) not in listed
        ),
        "options_are_wrong": (
            f"{option!r} is too close to the true answer" for option in options if overlap(option, chain.anchors[-1])
        ),
        "options_stand_in_no_fact_of_chain": (
            f"{option!r} stands in a fact of the chain" for option in options if stands_in_chain(option, chain)
        ),
    }


CHAINS: Step[Chain] = Step(
    name="chains",
    batch=BATCH,
    prompt="long_hop_chain",
    fields={"anchors": TEXTS, "facts": TEXTS, "question": TEXT},
    shown=lambda spec: {"hops": spec.hops, "statements": spec.hops + 1, "anchors": spec.hops + 2},
    checks=_chain_checks,
    stand_in=lambda spec: {
        "anchors": [stand_in(f"{spec.label}a{i}", 3) for i in range(spec.hops + 2)],
        "facts": [stand_in(f"{spec.label}f{i}", 12) for i in range(spec.hops + 1)],
        "question": stand_in(spec.label, 14),
    },
)
"""Writes chains; its prompt also needs the `known` ones."""
AUDITS: Step[Window] = Step(
    name="audits",
    batch=1,
    prompt="long_hop_audit",
    fields={"to_drop": {"type": "array", "items": object_schema({"id": TEXT, "reason": TEXT})}},
    shown=lambda window: {"chains": [{"id": chain.label, "facts": [*chain.facts]} for chain in window.chains]},
    checks=_audit_checks,
    stand_in=lambda window: {"to_drop": []},
)
"""Finds chains which would spoil one another in one store."""
OPTIONS: Step[Chain] = Step(
    name="options",
    batch=1,
    prompt="long_hop_options",
    fields={"options": TEXTS},
    shown=lambda chain: {
        "facts": [*chain.facts],
        "question": chain.question,
        "answer": chain.anchors[-1],
        "candidates": [*chain.candidates],
    },
    checks=_options_checks,
    stand_in=lambda chain: {"options": [*chain.candidates[:N_WRONG]]},
)


def people_are_disjoint(chains: Sequence[Chain]) -> Iterator[tuple[int, str]]:
    """Yield the places of chains about a person whom an earlier chain names."""
    seen: dict[str, str] = {}
    for place, chain in enumerate(chains):
        names = (person_of(chain) or "").split()
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
