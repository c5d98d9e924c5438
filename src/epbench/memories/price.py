"""What a memory costs: seconds, tokens and bytes of a run, and which memories fit into the context that a reader is given.

`fit` stands between a memory system and the reader: with a budget it keeps whole memories, best first, until the next one
would exceed it. It counts with the reader's own tokenizer (the rule-based readers count words) and notes the numbers, so
that everything else is read from the journals. Runs of earlier versions have no such notes, and no price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.journals.journal import Journal, read_journal
from epbench.memories.relay_calls import calls_usage
from epbench.memories.session import RETRIEVED, STORED, Query
from epbench.models.protocol import Model, Request
from epbench.reports.tables import Table

SHOWN = "shown.jsonl"
"""By id of a query: its k, the number of memories that the reader is shown, their tokens, and how many were left out."""

Price = Mapping[str, Any]
"""What `price_of` returns."""


@dataclass(frozen=True)
class Budget:
    """How many tokens of memories a reader is shown."""

    model: Model  # the reader, whose tokens are counted
    tokens: int | None = None  # the most for a question, each memory counted by itself; None for any number


def fit(folder: Path, found: Mapping[str, list[str]], queries: Sequence[Query], budget: Budget) -> dict[str, list[str]]:
    """Return the memories that a reader is shown for each query, and note how many tokens they take.

    By id of the query, `found` has all memories that were retrieved, best first; see `Recall.found`.
    """
    model, most = budget.model, budget.tokens
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # many queries find the same memory
    def count(memory: str) -> int:
        return model.count_tokens(Request("", "", "", memory))[0] - frame

    journal = Journal(folder / SHOWN)
    for query in queries:
        if (memories := found.get(query.id)) is not None:
            sums = list(accumulate(map(count, memories)))
            shown = len(list(takewhile(lambda tokens: most is None or tokens <= most, sums)))
            about = {"k": query.k, "memories": shown, "tokens": sums[shown - 1] if shown else 0}
            about["left_out"] = len(memories) - shown
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


def price_of(folder: Path) -> dict[str, Any]:
    """Return what the memory of a run cost, from its journals; empty without a memory system.

    There are `store` and `retrieve` (p50 and p95 of the seconds of a call that did not fail), `tokens_storing` and
    `tokens_retrieving` (of the language model inside the system; None if nobody counts them), `bytes_per_fact` (on disk, for
    each fact or chapter that was stored; None if the system keeps no files), and `by_k` (by number of memories asked for:
    `tokens` and `memories`, the means of what the reader is shown for a question, and `left_out`, how many did not fit).
    """
    shown = list(read_journal(folder / SHOWN).values())
    if not shown:
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
    for k in sorted({record["k"] for record in shown}):
        at_k = [record for record in shown if record["k"] == k]
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
        for k, shown in price["by_k"].items():
            seconds = [_number(price[call][name], 3) for call in ("store", "retrieve") for name in ("p50", "p95")]
            tokens = [_number(price[f"tokens_{stage}"]) for stage in ("storing", "retrieving")]
            at_k = [_number(shown["tokens"], 1), _number(shown["left_out"]), _number(price["bytes_per_fact"])]
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
