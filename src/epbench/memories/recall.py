"""What a memory system stored and retrieved, read from the journals of a run alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.files.text import shown
from epbench.journals.journal import read_journal
from epbench.memories.protocol import SystemSpec
from epbench.memories.relay_calls import calls_usage
from epbench.memories.session import (
    MEMORIES,
    MEMORIES_TYPE,
    RETRIEVED,
    STORED,
    Conversation,
    Query,
    after_key,
    fingerprint_of_store,
    listed_key,
    stored_key,
)


@dataclass(frozen=True)
class Recall:
    """What a system stored and retrieved in a run."""

    stores: dict[str, list[str]]  # by name of the store, all its memories after storing, if it could be listed
    found: dict[str, list[str]]  # by id of the query, the memories that were retrieved, best first
    failures: dict[str, str]  # by id of the query, why no memories could be retrieved
    unstored: dict[tuple[str, str], str]  # by store and unit, why the unit could not be stored
    warnings: list[str]  # what a reader of the results has to know
    usage: dict[str, Any]  # number of calls, failures and seconds of storing and of retrieving


def read_recall(
    folder: Path, system: SystemSpec, conversations: Sequence[Conversation], queries: Sequence[Query]
) -> Recall:
    """Read the journals of `fill_and_ask` for these conversations and queries."""
    stored, retrieved = read_journal(folder / STORED), read_journal(folder / RETRIEVED)
    names = list(dict.fromkeys(conversation.store for conversation in conversations))
    listed = {name: stored.get(listed_key(name), {}) for name in names}
    records = [stored.get(stored_key(c.store, c.id), {"failure": "it was not stored"}) for c in conversations]
    kept = read_json(folder / MEMORIES, MEMORIES_TYPE) if (folder / MEMORIES).exists() else {}
    stores = {name: kept[name] for name in names if name in kept}
    returned, failures = {}, {}
    prints = {name: fingerprint_of_store(memories) for name, memories in stores.items()}
    for query in queries:
        record = retrieved.get(query.id, {})
        if "memories" in record and record["of"] == prints.get(query.store):
            returned[query.id] = list(record["memories"])
        else:
            reason = listed.get(query.store, {}).get("failure") or record.get("failure") or "it was not queried"
            failures[query.id] = f"memory system: {reason}"
    unstored = {
        (conversation.store, unit): record["failure"]
        for conversation, record in zip(conversations, records, strict=True)
        if record.get("failure") is not None
        for unit in conversation.units
    }
    queried = [retrieved[query.id] for query in queries if query.id in retrieved]
    usage = {
        "storing": _usage([*records, *listed.values()]) | {"conversations": len(conversations), "stores": len(names)},
        "retrieving": _usage(queried) | {"queries": len(queries)},
    }
    usage = _with_calls(usage, folder)
    warnings = _warnings(system, listed, stores, unstored)
    if twice := [f"{record['conversation']}" for record in records if record.get("again")]:
        warnings.append(
            f"{system.name} was given conversation {', '.join(twice)} twice, because it or the run was stopped; it may hold "
            f"the same content twice"
        )
    if (failed := usage["retrieving"]["failed"]) and stores:
        warnings.append(f"{sum(failed.values())} retrievals failed; the first reason: {next(iter(failed))}")
    after = {name: stored.get(after_key(name), {}).get("of", prints[name]) for name in prints}
    if changed := [name for name in prints if after[name] != prints[name]]:
        warnings.append(
            f"{_n_stores(changed, listed)} held other memories after the queries than before: {system.name} stores what it is "
            f"asked, so later queries met another store than the one that was judged"
        )
    if not system.knows_gold and (unlisted := _unlisted(queries, returned, stores)):  # which may be parts of memories
        warnings.append(unlisted)
    warnings += _warnings_of_installed(folder, system, usage)
    return Recall(stores, returned, failures, unstored, warnings, usage)


def _unlisted(queries: Sequence[Query], retrieved: dict[str, list[str]], stores: dict[str, list[str]]) -> str | None:
    """What to say of memories that were retrieved, but are not among all memories of their store."""
    listed = {name: set(memories) for name, memories in stores.items()}
    missing = [(q, text) for q in queries for text in retrieved.get(q.id, ()) if text not in listed[q.store]]
    if not missing:
        return None
    query, text = missing[0]
    return (
        f"{len(missing)} retrieved memories, of {len({q.id for q, _ in missing})} queries, are not in the list of all "
        f"memories, so that list is incomplete or worded in another way, and what was stored cannot be told from it; the "
        f"first, for {query.question} at k = {query.k}: {shown(text)}"
    )


def _warnings_of_installed(folder: Path, system: SystemSpec, usage: dict[str, Any]) -> list[str]:
    """What went wrong inside a system without a call of ours failing."""
    warnings = []
    for stage, about in usage.items():
        hidden = about["counts"].get("swallowed", 0)
        unread = max(about["counts"].get("unparsable", 0), about.get("unparsable", 0))  # by the system, by the relay
        if hidden or unread:
            warnings.append(
                f"{system.name} hid {hidden} errors and could not read {unread} replies of its model while {stage}; what it "
                f"lost by that counts as its own error"
            )
        if errors := about.get("errors", 0):
            warnings.append(f"{errors} requests of {system.name} to its models ended in errors while {stage}")
    if (log := folder / "stores/addresses.log").exists():  # of runs by earlier versions
        refused = list(dict.fromkeys(json.loads(line) for line in log.read_text("utf-8").splitlines() if line))
        if refused:
            warnings.append(
                f"{system.name} tried to reach {len(refused)} other addresses, and was refused: {refused[0]}, …"
            )
    return warnings


def memory_usage(folder: Path) -> dict[str, Any]:
    """Sum up what storing and retrieving took, from the journals of a run; empty if the run has no memory system.

    `storing` has the numbers of conversations, stores and memories (held at the end), the seconds, and `failed`, the number
    of failures by reason; `retrieving` has the number of queries, the seconds, and `failed`. Both have `counts`, what the
    system itself has counted by name, and for an installed system what `relay_calls.calls_usage` returns.
    """
    if not (folder / STORED).exists():
        return {}
    stored = read_journal(folder / STORED).values()
    conversations = [record for record in stored if "conversation" in record]
    listed = [record for record in stored if "conversation" not in record and "of" not in record]
    counts = {"conversations": len(conversations), "stores": len(listed)}
    counts["memories"] = sum(record.get("memories", 0) for record in listed)
    queries = list(read_journal(folder / RETRIEVED).values())
    usage = {
        "storing": counts | _usage([*conversations, *listed]),
        "retrieving": {"queries": len(queries)} | _usage(queries),
    }
    return _with_calls(usage, folder)


def _with_calls(usage: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Add what an installed system has asked of its models; see `calls_usage`."""
    calls = calls_usage(folder)
    return {stage: {**about, **calls.get(stage, {})} for stage, about in usage.items()}


def _usage(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    reasons = Counter(record["failure"] for record in records if record.get("failure") is not None)
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    counts: Counter[str] = Counter()  # what the system itself has counted, such as errors that it has hidden
    for record in records:
        counts.update(record.get("counts", {}))
    return {"seconds": round(seconds, 3), "failed": dict(reasons.most_common()), "counts": dict(counts)}


def _warnings(
    system: SystemSpec,
    listed: dict[str, dict[str, Any]],
    stores: dict[str, list[str]],
    unstored: dict[tuple[str, str], str],
) -> list[str]:
    warnings = []
    if broken := [record["failure"] for record in listed.values() if record.get("failure") is not None]:
        warnings.append(f"{_n_stores(broken, listed)} could not be filled or listed; the first reason: {broken[0]}")
    if not system.may_be_empty and (empty := [name for name, memories in stores.items() if not memories]):
        warnings.append(
            f"{_n_stores(empty, listed)} holds nothing after storing: {system.name} kept none of the conversations"
        )
    if unstored:
        warnings.append(
            f"{len(unstored)} facts or chapters could not be stored, and questions about them count as failed; the first "
            f"reason: {next(iter(unstored.values()))}"
        )
    if changed := [name for name, record in listed.items() if record.get("changed")]:
        warnings.append(
            f"{_n_stores(changed, listed)} held different memories after the same conversations: {system.name} is not "
            f"deterministic, so a run that was stopped differs from an uninterrupted one"
        )
    return warnings


def _n_stores(some: Sequence[object], listed: dict[str, dict[str, Any]]) -> str:
    return "the store" if len(listed) == 1 else f"{len(some)} of {len(listed)} stores"
