"""What each row is to be about, drawn as the reference draws it: pools, samplers, and names that are disjoint in a store.

Paper: Appendix B.2, B.4 and B.5. The released rows were drawn with seed 42 from one `random.Random` per config, and the
same calls in the same order give the same specs here. That is why this module draws with `choice`, `sample` and
`shuffle`, and not with `epbench.draws`. Whatever the reference leaves to the model or to chance, and what must be unique
here (names), comes from streams of its own, so that it changes none of these draws. `data/pools.json` has the lists of the
paper, and persona flavors of ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.revision import N_TOPICS, Said, messages
from epbench.memfail.dataset.schema import LETTERS
from epbench.memfail.templates.bank import bank, entities, people
from epbench.memfail.templates.revision import strangers

SEED = 42
"""The seed of the released rows."""
SLOTS = 3  # questions about a persona
HOPS = (1, 2, 3)
SPARE = 55 / 40
"""Chains that are asked for over chains that are wanted, because many do not survive the checks; as in the reference."""
_OPTION_SEED = 0xC401CE  # what the reference mixes into the seed before it shuffles options


@dataclass(frozen=True)
class _Numbered:
    """What a row is to be about; `number` counts the rows of a config from 0."""

    number: int
    task: ClassVar[str]

    @property
    def label(self) -> str:
        return f"{self.task}-{self.number:03}"


@dataclass(frozen=True)
class ConditionalSpec(_Numbered):
    """One rule of Conditional-Facts. Its behavior and condition, which the model invents, are empty at first."""

    task = "conditional"
    category: str  # `person`, `pet` or `character`
    condition_type: str  # one of the 32 types; one of the 9 observable ones for a pet
    target: Literal["yes", "no"]  # whether the condition is to hold in the question
    entity: str  # its name, unlike every other name in the store
    behavior: str = ""
    condition: str = ""


@dataclass(frozen=True)
class CoexistingSpec(_Numbered):
    """One category of Coexisting-Facts, and how many preferences it has (2 to 5)."""

    task = "coexisting"
    category: str
    size: int


@dataclass(frozen=True)
class PersonaSpec(_Numbered):
    """One essay of Persona-Retrieval."""

    task = "persona"
    entity: str  # whom the essay is about
    flavor: str  # who that is, in a few words
    strangers: tuple[str | None, ...]  # whom each question asks about: a name without an essay, or None for the entity


@dataclass(frozen=True)
class RevisionSpec(_Numbered):
    """One row of `revision`, which the reference does not have."""

    task = "revision"
    subjects: tuple[str, ...]  # whom the facts are about
    topics: tuple[str, ...]  # what they are about
    messages: tuple[Said, ...]  # what each message does, in their order


@dataclass(frozen=True)
class Chain:
    """One chain of Long-Hop with `hops` hops: as many facts plus one, and as many anchors plus two; empty at first."""

    number: int
    hops: int
    facts: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    question: str = ""  # its stem
    candidates: tuple[str, ...] = ()  # the ends of other chains out of which its wrong options are chosen

    @property
    def label(self) -> str:
        return f"chain-{self.hops}hop-{self.number:03}"


def conditional_specs(n: int, seed: int = SEED) -> list[ConditionalSpec]:
    """Draw n rules: the targets are shuffled fives of yes and no, of which the first n are used.

    Raises:
        BadInput: There are fewer names than rules.
    """
    drawn, pool = random.Random(seed), bank("pools")
    targets: list[Literal["yes", "no"]] = [*(["yes"] * 5), *(["no"] * 5)] * (n // 10 + 1)  # type: ignore[list-item]
    drawn.shuffle(targets)
    kinds = []
    for _ in range(n):
        kind, category = drawn.choice(pool["condition_types"]), drawn.choice(pool["entity_categories"])
        if category == "pet":
            kind = drawn.choice(pool["observable_types"])
        kinds.append((category, kind))
    of_category = [category for category, _ in kinds]
    stream = RandomStream("memfail entities of a model", seed, n)
    names = {c: iter(entities(c, of_category.count(c), stream)) for c in pool["entity_categories"]}
    return [
        ConditionalSpec(number, category, kind, target, next(names[category]).name)
        for number, ((category, kind), target) in enumerate(zip(kinds, targets[:n], strict=True))
    ]


def coexisting_specs(n: int, seed: int = SEED) -> list[CoexistingSpec]:
    """Draw n categories in random order, and 2 to 5 preferences for each.

    Raises:
        BadInput: There are fewer than n categories.
    """
    categories = [*bank("pools")["preference_categories"]]
    if n > len(categories):
        raise BadInput(f"rows: expected at most {len(categories)} for coexisting_facts, one per category, got {n}")
    drawn = random.Random(seed)
    drawn.shuffle(categories)
    sizes = [drawn.randint(2, 5) for _ in categories]
    return [CoexistingSpec(i, categories[i], sizes[i]) for i in range(n)]


def drawn_personas(n: int, seed: int = SEED) -> list[PersonaSpec]:
    """Draw n personas as the reference does: three strangers are drawn for each, and each slot uses its own by a coin."""
    drawn, pool = random.Random(seed), bank("pools")
    specs = []
    for number in range(n):
        entity = drawn.choice(pool["names"])
        others = drawn.sample([name for name in pool["names"] if name != entity], SLOTS)
        strangers = tuple(other if drawn.random() < 0.5 else None for other in others)
        specs.append(PersonaSpec(number, entity, drawn.choice(pool["flavors"]), strangers))
    return specs


def persona_specs(n: int, seed: int = SEED) -> list[PersonaSpec]:
    """Draw n personas whose names fit into one store: nobody has two essays, no stranger has one or is asked about twice.

    The reference draws all names from a pool of 30, so that in its 100 rows most strangers have an essay after all. Here a
    name stays as drawn where it can: at the first essay about somebody, and at the first question about a stranger without
    an essay. All other names come from our own, larger lists.

    Raises:
        BadInput: Our lists have too few names.
    """
    specs = drawn_personas(n, seed)
    first = {spec.entity: spec.number for spec in reversed(specs)}
    known = {part for name in bank("pools")["names"] for part in name.split()}
    names = bank("names")
    most = (len(names["feminine"]) + len(names["masculine"])) * len(names["last"])
    persons = people(min(n * (SLOTS + 1), most), RandomStream("memfail names of a model", seed, n))
    spare = [person.name for person in persons if not known & set(person.name.split())]
    named, taken = [], set(first)
    try:
        for spec in specs:
            entity = spec.entity if first[spec.entity] == spec.number else spare.pop()
            strangers = tuple(name and (spare.pop() if name in taken else name) for name in spec.strangers)
            taken.update(name for name in strangers if name)
            named.append(replace(spec, entity=entity, strangers=strangers))
    except IndexError:
        told = f"rows: there are not enough names for {n} personas and their strangers; ask for fewer"
        raise BadInput(told) from None
    return named


def revision_specs(n: int, seed: int = SEED) -> list[RevisionSpec]:
    """Draw the people, the topics and the order of the messages of n rows.

    Raises:
        BadInput: Our lists have too few names.
    """
    stream, topics = RandomStream("memfail revisions of a model", seed, n), [*bank("revision")["topics"]]
    specs = []
    for number, circle in enumerate(strangers(n, stream)):
        names, about = (person.name for person in circle), stream.sample(topics, N_TOPICS)
        specs.append(RevisionSpec(number, tuple(names), tuple(about), tuple(messages(stream))))
    return specs


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
    orders = []
    for _ in range(n):
        order = [*range(len(LETTERS))]
        drawn.shuffle(order)
        orders.append(order)
    return orders


def batches(specs: Sequence[Any], size: int) -> list[list[Any]]:
    """Split specs into batches of at most `size`, in their order."""
    return [list(specs[start : start + size]) for start in range(0, len(specs), size)]
