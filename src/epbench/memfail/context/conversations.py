"""Pack facts into the conversations in which a memory system is told about them.

Paper: Section 5.1, phase 1: every fact has a conversation of its own, so that the system has to connect facts across
conversations. Several facts may be packed into one conversation, but never two of the same row: otherwise a chain could
be read off a single conversation. The published runs also store the reader's replies (Appendix D.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from epbench.draws import RandomStream
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.memfail.context.requests import ConfigRun, Setting
from epbench.memfail.dataset.types import Fact, Question
from epbench.memories.session import Conversation
from epbench.progress import Progress

REPLIES = "replies.jsonl"
FIRST = datetime(2025, 1, 6, 9)
"""Time of the first conversation. Time is simulated, so that no system depends on the speed of a run."""
BETWEEN_CONVERSATIONS, BETWEEN_TURNS = timedelta(days=1), timedelta(minutes=1)


def facts_told(facts: Sequence[Fact], questions: Sequence[Question], setting: Setting) -> Sequence[Fact]:
    """Return the facts that are stored: all, or those of the rows in question if every row has its own store."""
    rows = {question.row for question in questions}
    return [fact for fact in facts if fact.row in rows] if setting.isolate else facts


def by_store(facts: Sequence[Fact], setting: Setting) -> dict[str, list[Fact]]:
    """Return what each store is told, by its name."""
    stores: dict[str, list[Fact]] = {}
    for fact in facts:
        stores.setdefault(setting.store_of(fact.row), []).append(fact)
    return stores


def told_in(folder: Path, config: ConfigRun, progress: Progress) -> list[Conversation]:
    """Return what the system is told in a run; the reader is asked for replies that the journal does not have.

    Args:
        folder: Folder of the run; replies are journaled in its replies.jsonl.
        config: What is stored, and how.
        progress: Shows a progress bar.
    """
    setting = config.setting
    told = conversations_of(facts_told(config.facts, config.whole or config.questions, setting), setting)
    if config.whole and setting.isolate:
        stores = {question.row for question in config.questions}
        told = [conversation for conversation in told if conversation.store in stores]
    return _with_replies(folder / REPLIES, told, config, progress) if setting.replies else told


def conversations_of(facts: Sequence[Fact], setting: Setting) -> list[Conversation]:
    """Return the conversations in the order in which they are told; only the user speaks."""
    shuffled = RandomStream("storage order", setting.seed).sample(facts, len(facts))
    return [
        Conversation(f"{number}", store, tuple(fact.id for fact in group), _turns(group, number))
        for store, members in by_store(shuffled, setting).items()
        for number, group in enumerate(_packed(members, setting.units_per_conversation))
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


def _with_replies(
    path: Path, conversations: Sequence[Conversation], config: ConfigRun, progress: Progress
) -> list[Conversation]:
    """Add a reply after each turn of the user; if a reply fails, its conversation is marked as failed.

    The reader sees the earlier turns and no memories.
    """
    grown = [replace(conversation, turns=()) for conversation in conversations]
    for round_ in range(max((len(conversation.turns) for conversation in conversations), default=0)):
        requests = {
            place: config.prompts.reply_to(
                f"{whole.store}/{whole.id}/{round_}",
                (*grown[place].turns, whole.turns[round_]),
                config.setting.sampling,
            )
            for place, whole in enumerate(conversations)
            if round_ < len(whole.turns) and grown[place].failure is None
        }
        ask(path, list(requests.values()), config.model, progress, "replies")
        journal = read_journal(path)
        for place, request in requests.items():
            turn, record = conversations[place].turns[round_], journal.get(request.key(config.model.identity), {})
            if "answer" not in record:
                grown[place] = replace(grown[place], failure=f"no reply: {record.get('failure', 'none came')}")
            else:
                when = (datetime.fromisoformat(turn["timestamp"]) + BETWEEN_TURNS).isoformat()
                reply = {"role": "assistant", "content": record["answer"], "timestamp": when}
                grown[place] = replace(grown[place], turns=(*grown[place].turns, turn, reply))
    return grown
