"""Conditional-Facts from templates: the same rules stated in one sentence (Easy) or spread over three (Hard).

Paper: Section 4, task 1, and Appendix B.2–B.3. Row i has the same entity, behavior, condition and question in both, and
both essays draw on the same unrelated facts, so that Easy and Hard differ only in how the rule is stated.

In the harder rows the same holds, but whether the condition is met has to be inferred, since no word of meaning is shared.
For some types of conditions the situation is a number and the condition a bound on it (`with motivation above 8 of 10`, and
a 7 today). For the others the situation is an observation that goes with one condition of the type and rules out the others
(`on weekdays`, and it is Saturday). The words that a situation shares with a condition say nothing, whichever of the two it
is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import CATEGORIES, Entity, bank, entities, fill, pairs, small_talk, spread

# Sentences per essay (paper: Section 4). The rule takes one or three of them, the opening takes one.
EASY_SENTENCES = (5, 8)
HARD_SENTENCES = (8, 12)


@dataclass(frozen=True)
class Rule:
    """An entity does something under one condition, and the question describes a situation.

    Attributes:
        entity: Who does it.
        behavior: What the entity does, in the third person.
        condition_type: One of the 32 types of Table 3.
        condition: A phrase that follows the behavior.
        context: The situation, a sentence without a full stop: either the condition holds, or another one of its type.
        met: Whether the condition holds in that situation.
    """

    entity: Entity
    behavior: str
    condition_type: str
    condition: str
    context: str
    met: bool

    @property
    def words(self) -> dict[str, str]:
        """The values by slot of a frame; `who` is a pronoun if the context has just given the name."""
        words = self.entity.words
        who = words["she"] if self.entity.name in self.context else words["name"]
        return words | {"behavior": self.behavior, "condition": self.condition, "context": self.context, "who": who}


def easy_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows whose essays state the rule in one sentence."""
    return [_row(rule, _easy_essay(rule, i, seed), i, seed) for i, rule in enumerate(_rules(n, seed, harder))]


def hard_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows whose essays spread the rule over three sentences that are not adjacent."""
    return [_row(rule, _hard_essay(rule, i, seed), i, seed) for i, rule in enumerate(_rules(n, seed, harder))]


def _rules(n: int, seed: int, harder: bool) -> list[Rule]:
    stream = RandomStream("memfail rules", seed, n)
    content = bank("conditional")
    categories = spread(CATEGORIES, n, stream)
    met = spread((True, False), n, stream)
    subjects = {category: entities(category, categories.count(category), stream) for category in CATEGORIES}
    behaviors = {category: _behaviors(category, categories.count(category), stream) for category in CATEGORIES}
    pets = categories.count("pet")
    types = {True: spread(content["observable"], pets, stream), False: spread([*content["states"]], n - pets, stream)}
    kinds = [types[category == "pet"].pop() for category in categories]
    who = [subjects[category].pop() for category in categories]
    situations = (inferred_situations if harder else _stated_situations)(kinds, met, who, stream)
    return [
        Rule(entity, behaviors[category].pop(), kind, condition, context, holds)
        for category, entity, kind, (condition, context), holds in zip(
            categories, who, kinds, situations, met, strict=True
        )
    ]


def _stated_situations(
    kinds: Sequence[str], met: Sequence[bool], who: Sequence[Entity], stream: RandomStream
) -> list[tuple[str, str]]:
    """Return a condition and a situation for every rule; the words of the situation say which condition holds."""
    content = bank("conditional")
    states = {kind: stream.sample([*of_kind], len(of_kind)) for kind, of_kind in content["states"].items()}
    used: Counter[str] = Counter()
    drawn = []
    for kind, holds, entity in zip(kinds, met, who, strict=True):
        condition = states[kind][used[kind] % len(states[kind])]
        used[kind] += 1
        shown = condition if holds else stream.pick([other for other in states[kind] if other != condition])
        drawn.append((condition, fill(content["states"][kind][shown], {"name": entity.name}, stream)))
    return drawn


def _behaviors(category: str, n: int, stream: RandomStream) -> list[str]:
    behaviors = bank("conditional")["behaviors"][category]
    return [
        f"{act} {manner}"
        for act, manner in pairs(behaviors["acts"], behaviors["manners"], n, stream, f"behaviors of {category}s")
    ]


def _easy_essay(rule: Rule, number: int, seed: int) -> str:
    stream = RandomStream("memfail easy essay", seed, number)
    essay = _small_talk_of(rule, number, seed, stream.between(*EASY_SENTENCES) - 1)
    essay.insert(
        stream.between(1, len(essay)), fill(stream.pick(bank("conditional")["easy"]["rule"]), rule.words, stream)
    )
    return " ".join(essay)


def _hard_essay(rule: Rule, number: int, seed: int) -> str:
    stream = RandomStream("memfail hard essay", seed, number)
    parts = [fill(stream.pick(frames), rule.words, stream) for frames in bank("conditional")["hard"].values()]
    essay = _small_talk_of(rule, number, seed, stream.between(*HARD_SENTENCES) - len(parts))
    # Three different positions, so that there is a sentence between any two parts. The last part is inserted first,
    # because inserting shifts all later positions.
    positions = sorted(stream.sample(range(1, len(essay) + 1), len(parts)))
    for position, part in reversed([*zip(positions, parts, strict=True)]):
        essay.insert(position, part)
    return " ".join(essay)


def _small_talk_of(rule: Rule, number: int, seed: int, n: int) -> list[str]:
    """Return the first n unrelated sentences, which are the same for Easy and Hard."""
    sentences = small_talk(rule.entity, RandomStream("memfail small talk", seed, number))
    return [next(sentences) for _ in range(n)]


def _row(rule: Rule, essay: str, number: int, seed: int) -> Row:
    content = bank("conditional")
    stream = RandomStream("memfail conditional question", seed, number)
    met = "yes" if rule.met else "no"
    return {
        "entity": rule.entity.name,
        "entity_category": rule.entity.category,
        "behavior": rule.behavior,
        "condition_type": rule.condition_type,
        "condition": rule.condition,
        "entity_facts": [essay],
        "question": fill(stream.pick(content["question"]), rule.words, stream),
        "question_context": rule.context,
        "condition_met": met,
        "ground_truth_answer": fill(content["answer"][met], rule.words, stream),
    }


def inferred_situations(
    kinds: Sequence[str], met: Sequence[bool], entities: Sequence[Entity], stream: RandomStream
) -> list[tuple[str, str]]:
    """Return a condition and a situation for every rule.

    Args:
        kinds: The type of each condition.
        met: Whether the condition holds in the situation.
        entities: Whom the situation is about.
        stream: Random stream of this use.
    """
    content = bank("conditional_harder")
    used: Counter[str] = Counter()
    drawn = []
    for kind, holds, entity in zip(kinds, met, entities, strict=True):
        if kind in content["bounds"]:
            drawn.append(_bounded(content["bounds"][kind], used[kind], holds, entity, stream))
        else:
            drawn.append(_observed(content["inferred"][kind], used[kind], holds, entity, stream))
        used[kind] += 1
    return drawn


def _bounded(
    scale: Mapping[str, Any], number: int, holds: bool, entity: Entity, stream: RandomStream
) -> tuple[str, str]:
    """Return a bound and a value at most `margin` away from it, on the side that the truth demands, never equal to it."""
    side = ("above", "below")[number % 2]
    bound = stream.between(scale["least"], scale["most"])
    distance = stream.between(1, scale["margin"])
    value = bound + distance if (side == "above") == holds else bound - distance
    return (
        scale[side].format(bound=bound),
        fill(stream.pick(scale["scenes"]), entity.words | {"value": str(value)}, stream),
    )


def _observed(
    scenes: Mapping[str, Sequence[str]], number: int, holds: bool, entity: Entity, stream: RandomStream
) -> tuple[str, str]:
    """Return a condition, and an observation that goes with it or with another condition of the type."""
    conditions = [*scenes]
    condition = conditions[number % len(conditions)]
    shown = condition if holds else stream.pick([other for other in conditions if other != condition])
    return condition, fill(stream.pick(scenes[shown]), entity.words, stream)
