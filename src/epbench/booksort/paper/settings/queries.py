"""What is searched for to find the passages of a pair, and how often it finds them (Appendix C.4.1, Table 8)."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.retrieval import DEPTH, RETRIEVED, recall_at
from epbench.booksort.paper.inputs import PaperRun
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.exhibits.reported import ReportedRow
from epbench.journals.journal import read_journal
from epbench.reports.tables import Table, cell
from epbench.runs.several import runs_in
from epbench.safe_text import one_line
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

NAME = "Table 8"
TITLE = f"The share of segments that a search finds among its first {DEPTH} passages, by what is searched for"
SCORE = "recall_at_10."
"""What the scores of the reported rows begin with; the number of the query follows."""


def table_8(runs: Sequence[PaperRun], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """The queries, with the recall of the paper and of the runs that searched with them.

    Args:
        runs: Of these, those with memory `rag` are shown.
        reported: Rows with scores such as `recall_at_10.8`.
    """
    queries = load_prompts().queries
    records = [
        _record("reported", row.source, row.model, row.dataset, number, row.scores.get(f"{SCORE}{number}"))
        for row in reported
        for number in range(len(queries))
        if f"{SCORE}{number}" in row.scores
    ]
    for run in runs:
        if run.memory == "rag":
            records.append(_own(run))
    if not records:
        return Missing(NAME, TITLE, "at least one run with memory rag")
    shown: dict[tuple[Value, str], str] = {}
    for record in records:
        column = _column(record)
        if (record["query"], column) in shown:  # two runs with one query
            column = f"{record['label']}: {column}"
        shown[record["query"], column] = _shown(record)
    columns = list(dict.fromkeys(column for _, column in shown))
    numbers = sorted({*range(len(queries)), *(int(str(record["query"])) for record in records)})
    rows = [
        [
            str(number),
            one_line(queries[number]) if number < len(queries) else "–",
            *(shown.get((number, column), "–") for column in columns),
        ]
        for number in numbers
    ]
    notes = [
        "A segment is found if a passage contains at least half of its characters. The queries are those of this package, "
        "in its own words; their numbers are those of the paper. ± is half the width of a 95 % interval that draws excerpts.",
        *(f"Reported: {row.source}, {row.table}, on {row.dataset}." for row in reported),
    ]
    return Exhibit(NAME, TITLE, records, Table(["no.", "query", *columns], rows, notes=notes, text_columns=2))


def _own(run: PaperRun) -> dict[str, Value]:
    """The recall of a run, from what it retrieved for the pairs that it asked."""
    once = run.questions[~run.questions["swapped"]]  # the second asking of a pair has the passages of the first
    excerpt = dict(zip(once["id"], once["excerpt"], strict=True))
    found = [
        record
        for part in runs_in(run.folder)
        for record in read_journal(part / RETRIEVED).values()
        if record["id"] in excerpt
    ]
    pairs = f"{' '.join(run.configs)}, {run.identity.get('split')}"
    about = _record("own", run.label, str(run.identity.get("retriever")), pairs, run.identity.get("query", 0))
    if not found:
        return about
    import numpy as np

    shares = np.array([recall_at([record]) for record in found], float)
    interval = cluster_bootstrap(lambda w: weighted_mean(w, shares), [excerpt[record["id"]] for record in found])
    low, high = interval or (None, None)
    return about | {"recall": recall_at(found), "low": low, "high": high, "n": 2 * len(found)}


def _record(
    source: str, label: str, retriever: str, pairs: str, query: int, recall: float | None = None
) -> dict[str, Value]:
    about: dict[str, Value] = {"source": source, "label": label, "retriever": retriever, "pairs": pairs, "query": query}
    return about | {"recall": recall, "low": None, "high": None, "n": None}


def _column(record: dict[str, Value]) -> str:
    if record["source"] == "reported":
        return f"{record['retriever']} (reported)"
    return f"{record['retriever']}, {record['pairs']}"


def _shown(record: dict[str, Value]) -> str:
    low, high = record["low"], record["high"]
    half = f" ± {(high - low) / 2:.3f}" if isinstance(low, float) and isinstance(high, float) else ""
    return cell(record["recall"]) + half
