"""The reader's replies to what the user tells, which the published runs store as well (paper: Section 5.1, D.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from epbench.memfail.pipeline.prompts import Prompts
from epbench.memories.session import Conversation
from epbench.models.protocol import Model, Sampling
from epbench.runs.answers import Progress, ask
from epbench.runs.journal import read_journal

REPLIES = "replies.jsonl"
AFTER = timedelta(minutes=1)


def with_replies(
    path: Path,
    conversations: Sequence[Conversation],
    model: Model,
    prompts: Prompts,
    sampling: Sampling,
    progress: Progress,
) -> list[Conversation]:
    """The conversations with a reply after each turn of the user; replies are journaled at `path`.

    The reader sees the turns before, and no memories. A conversation whose reply failed is marked as failed.
    """
    grown = [replace(conversation, turns=()) for conversation in conversations]
    for round_ in range(max((len(conversation.turns) for conversation in conversations), default=0)):
        requests = {
            place: prompts.reply_to(
                f"{whole.store}/{whole.id}/{round_}", (*grown[place].turns, whole.turns[round_]), sampling
            )
            for place, whole in enumerate(conversations)
            if round_ < len(whole.turns) and grown[place].failure is None
        }
        ask(path, list(requests.values()), model, progress)
        journal = read_journal(path)
        for place, request in requests.items():
            told, record = conversations[place].turns[round_], journal.get(request.key(model.identity), {})
            if "answer" not in record:
                grown[place] = replace(grown[place], failure=f"no reply: {record.get('failure', 'none came')}")
            else:
                when = (datetime.fromisoformat(told["timestamp"]) + AFTER).isoformat()
                reply = {"role": "assistant", "content": record["answer"], "timestamp": when}
                grown[place] = replace(grown[place], turns=(*grown[place].turns, told, reply))
    return grown
