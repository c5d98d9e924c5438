"""Persona-Retrieval from templates: every entity has exactly one essay; misleading questions name people without one.

Paper: Section 4, task 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import Entity, bank, fill, people, small_talk, spread

SENTENCES = (10, 15)
FACTS = (4, 5)
QUESTIONS = 3


def persona_rows(n: int, seed: int) -> list[Row]:
    """Return n rows; half of all questions are misleading, and all names are distinct."""
    draws = RandomStream("memfail personas", seed, n)
    misleading = spread((True, False), n * QUESTIONS, draws)
    drawn = people(n + sum(misleading), draws)
    entities, absent = drawn[:n], iter(drawn[n:])
    rows = []
    for number, entity in enumerate(entities):
        asked = [next(absent) if misleading[number * QUESTIONS + i] else entity for i in range(QUESTIONS)]
        rows.append(_row(entity, asked, RandomStream("memfail persona", seed, number)))
    return rows


def _row(entity: Entity, asked: Sequence[Entity], draws: RandomStream) -> Row:
    content = bank("persona")
    aspects = draws.sample([*content["aspects"].values()], draws.between(*FACTS))
    values = [draws.pick(aspect["values"]) for aspect in aspects]
    facts = [
        fill(draws.pick(aspect["facts"]), entity.words | {"value": value}, draws)
        for aspect, value in zip(aspects, values, strict=True)
    ]
    return {
        "entity": entity.name,
        "entity_facts": [_essay(entity, facts, content, draws)],
        "questions": [
            _question(entity, name, aspect["questions"], value, content["abstention"], draws)
            for name, aspect, value in zip(asked, aspects, values, strict=False)
        ],
    }


def _essay(entity: Entity, facts: Sequence[str], content: Mapping[str, Any], draws: RandomStream) -> str:
    known = entity.words | {"trade": draws.pick(content["trades"]), "pastime": draws.pick(content["pastimes"])}
    opening = fill(draws.pick(content["openings"]), known, draws)
    others = small_talk(entity, draws)
    next(others)  # skips the opening sentence: the essay has its own
    talk = [next(others) for _ in range(draws.between(*SENTENCES) - 1 - len(facts))]
    body = [*facts, *talk]
    return " ".join([opening, *draws.sample(body, len(body))])


def _question(
    entity: Entity, asked: Entity, frames: Sequence[str], value: str, abstention: str, draws: RandomStream
) -> Row:
    known = {"name": asked.name}
    misleading = asked is not entity
    return {
        "text": fill(draws.pick(frames), known, draws),
        "is_misleading": misleading,
        "distractor": asked.name if misleading else None,
        "ground_truth_answer": fill(abstention, known, draws) if misleading else value,
    }
