"""From units to the conversations in which a memory system is told of them.

Paper: Section 5.1, phase 1: every unit has a conversation of its own, so that the system must bring together over
conversations what belongs together. Several units may be packed into one, but never two of one row: a chain must not be
read off a single conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.types import Fact
from epbench.memories.session import Conversation

FIRST = datetime(2025, 1, 6, 9)
"""When the first conversation takes place; simulated, so that no system depends on how fast a run is."""
BETWEEN_CONVERSATIONS, BETWEEN_TURNS = timedelta(days=1), timedelta(minutes=1)


def conversations_of(
    units: Sequence[Fact], *, seed: int, per_conversation: int = 1, isolate: bool = False
) -> list[Conversation]:
    """What is told, in the order in which it is told; only the user speaks.

    Args:
        units: of a config.
        seed: of the order.
        per_conversation: most units in one conversation, at least 1.
        isolate: one store for each row, named by it, instead of one store for all.

    Raises:
        BadInput: per_conversation is below 1.
    """
    if per_conversation < 1:
        raise BadInput(f"--units-per-conversation {per_conversation}: at least 1 expected")
    shuffled = RandomStream("storage order", seed).sample(units, len(units))
    stores: dict[str, list[Fact]] = {}
    for unit in shuffled:
        stores.setdefault(unit.row if isolate else "", []).append(unit)
    return [
        Conversation(f"{number}", store, tuple(unit.id for unit in group), _turns(group, number))
        for store, members in stores.items()
        for number, group in enumerate(_packed(members, per_conversation))
    ]


def _packed(units: Sequence[Fact], capacity: int) -> list[list[Fact]]:
    """First fit: each unit goes into the first conversation that has room and nothing of its row."""
    groups: list[list[Fact]] = []
    first_open = 0  # all groups before it are full
    for unit in units:
        while first_open < len(groups) and len(groups[first_open]) == capacity:
            first_open += 1
        for group in groups[first_open:]:
            if len(group) < capacity and all(other.row != unit.row for other in group):
                group.append(unit)
                break
        else:
            groups.append([unit])
    return groups


def _turns(group: Sequence[Fact], number: int) -> tuple[dict[str, str], ...]:
    begin = FIRST + number * BETWEEN_CONVERSATIONS
    return tuple(
        {"role": "user", "content": unit.text, "timestamp": (begin + i * 2 * BETWEEN_TURNS).isoformat()}
        for i, unit in enumerate(group)
    )
