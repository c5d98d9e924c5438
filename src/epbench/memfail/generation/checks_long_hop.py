"""The checks of Long-Hop chains and their options (paper: Section 4, task 4, Appendix B.6).

The reference accepts an anchor that stands in only one of its two facts; the paper demands both, and so do these checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from epbench.memfail.dataset.schema import CHOICES, Row, facts_of
from epbench.memfail.dataset.text_statistics import normalised, sentences
from epbench.memfail.generation.asking import Item
from epbench.memfail.generation.specs import ChainSpec
from epbench.memfail.generation.words import literally_in, names_in, quoted

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
        found = _PRONOUN.search(fact)
        head = row["anchors"][0]
        if found and not (literally_in(head, fact) and head[:1].isupper()) and not names_in(fact) - {"I"}:
            return f"nobody is named for {found[0]!r}: {quoted(fact)}"
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
    found = [option for option in row["options"] if stands_in_chain(option, spec.chain)]
    return f"{found[0]!r} stands in a fact of the chain" if found else None


def options_in_all_facts_or_none(rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield the places of rows of which some options stand in stored facts, and others do not: these give the answer away."""
    stored = "\n".join(fact.lower() for row in rows for fact in facts_of(row))
    for place, row in enumerate(rows):
        absent = [row[choice] for choice in CHOICES if row[choice].lower() not in stored]
        if absent and len(absent) < len(CHOICES):
            yield place, f"the option {absent[0]!r} stands in no stored fact, others do"


def people_are_disjoint(chains: Sequence[Chain]) -> Iterator[tuple[int, str]]:
    """Yield the places of chains about a person whom an earlier chain names."""
    seen: dict[str, str] = {}
    for place, chain in enumerate(chains):
        clash = next((word for word in _names(chain) if word in seen), None)
        if clash:
            yield place, f"the name {clash!r} also stands in {seen[clash]}"
        else:
            seen |= dict.fromkeys(_names(chain), chain.label)


def overlap(one: str, other: str) -> bool:
    """Return whether one of two phrases contains the other."""
    one, other = normalised(one), normalised(other)
    return one in other or other in one


def stands_in_chain(option: str, chain: Chain) -> bool:
    """Return whether an option stands in a fact of a chain."""
    return any(normalised(option) in normalised(fact) for fact in chain.facts)


def _names(chain: Chain) -> list[str]:
    return chain.person.split() if chain.person else []
