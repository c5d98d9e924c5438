"""The journal of what a memory system asked of its models, and what storing and retrieving have cost in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.journals.journal import read_journal
from epbench.memories.guard import RETRIEVE

CALLS = "system_calls.jsonl"
"""One record for each request of the system, in the order of their ends."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What the system is doing while it sends requests.

    Attributes:
        method: the method that is called, such as `store_conversation`; empty before the first call.
        store: name of the store.
        item: id of the conversation or the query; empty for other methods.
    """

    method: str = ""
    store: str = ""
    item: str = ""


def calls_usage(folder: Path) -> dict[str, dict[str, int]]:
    """Sum up the requests of a run's memory system, of calls that failed and were made again, too.

    Returns:
        For `storing` (all calls but retrievals) and `retrieving`: calls (requests to the language model), tokens_in and
        tokens_out of these, embeddings (requests to the embedder) and embedding_tokens, retries (requests that were sent
        again after an answer that could not be used), errors (answers that were errors), and unparsable (replies that
        should have been JSON and were not). Empty if the system has sent no request through the relay.
    """
    if not (folder / CALLS).exists():
        return {}
    records = list(read_journal(folder / CALLS).values())
    found = [record for record in records if record["method"] == RETRIEVE]
    return {
        "storing": _sum(record for record in records if record["method"] != RETRIEVE),
        "retrieving": _sum(found),
    }


def _sum(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    names = ("calls", "tokens_in", "tokens_out", "embeddings", "embedding_tokens", "retries", "errors", "unparsable")
    total = dict.fromkeys(names, 0)
    for record in records:
        embeds = record["path"].endswith("/embeddings")
        if not record.get("refused"):  # one that was not passed on is an error, and no call
            total["embeddings" if embeds else "calls"] += 1
        total["embedding_tokens" if embeds else "tokens_in"] += record["tokens_in"]
        total["tokens_out"] += record["tokens_out"]
        total["retries"] += record["retry"]
        total["errors"] += record["status"] >= 400
        total["unparsable"] += record["unparsable"]
    return total
