"""Pack facts into the conversations in which a memory system is told about them.

Paper: Section 5.1, phase 1: every fact has a conversation of its own, so that the system has to connect facts across
conversations. Several facts may be packed into one conversation, but never two of the same row: otherwise a chain could
be read off a single conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.session import Conversation

FIRST = datetime(2025, 1, 6, 9)
"""Time of the first conversation. Time is simulated, so that no system depends on the speed of a run."""
BETWEEN_CONVERSATIONS, BETWEEN_TURNS = timedelta(days=1), timedelta(minutes=1)


def facts_told(facts: Sequence[Fact], questions: Sequence[Question], setting: Setting) -> Sequence[Fact]:
    """Return the facts that are stored: all, or those of the rows in question if every row has its own store."""
    rows = {question.row for question in questions}
    return [fact for fact in facts if fact.row in rows] if setting.isolate else facts


def conversations_of(
    facts: Sequence[Fact], *, seed: int, units_per_conversation: int = 1, isolate: bool = False
) -> list[Conversation]:
    """Return the conversations in the order in which they are told; only the user speaks.

    Args:
        facts: The facts of a config.
        seed: Seed of their order.
        units_per_conversation: Largest number of facts in one conversation, at least 1.
        isolate: Whether every row has a store of its own, named after the row, instead of one store for all rows.

    Raises:
        BadInput: `units_per_conversation` is below 1.
    """
    if units_per_conversation < 1:
        raise BadInput(f"units_per_conversation: expected at least 1, got {units_per_conversation}")
    shuffled = RandomStream("storage order", seed).sample(facts, len(facts))
    stores: dict[str, list[Fact]] = {}
    for fact in shuffled:
        stores.setdefault(fact.row if isolate else "", []).append(fact)
    return [
        Conversation(f"{number}", store, tuple(fact.id for fact in group), _turns(group, number))
        for store, members in stores.items()
        for number, group in enumerate(_packed(members, units_per_conversation))
    ]


def _packed(facts: Sequence[Fact], capacity: int) -> list[list[Fact]]:
    """Put each fact into the first conversation that has room and holds no other fact of the same row."""
    groups: list[list[Fact]] = []
    first_open = 0  # all groups before this one are full
    for fact in facts:
        while first_open < len(groups) and len(groups[first_open]) == capacity:
            first_open += 1
        for group in groups[first_open:]:
            if len(group) < capacity and all(other.row != fact.row for other in group):
                group.append(fact)
                break
        else:
            groups.append([fact])
    return groups


def _turns(group: Sequence[Fact], number: int) -> tuple[dict[str, str], ...]:
    begin = FIRST + number * BETWEEN_CONVERSATIONS
    return tuple(
        {"role": "user", "content": fact.text, "timestamp": (begin + i * 2 * BETWEEN_TURNS).isoformat()}
        for i, fact in enumerate(group)
    )
