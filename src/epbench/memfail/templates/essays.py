"""The tasks whose rows have essays: Conditional-Facts and Persona-Retrieval from templates.

Paper: Section 4, tasks 1 and 3, and Appendix B.2–B.3. Conditional-Facts states the same rules in one sentence (Easy) or spread
over three (Hard). Row i has the same entity, behavior, condition and question in both, and both essays draw on the same
unrelated facts, so that Easy and Hard differ only in how the rule is stated. In the harder rows whether the condition is met
has to be inferred, since condition and situation share no word that says so.

In Persona-Retrieval every entity has exactly one essay, and misleading questions name people without one. In the harder rows,
`SHARING` essays in a row tell the same aspects with other values, about people with one family name, which the people of
misleading questions share; and questions avoid the words of the essays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import CATEGORIES, SENTENCES, Row
from epbench.memfail.templates.bank import Entity, bank, entities, families, fill, pairs, people, small_talk, spread

EASY, HARD = "conditional_facts_easy", "conditional_facts_hard"
FACTS = (4, 5)  # about a persona
QUESTIONS = 3
SHARING = 5


@dataclass(frozen=True)
class Rule:
    """An entity does something under one condition, and the question describes a situation."""

    entity: Entity
    behavior: str  # in the third person
    condition_type: str  # one of the 32 types of Table 3
    condition: str  # a phrase that follows the behavior
    context: str  # the situation, a sentence without a full stop: the condition holds, or another one of its type
    met: bool  # whether the condition holds in that situation

    @property
    def words(self) -> dict[str, str]:
        """The values by slot of a frame; `who` is a pronoun if the context has just given the name."""
        words = self.entity.words
        who = words["she"] if self.entity.name in self.context else words["name"]
        return words | {"behavior": self.behavior, "condition": self.condition, "context": self.context, "who": who}


def conditional_rows(config: str, n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows whose essays state the rule in one sentence, or in the Hard config in three that are not adjacent."""
    essay_of = _easy_essay if config == EASY else _hard_essay
    return [_conditional_row(essay_of, rule, i, seed) for i, rule in enumerate(_rules(n, seed, harder))]


def _rules(n: int, seed: int, harder: bool) -> list[Rule]:
    stream = RandomStream("memfail rules", seed, n)
    content, categories = bank("conditional"), spread(CATEGORIES, n, stream)
    met = spread((True, False), n, stream)
    subjects = {category: entities(category, categories.count(category), stream) for category in CATEGORIES}
    behaviors = {}
    for category in CATEGORIES:
        acts, manners = (content["behaviors"][category][part] for part in ("acts", "manners"))
        behaviors[category] = pairs(acts, manners, categories.count(category), stream, f"behaviors of {category}s")
    pets = categories.count("pet")
    types = {True: spread(content["observable"], pets, stream), False: spread([*content["states"]], n - pets, stream)}
    kinds = [types[category == "pet"].pop() for category in categories]
    who = [subjects[category].pop() for category in categories]
    states = bank("conditional_harder")["inferred"] if harder else content["states"]
    conditions = {} if harder else {kind: stream.sample([*of], len(of)) for kind, of in states.items()}
    bounds, used, rules = bank("conditional_harder")["bounds"] if harder else {}, Counter[str](), []
    for category, entity, kind, holds in zip(categories, who, kinds, met, strict=True):
        if kind in bounds:
            condition, context = _bounded(bounds[kind], used[kind], holds, entity, stream)
        else:  # what is stated or observed goes with one condition of the type: `on weekdays`, and it is Saturday
            known = conditions.get(kind) or [*states[kind]]
            condition = known[used[kind] % len(known)]
            shown = condition if holds else stream.pick([other for other in known if other != condition])
            frames = states[kind][shown]
            context = fill(frames if isinstance(frames, str) else stream.pick(frames), entity.words, stream)
        used[kind] += 1
        rules.append(Rule(entity, " ".join(behaviors[category].pop()), kind, condition, context, holds))
    return rules


def _bounded(scale: Mapping[str, Any], number: int, holds: bool, who: Entity, stream: RandomStream) -> tuple[str, str]:
    """Return a bound, as in `with motivation above 8 of 10`, and a value at most `margin` away, on the side of the truth."""
    side = ("above", "below")[number % 2]
    bound = stream.between(scale["least"], scale["most"])
    distance = stream.between(1, scale["margin"])
    value = bound + distance if (side == "above") == holds else bound - distance
    scene = fill(stream.pick(scale["scenes"]), who.words | {"value": str(value)}, stream)
    return scale[side].format(bound=bound), scene


def _easy_essay(rule: Rule, number: int, seed: int) -> str:
    stream = RandomStream("memfail easy essay", seed, number)
    essay = _small_talk_of(rule, number, seed, stream.between(*SENTENCES[EASY]) - 1)
    place = stream.between(1, len(essay))
    essay.insert(place, fill(stream.pick(bank("conditional")["easy"]["rule"]), rule.words, stream))
    return " ".join(essay)


def _hard_essay(rule: Rule, number: int, seed: int) -> str:
    stream = RandomStream("memfail hard essay", seed, number)
    parts = [fill(stream.pick(frames), rule.words, stream) for frames in bank("conditional")["hard"].values()]
    essay = _small_talk_of(rule, number, seed, stream.between(*SENTENCES[HARD]) - len(parts))
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


def _conditional_row(essay_of: Callable[[Rule, int, int], str], rule: Rule, number: int, seed: int) -> Row:
    content, stream = bank("conditional"), RandomStream("memfail conditional question", seed, number)
    met = "yes" if rule.met else "no"
    return {
        "entity": rule.entity.name,
        "entity_category": rule.entity.category,
        "behavior": rule.behavior,
        "condition_type": rule.condition_type,
        "condition": rule.condition,
        "entity_facts": [essay_of(rule, number, seed)],
        "question": fill(stream.pick(content["question"]), rule.words, stream),
        "question_context": rule.context,
        "condition_met": met,
        "ground_truth_answer": fill(content["answer"][met], rule.words, stream),
    }


def persona_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows; half of all questions are misleading, and all names are distinct."""
    stream = RandomStream("memfail personas", seed, n)
    misleading = spread((True, False), n * QUESTIONS, stream)
    of_row = [misleading[i * QUESTIONS : (i + 1) * QUESTIONS] for i in range(n)]
    if harder:
        return _harder_rows(of_row, seed, stream)
    drawn = people(n + sum(misleading), stream)
    entities, absent = drawn[:n], iter(drawn[n:])
    rows = []
    for number, (entity, others) in enumerate(zip(entities, of_row, strict=True)):
        asked = [next(absent) if other else entity for other in others]
        draws = RandomStream("memfail persona", seed, number)
        aspects = draws.sample([*bank("persona")["aspects"].items()], draws.between(*FACTS))
        rows.append(
            _persona_row(entity, asked, [(aspect, draws.pick(aspect["values"])) for _, aspect in aspects], draws)
        )
    return rows


def _harder_rows(of_row: Sequence[Sequence[bool]], seed: int, stream: RandomStream) -> list[Row]:
    """Return rows in groups that share aspects and a family name; `of_row` says which questions are misleading."""
    questions = bank("persona_harder")
    groups = [range(i, min(i + SHARING, len(of_row))) for i in range(0, len(of_row), SHARING)]
    sizes, rows = [len(group) + sum(sum(of_row[number]) for number in group) for group in groups], []
    for group, family in zip(groups, families(sizes, stream), strict=True):
        shared = RandomStream("memfail persona group", seed, group.start)
        shared_aspects = [
            ({**aspect, "questions": questions[name]}, shared.sample(aspect["values"], len(group)))
            for name, aspect in shared.sample([*bank("persona")["aspects"].items()], FACTS[1])
        ]
        entities, absent = family[: len(group)], iter(family[len(group) :])
        for place, (number, entity) in enumerate(zip(group, entities, strict=True)):
            asked = [next(absent) if other else entity for other in of_row[number]]
            draws = RandomStream("memfail persona", seed, number)
            chosen = draws.sample([(aspect, values[place]) for aspect, values in shared_aspects], FACTS[1])
            rows.append(_persona_row(entity, asked, chosen, draws))
    return rows


def _persona_row(
    entity: Entity, asked: Sequence[Entity], aspects: Sequence[tuple[Mapping[str, Any], str]], stream: RandomStream
) -> Row:
    content = bank("persona")
    facts = [fill(stream.pick(aspect["facts"]), entity.words | {"value": value}, stream) for aspect, value in aspects]
    known = entity.words | {"trade": stream.pick(content["trades"]), "pastime": stream.pick(content["pastimes"])}
    opening = fill(stream.pick(content["openings"]), known, stream)
    others = small_talk(entity, stream)
    next(others)  # skips the opening sentence: the essay has its own
    talk = [next(others) for _ in range(stream.between(*SENTENCES["persona_retrieval"]) - 1 - len(facts))]
    essay, questions = " ".join([opening, *stream.sample([*facts, *talk], len(facts) + len(talk))]), []
    for whom, (aspect, value) in zip(asked, aspects, strict=False):
        text = fill(stream.pick(aspect["questions"]), {"name": whom.name}, stream)
        stranger = None if whom is entity else whom.name
        answer = fill(content["abstention"], {"name": stranger}, stream) if stranger else value
        about = {"is_misleading": stranger is not None, "distractor": stranger}
        questions.append({"text": text, **about, "ground_truth_answer": answer})
    return {"entity": entity.name, "entity_facts": [essay], "questions": questions}
