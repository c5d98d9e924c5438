"""What came of storing and asking, read from the journals of a run alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.memories.load import SystemSpec
from epbench.memories.session import (
    MEMORIES,
    MEMORIES_SHAPE,
    RETRIEVED,
    STORED,
    Conversation,
    Query,
    fingerprint_of_store,
    listed_key,
    told_key,
)
from epbench.runs.folder import read_json
from epbench.runs.journal import read_journal


@dataclass(frozen=True)
class Recall:
    """What a system made of a run.

    Attributes:
        stores: all memories of each store after storing; a store that could not be listed is not there.
        found: by id of the query, the memories that came back, best first.
        failures: by id of the query, why nothing came back.
        untold: by store and unit, why the unit could not be stored.
        warnings: what a reader of the results has to know.
        usage: calls, failures and seconds of storing and of retrieving.
    """

    stores: dict[str, list[str]]
    found: dict[str, list[str]]
    failures: dict[str, str]
    untold: dict[tuple[str, str], str]
    warnings: list[str]
    usage: dict[str, Any]


def read_recall(
    folder: Path, system: SystemSpec, conversations: Sequence[Conversation], queries: Sequence[Query]
) -> Recall:
    """Read the journals of `fill_and_ask` for these conversations and queries."""
    stored, retrieved = read_journal(folder / STORED), read_journal(folder / RETRIEVED)
    names = list(dict.fromkeys(conversation.store for conversation in conversations))
    listed = {name: stored.get(listed_key(name), {}) for name in names}
    told = [stored.get(told_key(c.store, c.id), {"failure": "it was not told"}) for c in conversations]
    kept = read_json(folder / MEMORIES, MEMORIES_SHAPE) if (folder / MEMORIES).exists() else {}
    stores = {name: kept[name] for name in names if name in kept}
    found, failures = {}, {}
    prints = {name: fingerprint_of_store(memories) for name, memories in stores.items()}
    for query in queries:
        record = retrieved.get(query.id, {})
        if "memories" in record and record["of"] == prints.get(query.store):
            found[query.id] = list(record["memories"])
        else:
            reason = listed.get(query.store, {}).get("failure") or record.get("failure") or "it was not asked"
            failures[query.id] = f"memory system: {reason}"
    untold = {
        (conversation.store, unit): record["failure"]
        for conversation, record in zip(conversations, told, strict=True)
        if record.get("failure") is not None
        for unit in conversation.units
    }
    asked = [retrieved[query.id] for query in queries if query.id in retrieved]
    usage = {
        "storing": _usage([*told, *listed.values()]) | {"conversations": len(conversations), "stores": len(names)},
        "retrieving": _usage(asked) | {"queries": len(queries)},
    }
    warnings = _warnings(system, listed, stores, untold)
    if twice := [f"{record['conversation']}" for record in told if record.get("again")]:
        warnings.append(
            f"{system.name} was told twice what it or the run was stopped in, conversation {', '.join(twice)}; "
            f"it may hold it twice"
        )
    if (failed := usage["retrieving"]["failed"]) and stores:
        warnings.append(f"{sum(failed.values())} retrievals failed; the first reason: {next(iter(failed))}")
    return Recall(stores, found, failures, untold, warnings, usage)


def memory_usage(folder: Path) -> dict[str, Any]:
    """What storing and retrieving took in all, by the journals of a run; empty where no memory system was asked.

    Returns:
        storing: conversations, stores, memories (held at the end), seconds, failed (number of each reason).
        retrieving: queries, seconds, failed.
    """
    if not (folder / STORED).exists():
        return {}
    stored = read_journal(folder / STORED).values()
    told = [record for record in stored if "conversation" in record]
    listed = [record for record in stored if "conversation" not in record]
    counts = {"conversations": len(told), "stores": len(listed)}
    counts["memories"] = sum(record.get("memories", 0) for record in listed)
    asked = list(read_journal(folder / RETRIEVED).values())
    return {
        "storing": counts | _usage([*told, *listed]),
        "retrieving": {"queries": len(asked)} | _usage(asked),
    }


def _usage(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    reasons = Counter(record["failure"] for record in records if record.get("failure") is not None)
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    return {"seconds": round(seconds, 3), "failed": dict(reasons.most_common())}


def _warnings(
    system: SystemSpec,
    listed: dict[str, dict[str, Any]],
    stores: dict[str, list[str]],
    untold: dict[tuple[str, str], str],
) -> list[str]:
    warnings = []
    if broken := [record["failure"] for record in listed.values() if record.get("failure") is not None]:
        warnings.append(f"{_of(broken, listed)} could not be filled or listed; the first reason: {broken[0]}")
    if not system.may_be_empty and (empty := [name for name, memories in stores.items() if not memories]):
        warnings.append(
            f"{_of(empty, listed)} holds nothing after storing: {system.name} kept none of what it was told"
        )
    if untold:
        warnings.append(
            f"what could not be stored: {len(untold)} units, and what is asked about them counts as failed; the first "
            f"reason: {next(iter(untold.values()))}"
        )
    if changed := [name for name, record in listed.items() if record.get("changed")]:
        warnings.append(
            f"{_of(changed, listed)} held other memories when it was told the same again: {system.name} is not "
            f"deterministic, and a run that was stopped is not the run that it would have been"
        )
    return warnings


def _of(some: Sequence[object], listed: dict[str, dict[str, Any]]) -> str:
    return "the store" if len(listed) == 1 else f"{len(some)} of {len(listed)} stores"
