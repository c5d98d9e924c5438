"""What the memory of a run gave, and at what price, read from the journals of the run alone.

`read_recall` has what a system stored and retrieved. `fit` stands between a memory system and the reader: with a budget it
keeps whole memories, best first, until the next one would exceed it. It counts with the reader's own tokenizer (the rule-based
readers count words) and notes the numbers, so that everything else is read from journals: seconds, tokens and bytes. Runs of
earlier versions have no such notes, and no price.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.text import shown
from epbench.journals.journal import Journal, read_journal
from epbench.memories.guard import RETRIEVE
from epbench.memories.protocol import SystemSpec
from epbench.memories.relay import CALLS
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
from epbench.models.protocol import Model, Request
from epbench.reports.tables import Table

SHOWN = "shown.jsonl"
"""By id of a query: its k, the number of memories that the reader is shown, their tokens, and how many were left out."""

Price = Mapping[str, Any]  # what `price_of` returns


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
    prints = {name: fingerprint_of_store(memories) for name, memories in stores.items()}
    found, failures = {}, {}
    for query in queries:
        record = retrieved.get(query.id, {})
        if "memories" in record and record["of"] == prints.get(query.store):
            found[query.id] = list(record["memories"])
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
    storing = _taken([*records, *listed.values()]) | {"conversations": len(conversations), "stores": len(names)}
    usage = _with_calls(folder, storing, _taken(queried) | {"queries": len(queries)})
    after = {name: stored.get(after_key(name), {}).get("of", prints[name]) for name in prints}
    recall = Recall(stores, found, failures, unstored, [], usage)
    recall.warnings.extend(_warnings(system, recall, listed))
    if twice := [f"{record['conversation']}" for record in records if record.get("again")]:
        recall.warnings.append(
            f"{system.name} was given conversation {', '.join(twice)} twice, because it or the run was stopped; it may hold "
            f"the same content twice"
        )
    if (failed := usage["retrieving"]["failed"]) and stores:
        recall.warnings.append(f"{sum(failed.values())} retrievals failed; the first reason: {next(iter(failed))}")
    if changed := [name for name in prints if after[name] != prints[name]]:
        recall.warnings.append(
            f"{_n_stores(changed, listed)} held other memories after the queries than before: {system.name} stores what it is "
            f"asked, so later queries met another store than the one that was judged"
        )
    if not system.knows_gold and (unlisted := _unlisted(queries, recall)):  # which may be parts of memories
        recall.warnings.append(unlisted)
    recall.warnings.extend(_warnings_of_installed(system, usage))
    return recall


def _warnings(system: SystemSpec, recall: Recall, listed: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What to say of stores that lack something or that came out in two ways."""
    if broken := [record["failure"] for record in listed.values() if record.get("failure") is not None]:
        yield f"{_n_stores(broken, listed)} could not be filled or listed; the first reason: {broken[0]}"
    if not system.may_be_empty and (empty := [name for name, memories in recall.stores.items() if not memories]):
        yield f"{_n_stores(empty, listed)} holds nothing after storing: {system.name} kept none of the conversations"
    if recall.unstored:
        yield (
            f"{len(recall.unstored)} facts or chapters could not be stored, and questions about them count as failed; the first "
            f"reason: {next(iter(recall.unstored.values()))}"
        )
    if changed := [name for name, record in listed.items() if record.get("changed")]:
        yield (
            f"{_n_stores(changed, listed)} held different memories after the same conversations: {system.name} is not "
            f"deterministic, so a run that was stopped differs from an uninterrupted one"
        )


def _unlisted(queries: Sequence[Query], recall: Recall) -> str | None:
    """What to say of memories that were retrieved, but are not among all memories of their store."""
    listed = {name: set(memories) for name, memories in recall.stores.items()}
    missing = [(q, text) for q in queries for text in recall.found.get(q.id, ()) if text not in listed[q.store]]
    if not missing:
        return None
    query, text = missing[0]
    return (
        f"{len(missing)} retrieved memories, of {len({q.id for q, _ in missing})} queries, are not in the list of all "
        f"memories, so that list is incomplete or worded in another way, and what was stored cannot be told from it; the "
        f"first, for {query.question} at k = {query.k}: {shown(text)}"
    )


def _warnings_of_installed(system: SystemSpec, usage: dict[str, Any]) -> Iterator[str]:
    """What went wrong inside a system without a call of ours failing."""
    for stage, about in usage.items():
        hidden = about["counts"].get("swallowed", 0)
        unread = max(about["counts"].get("unparsable", 0), about.get("unparsable", 0))  # by the system, by the relay
        if hidden or unread:
            yield (
                f"{system.name} hid {hidden} errors and could not read {unread} replies of its model while {stage}; what it "
                f"lost by that counts as its own error"
            )
        if errors := about.get("errors", 0):
            yield f"{errors} requests of {system.name} to its models ended in errors while {stage}"


def _n_stores(some: Sequence[object], listed: dict[str, dict[str, Any]]) -> str:
    return "the store" if len(listed) == 1 else f"{len(some)} of {len(listed)} stores"


@dataclass(frozen=True)
class Budget:
    """How many tokens of memories a reader is shown."""

    model: Model  # the reader, whose tokens are counted
    tokens: int | None = None  # the most for a question, each memory counted by itself; None for any number


def fit(folder: Path, found: Mapping[str, list[str]], queries: Sequence[Query], budget: Budget) -> dict[str, list[str]]:
    """Return the memories that a reader is shown for each query, of those of `Recall.found`, and note their tokens."""
    model, most = budget.model, budget.tokens
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # many queries find the same memory
    def count(memory: str) -> int:
        return model.count_tokens(Request("", "", "", memory))[0] - frame

    journal = Journal(folder / SHOWN)
    for query in queries:
        if (memories := found.get(query.id)) is not None:
            sums = list(accumulate(map(count, memories)))
            fitting = len(list(takewhile(lambda tokens: most is None or tokens <= most, sums)))
            about = {"k": query.k, "memories": fitting, "tokens": sums[fitting - 1] if fitting else 0}
            about["left_out"] = len(memories) - fitting
            if journal.records.get(query.id) != {"key": query.id, **about}:
                journal.add(query.id, **about)
    journal.close()
    return shown_of(folder, found)


def shown_of(folder: Path, found: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the memories that the reader of a run was shown, of all that were retrieved, by id of the query."""
    noted = read_journal(folder / SHOWN)
    return {id_: memories[: noted[id_]["memories"]] if id_ in noted else memories for id_, memories in found.items()}


def check_budget(tokens: int | None) -> None:
    """Refuse a budget of `fit` below 1."""
    if tokens is not None and tokens < 1:
        raise BadInput(f"tokens of memories: expected at least 1, got {tokens}")


def memory_usage(folder: Path) -> dict[str, Any]:
    """Sum up what storing and retrieving took, from the journals of a run; empty if the run has no memory system.

    `storing` has the numbers of conversations, stores and memories (held at the end), the seconds, and `failed`, the number
    of failures by reason; `retrieving` has the number of queries, the seconds, and `failed`. Both have `counts`, what the
    system itself has counted by name, and for an installed system what `calls_usage` returns.
    """
    if not (folder / STORED).exists():
        return {}
    stored = read_journal(folder / STORED).values()
    conversations = [record for record in stored if "conversation" in record]
    listed = [record for record in stored if "conversation" not in record and "of" not in record]
    counts = {"conversations": len(conversations), "stores": len(listed)}
    counts["memories"] = sum(record.get("memories", 0) for record in listed)
    queries = list(read_journal(folder / RETRIEVED).values())
    return _with_calls(folder, counts | _taken([*conversations, *listed]), {"queries": len(queries)} | _taken(queries))


def _with_calls(folder: Path, storing: dict[str, Any], retrieving: dict[str, Any]) -> dict[str, Any]:
    """What both took, with what an installed system has asked of its models; see `calls_usage`."""
    calls = calls_usage(folder)
    return {"storing": storing | calls.get("storing", {}), "retrieving": retrieving | calls.get("retrieving", {})}


def _taken(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    reasons = Counter(record["failure"] for record in records if record.get("failure") is not None)
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    counts: Counter[str] = Counter()  # what the system itself has counted, such as errors that it has hidden
    for record in records:
        counts.update(record.get("counts", {}))
    return {"seconds": round(seconds, 3), "failed": dict(reasons.most_common()), "counts": dict(counts)}


def calls_usage(folder: Path) -> dict[str, dict[str, int]]:
    """Sum up the requests of a run's memory system, of calls that failed and were made again, too.

    For `storing` (all calls but retrievals) and `retrieving` there are calls (requests to the language model), tokens_in and
    tokens_out of these, embeddings (requests to the embedder) and embedding_tokens, retries (requests that were sent again
    after an answer that could not be used), errors (answers that were errors), and unparsable (replies that should have been
    JSON and were not). Nothing if the system has sent no request through the relay.
    """
    if not (folder / CALLS).exists():
        return {}
    names = ("calls", "tokens_in", "tokens_out", "embeddings", "embedding_tokens", "retries", "errors", "unparsable")
    usage = {stage: dict.fromkeys(names, 0) for stage in ("storing", "retrieving")}
    for record in read_journal(folder / CALLS).values():
        total = usage["retrieving" if record["method"] == RETRIEVE else "storing"]
        embeds = record["path"].endswith("/embeddings")
        if not record.get("refused"):  # one that was not passed on is an error, and no call
            total["embeddings" if embeds else "calls"] += 1
        total["embedding_tokens" if embeds else "tokens_in"] += record["tokens_in"]
        total["tokens_out"] += record["tokens_out"]
        total["retries"] += record["retry"]
        total["errors"] += record["status"] >= 400
        total["unparsable"] += record["unparsable"]
    return usage


def price_of(folder: Path) -> dict[str, Any]:
    """Return what the memory of a run cost, from its journals; empty without a memory system.

    There are `store` and `retrieve` (p50 and p95 of the seconds of a call that did not fail), `tokens_storing` and
    `tokens_retrieving` (of the language model inside the system; None if nobody counts them), `bytes_per_fact` (on disk, for
    each fact or chapter that was stored; None if the system keeps no files), and `by_k` (by number of memories asked for:
    `tokens` and `memories`, the means of what the reader is shown for a question, and `left_out`, how many did not fit).
    """
    noted = list(read_journal(folder / SHOWN).values())
    if not noted:
        return {}
    stored = read_journal(folder / STORED).values()
    told = [record for record in stored if "conversation" in record and record.get("failure") is None]
    sizes = [record["bytes"] for record in stored if "bytes" in record]
    asked = [record for record in read_journal(folder / RETRIEVED).values() if record.get("memories") is not None]
    calls = calls_usage(folder)
    tokens = {
        f"tokens_{stage}": calls[stage]["tokens_in"] + calls[stage]["tokens_out"] if stage in calls else None
        for stage in ("storing", "retrieving")
    }
    facts = sum(len(record["units"]) for record in told)
    by_k = {}
    for k in sorted({record["k"] for record in noted}):
        at_k = [record for record in noted if record["k"] == k]
        means = {name: sum(record[name] for record in at_k) / len(at_k) for name in ("tokens", "memories")}
        by_k[str(k)] = {**means, "left_out": sum(record["left_out"] for record in at_k)}
    return {
        "store": quantiles([record["seconds"] for record in told if record.get("seconds") is not None]),
        "retrieve": quantiles([record["seconds"] for record in asked if record.get("seconds") is not None]),
        **tokens,
        "bytes_per_fact": sum(sizes) / facts if sizes and facts else None,
        "by_k": by_k,
    }


def quantiles(values: Sequence[float]) -> dict[str, float | None]:
    """Return p50 and p95: the smallest value that so many of all do not exceed; None without values."""
    ranked, shares = sorted(values), {"p50": 0.5, "p95": 0.95}
    return {name: ranked[math.ceil(n * len(ranked)) - 1] if ranked else None for name, n in shares.items()}


_HEAD = """
    memory|k|store s, p50|p95|retrieve s, p50|p95|model tokens, storing|asking|tokens before reader|left out|bytes/fact
""".strip().split("|")
_NOTES = (
    "Seconds of a call that did not fail; model tokens are those of the language model inside the system, where its requests "
    "are counted; tokens before the reader are the memories shown for a question, on average; left out are memories that did "
    "not fit into the budget of tokens; bytes are on disk, for each fact or chapter stored. A dash stands for what is unknown.",
)


def price_table(prices: Mapping[str, Price]) -> list[Table]:
    """A row for each run and k, by the label of the run; no table if no run has a price."""
    rows = []
    for label, price in prices.items():
        for k, seen in price["by_k"].items():
            seconds = [_number(price[call][name], 3) for call in ("store", "retrieve") for name in ("p50", "p95")]
            tokens = [_number(price[f"tokens_{stage}"]) for stage in ("storing", "retrieving")]
            at_k = [_number(seen["tokens"], 1), _number(seen["left_out"]), _number(price["bytes_per_fact"])]
            rows.append([label, k, *seconds, *tokens, *at_k])
    return [Table(_HEAD, rows, notes=_NOTES)] if rows else []


def price_html(label: str, usage: Mapping[str, Any]) -> str:
    """The same of one run by the content of its usage.json, for a page; empty for a run without a price."""
    return "".join(f"{table.html()}\n" for table in price_table({label: usage["price"]} if "price" in usage else {}))


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def price_points(price: Price, k: str) -> dict[str, float | None]:
    """What `epbench.reports.plots.frontier` draws success against."""
    return {"shown_tokens": price["by_k"].get(k, {}).get("tokens"), "retrieve_seconds": price["retrieve"]["p50"]}


PRICE_AXES = {
    "shown_tokens": "tokens before the reader, per question",
    "retrieve_seconds": "seconds of a retrieval, median",
}
"""The columns of `price_points`, and what they show."""
