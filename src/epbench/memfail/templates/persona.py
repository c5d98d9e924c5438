"""Persona-Retrieval from templates: every entity has exactly one essay; misleading questions name people without one.

Paper: Section 4, task 3. In the harder rows, `SHARING` essays in a row tell the same aspects with other values, about people
with one family name, which the people of misleading questions share; and questions avoid the words of the essays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import Entity, bank, families, fill, people, small_talk, spread

SENTENCES = (10, 15)
FACTS = (4, 5)
QUESTIONS = 3
SHARING = 5


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
        aspects = _aspects(draws.between(*FACTS), draws)
        rows.append(_row(entity, asked, [(aspect, draws.pick(aspect["values"])) for _, aspect in aspects], draws))
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
            for name, aspect in _aspects(FACTS[1], shared)
        ]
        entities, absent = family[: len(group)], iter(family[len(group) :])
        for place, (number, entity) in enumerate(zip(group, entities, strict=True)):
            asked = [next(absent) if other else entity for other in of_row[number]]
            draws = RandomStream("memfail persona", seed, number)
            chosen = draws.sample([(aspect, values[place]) for aspect, values in shared_aspects], FACTS[1])
            rows.append(_row(entity, asked, chosen, draws))
    return rows


def _aspects(n: int, stream: RandomStream) -> list[tuple[str, Mapping[str, Any]]]:
    return stream.sample([*bank("persona")["aspects"].items()], n)


def _row(
    entity: Entity, asked: Sequence[Entity], aspects: Sequence[tuple[Mapping[str, Any], str]], stream: RandomStream
) -> Row:
    content = bank("persona")
    facts = [fill(stream.pick(aspect["facts"]), entity.words | {"value": value}, stream) for aspect, value in aspects]
    known = entity.words | {"trade": stream.pick(content["trades"]), "pastime": stream.pick(content["pastimes"])}
    opening = fill(stream.pick(content["openings"]), known, stream)
    others = small_talk(entity, stream)
    next(others)  # skips the opening sentence: the essay has its own
    talk = [next(others) for _ in range(stream.between(*SENTENCES) - 1 - len(facts))]
    essay, questions = " ".join([opening, *stream.sample([*facts, *talk], len(facts) + len(talk))]), []
    for whom, (aspect, value) in zip(asked, aspects, strict=False):
        text = fill(stream.pick(aspect["questions"]), {"name": whom.name}, stream)
        answer, stranger = value, None
        if whom is not entity:
            answer, stranger = fill(content["abstention"], {"name": whom.name}, stream), whom.name
        question = {"text": text, "is_misleading": stranger is not None, "distractor": stranger}
        questions.append(question | {"ground_truth_answer": answer})
    return {"entity": entity.name, "entity_facts": [essay], "questions": questions}
