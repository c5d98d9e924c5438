"""The reader's replies to what the user says; the published runs store them too (paper: Section 5.1, Appendix D.2)."""

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
    """Return the conversations with a reply after each turn of the user.

    The reader sees the earlier turns and no memories. If a reply fails, its conversation is marked as failed.

    Args:
        path: Journal of the replies.
        conversations: What the user says.
        model: The reader.
        prompts: Prompt pack of the reader.
        sampling: How replies are sampled.
        progress: Shows a progress bar.
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
        ask(path, list(requests.values()), model, progress, "replies")
        journal = read_journal(path)
        for place, request in requests.items():
            turn, record = conversations[place].turns[round_], journal.get(request.key(model.identity), {})
            if "answer" not in record:
                grown[place] = replace(grown[place], failure=f"no reply: {record.get('failure', 'none came')}")
            else:
                when = (datetime.fromisoformat(turn["timestamp"]) + AFTER).isoformat()
                reply = {"role": "assistant", "content": record["answer"], "timestamp": when}
                grown[place] = replace(grown[place], turns=(*grown[place].turns, turn, reply))
    return grown
