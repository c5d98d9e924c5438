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
    stream = RandomStream("memfail personas", seed, n)
    misleading = spread((True, False), n * QUESTIONS, stream)
    drawn = people(n + sum(misleading), stream)
    entities, absent = drawn[:n], iter(drawn[n:])
    rows = []
    for number, entity in enumerate(entities):
        asked = [next(absent) if misleading[number * QUESTIONS + i] else entity for i in range(QUESTIONS)]
        rows.append(_row(entity, asked, RandomStream("memfail persona", seed, number)))
    return rows


def _row(entity: Entity, asked: Sequence[Entity], stream: RandomStream) -> Row:
    content = bank("persona")
    aspects = stream.sample([*content["aspects"].values()], stream.between(*FACTS))
    values = [stream.pick(aspect["values"]) for aspect in aspects]
    facts = [
        fill(stream.pick(aspect["facts"]), entity.words | {"value": value}, stream)
        for aspect, value in zip(aspects, values, strict=True)
    ]
    return {
        "entity": entity.name,
        "entity_facts": [_essay(entity, facts, content, stream)],
        "questions": [
            _question(entity, name, aspect["questions"], value, content["abstention"], stream)
            for name, aspect, value in zip(asked, aspects, values, strict=False)
        ],
    }


def _essay(entity: Entity, facts: Sequence[str], content: Mapping[str, Any], stream: RandomStream) -> str:
    known = entity.words | {"trade": stream.pick(content["trades"]), "pastime": stream.pick(content["pastimes"])}
    opening = fill(stream.pick(content["openings"]), known, stream)
    others = small_talk(entity, stream)
    next(others)  # skips the opening sentence: the essay has its own
    talk = [next(others) for _ in range(stream.between(*SENTENCES) - 1 - len(facts))]
    body = [*facts, *talk]
    return " ".join([opening, *stream.sample(body, len(body))])


def _question(
    entity: Entity, asked: Entity, frames: Sequence[str], value: str, abstention: str, stream: RandomStream
) -> Row:
    known = {"name": asked.name}
    misleading = asked is not entity
    return {
        "text": fill(stream.pick(frames), known, stream),
        "is_misleading": misleading,
        "distractor": asked.name if misleading else None,
        "ground_truth_answer": fill(abstention, known, stream) if misleading else value,
    }
