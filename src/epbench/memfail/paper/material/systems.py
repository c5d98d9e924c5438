"""Table 1: how each memory system summarises, stores and retrieves, as the classes of this package run it."""

from __future__ import annotations

from dataclasses import dataclass

from epbench.exhibits.exhibit import Exhibit, Value
from epbench.memories.load import BASELINES
from epbench.memories.systems.catalog import SYSTEMS
from epbench.reports.tables import Table


@dataclass(frozen=True, slots=True)
class _Ways:
    """How a system does what Section 3.1 takes apart."""

    summarize: str
    store: str
    retrieve: str


_WAYS = {
    "mem0": _Ways(
        "a model extracts facts from a conversation", "facts with vectors; they are only added", "nearest facts"
    ),
    "mem0-1": _Ways(
        "a model extracts facts from a conversation",
        "facts with vectors; a model adds, changes and deletes them",
        "nearest facts",
    ),
    "a-mem": _Ways(
        "none: each turn word for word; a model adds keywords, context and tags",
        "notes with vectors and links; a model may change the context and tags of neighbours",
        "nearest notes, then those that they link to",
    ),
    "simplemem": _Ways(
        "a model restates windows of turns as single facts",
        "restated facts with vectors",
        "searches that a model plans and repeats; all that is found, cut to k",
    ),
    "structmem": _Ways(
        "a model extracts events and relations from what the user said",
        "entries with time and vectors, consolidated after each conversation; summaries apart, which no search reads",
        "nearest entries",
    ),
    "langmem": _Ways(
        "a model writes memories by tool calls",
        "memories with vectors; a model sees the nearest ones and revises them",
        "nearest memories",
    ),
    "graphiti": _Ways(
        "a model extracts entities and facts between them",
        "a graph with times; facts that are contradicted become invalid, and stay",
        "edges by words and by vectors",
    ),
    "cognee": _Ways(
        "none for what is returned; a model draws a graph and summaries from it",
        "chunks of the text with vectors, and the graph",
        "nearest chunks",
    ),
    "none": _Ways("–", "nothing", "nothing"),
    "full-context": _Ways("none: word for word", "everything, in order", "everything, whatever k is"),
    "verbatim-bm25": _Ways("none: word for word", "everything", "the k best by BM25"),
    "verbatim-dense": _Ways("none: word for word", "everything, with vectors", "the k nearest"),
    "oracle": _Ways("none: word for word", "everything", "exactly what the question needs, whatever k is"),
}
_NOT_IN_THE_PAPER = ("mem0", "langmem", "graphiti", "cognee")
_NOTES = (
    "The paper evaluates Mem0 (a 1.x version, here mem0-1), A-MEM, SimpleMem and StructMem.",
    "These are the systems as their packages and settings run here. The paper's Table 1 says otherwise of two: that SimpleMem "
    "keeps turns word for word, and that StructMem searches a typed graph. Its own runs had an A-MEM that stores word for "
    "word without a description by a model.",
    "The systems have different embedders, as in the published evaluation: differences in retrieval may come from these.",
)


def table_1() -> Exhibit:
    """A row for each system that has a class here, and for each baseline."""
    records: list[dict[str, Value]] = []
    for name, ways in _WAYS.items():
        known = SYSTEMS.get(name)
        records.append(
            {
                "system": name,
                "kind": "system" if known else "baseline",
                "in_the_paper": int(known is not None and name not in _NOT_IN_THE_PAPER),
                "summarize": ways.summarize,
                "store": ways.store,
                "retrieve": ways.retrieve,
                "package": " ".join(known.package) if known else None,
                "embedder": known.embedder.rpartition("/")[2].removeprefix("openai:") if known else None,
                "source": "own",
            }
        )
    assert _WAYS.keys() == {*SYSTEMS, *BASELINES}
    shown = ("summarize", "store", "retrieve", "package", "embedder")
    rows = [
        [f"{one['system']} (baseline)" if one["kind"] == "baseline" else str(one["system"]), *(str(one[c] or "–") for c in shown)]
        for one in records
    ]  # fmt: skip
    head = ["system", "summarise", "store", "retrieve", "package", "embedder"]
    ends = [i for i in range(len(rows) - 1) if records[i]["kind"] != records[i + 1]["kind"]]
    table = Table(head, rows, notes=_NOTES, text_columns=len(head), sections=ends)
    return Exhibit("Table 1", "How each memory system summarises, stores and retrieves", records, table)
