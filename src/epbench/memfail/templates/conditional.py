"""Conditional-Facts without a model: the same rules told in one sentence (Easy) and in three (Hard).

Paper: Section 4, task 1, and Appendix B.2–B.3. Row i of both has the same entity, behavior, condition and question, and
the essay of Easy tells a part of what that of Hard tells, so that their difference is that of how the rule is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import CATEGORIES, Entity, bank, entities, fill, pairs, small_talk, spread

# Sentences per essay (paper: Section 4), of which the rule takes one or three and the opening one.
EASY_SENTENCES = (5, 8)
HARD_SENTENCES = (8, 12)


@dataclass(frozen=True)
class Rule:
    """An entity does something on one condition, and what the question says of that condition.

    Attributes:
        entity: who.
        behavior: what, in the third person.
        condition_type: of the 32 of Table 3.
        condition: a phrase that follows the behavior.
        context: a sentence without full stop: the condition holds, or another of its type does.
        met: whether it holds.
    """

    entity: Entity
    behavior: str
    condition_type: str
    condition: str
    context: str
    met: bool

    @property
    def words(self) -> dict[str, str]:
        """Slots of frames; `who` is a pronoun where the context has just told the name."""
        words = self.entity.words
        who = words["she"] if self.entity.name in self.context else words["name"]
        return words | {"behavior": self.behavior, "condition": self.condition, "context": self.context, "who": who}


def easy_rows(n: int, seed: int) -> list[Row]:
    """n rows whose essay says the rule in one sentence."""
    return [_row(rule, _easy_essay(rule, i, seed), i, seed) for i, rule in enumerate(_rules(n, seed))]


def hard_rows(n: int, seed: int) -> list[Row]:
    """n rows whose essay spreads the rule over three sentences that are not adjacent."""
    return [_row(rule, _hard_essay(rule, i, seed), i, seed) for i, rule in enumerate(_rules(n, seed))]


def _rules(n: int, seed: int) -> list[Rule]:
    draws = RandomStream("memfail rules", seed, n)
    content = bank("conditional")
    categories = spread(CATEGORIES, n, draws)
    met = spread((True, False), n, draws)
    who = {category: entities(category, categories.count(category), draws) for category in CATEGORIES}
    does = {category: _behaviors(category, categories.count(category), draws) for category in CATEGORIES}
    pets = categories.count("pet")
    types = {True: spread(content["observable"], pets, draws), False: spread([*content["states"]], n - pets, draws)}
    states = {kind: draws.sample([*of_kind], len(of_kind)) for kind, of_kind in content["states"].items()}
    used: Counter[str] = Counter()
    rules = []
    for category, holds in zip(categories, met, strict=True):
        entity, kind = who[category].pop(), types[category == "pet"].pop()
        condition = states[kind][used[kind] % len(states[kind])]
        used[kind] += 1
        shown = condition if holds else draws.pick([other for other in states[kind] if other != condition])
        context = fill(content["states"][kind][shown], {"name": entity.name}, draws)
        rules.append(Rule(entity, does[category].pop(), kind, condition, context, holds))
    return rules


def _behaviors(category: str, n: int, draws: RandomStream) -> list[str]:
    of = bank("conditional")["behaviors"][category]
    return [
        f"{act} {manner}" for act, manner in pairs(of["acts"], of["manners"], n, draws, f"behaviors of {category}s")
    ]


def _easy_essay(rule: Rule, number: int, seed: int) -> str:
    draws = RandomStream("memfail easy essay", seed, number)
    told = _told(rule, number, seed, draws.between(*EASY_SENTENCES) - 1)
    told.insert(draws.between(1, len(told)), fill(draws.pick(bank("conditional")["easy"]["rule"]), rule.words, draws))
    return " ".join(told)


def _hard_essay(rule: Rule, number: int, seed: int) -> str:
    draws = RandomStream("memfail hard essay", seed, number)
    parts = [fill(draws.pick(frames), rule.words, draws) for frames in bank("conditional")["hard"].values()]
    told = _told(rule, number, seed, draws.between(*HARD_SENTENCES) - len(parts))
    # Three different places, so that a sentence stands between any two parts; from the last on, or places would shift.
    places = sorted(draws.sample(range(1, len(told) + 1), len(parts)))
    for place, part in reversed([*zip(places, parts, strict=True)]):
        told.insert(place, part)
    return " ".join(told)


def _told(rule: Rule, number: int, seed: int, n: int) -> list[str]:
    """The first n unconditional sentences; they are the same for Easy and Hard."""
    sentences = small_talk(rule.entity, RandomStream("memfail small talk", seed, number))
    return [next(sentences) for _ in range(n)]


def _row(rule: Rule, essay: str, number: int, seed: int) -> Row:
    content = bank("conditional")
    draws = RandomStream("memfail conditional question", seed, number)
    met = "yes" if rule.met else "no"
    return {
        "entity": rule.entity.name,
        "entity_category": rule.entity.category,
        "behavior": rule.behavior,
        "condition_type": rule.condition_type,
        "condition": rule.condition,
        "entity_facts": [essay],
        "question": fill(draws.pick(content["question"]), rule.words, draws),
        "question_context": rule.context,
        "condition_met": met,
        "ground_truth_answer": fill(content["answer"][met], rule.words, draws),
    }


def condition_types() -> Sequence[str]:
    """The 32 condition types (paper: Table 3)."""
    return tuple(bank("conditional")["states"])
