"""What answered, and what was chosen for it on held-out pairs: models, prompts, queries and readings (Tables 5, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.retrieval import DEPTH, RETRIEVED, recall_at
from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import ACCURACY, FAILED, MEMORY, OF_MODEL, UNTESTED, N, about
from epbench.booksort.prompt_selection import CHOICE, CHOSEN
from epbench.files.json_files import read_json
from epbench.files.safe_text import one_line
from epbench.journals.journal import read_journal
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_half
from epbench.reports.reported import sources
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

_RECALL = "recall_at_10."
"""What the scores of reported rows of Table 8 begin with; the number of the query follows."""


def table_5(inputs: Inputs) -> Exhibit | Missing:
    """The models of the paper, and those of the runs (Appendix C.1)."""
    reported = [row for row in inputs.reported if "mmlu" in row.scores]
    rows: list[tuple[Value, ...]] = [
        ("reported", row.model, row.note, None, None, None, row.scores["mmlu"]) for row in reported
    ]
    models = dict.fromkeys((run.model, run.identity.get("weights")) for run in inputs.runs)
    for model, weights in models:
        runs = [run for run in inputs.runs if (run.model, run.identity.get("weights")) == (model, weights)]
        memories = ", ".join(sorted({run.memory for run in runs}))
        rows.append(("own", model, model.partition(":")[2] or model, weights, memories, len(runs), None))
    if not rows:
        return Missing("Table 5", "The models", "at least one run")
    notes = [
        "MMLU: percent, as it is reported; it is not measured here. weights: the fingerprint of the files, for models on this "
        "machine.",
        *sources(reported),
    ]
    texts = [Column(name, name, text=True) for name in ("name", "weights", "memories")]
    mmlu = Column("MMLU", lambda row: "–" if row["mmlu"] is None else f"{row['mmlu']:.2f}")
    columns = [OF_MODEL, *texts, Column("runs", "n_runs"), mmlu]
    names = ("source", "model", "name", "weights", "memories", "n_runs", "mmlu")
    frame = framed(dict(zip(names, row, strict=True)) for row in rows)
    return Exhibit("Table 5", "The models", frame, columns, notes, sections="source")


def chosen_tables(inputs: Inputs, what: str) -> list[Exhibit | Missing]:
    """The prompt, or the reading of passages, that was chosen for each model, and how well each did that was tried.

    Args:
        inputs: The runs that chose on held-out pairs are shown, and reported rows with a score of that name: the number
            that was chosen.
        what: `prompt` or `reading`.
    """
    name = {"prompt": "Table 7", "reading": "Table 10"}[what]
    title = f"The {what} that was chosen for each model on held-out pairs"
    reported = [row for row in inputs.reported if what in row.scores]
    tried = [row for run in inputs.runs for row in _tried(run, what)]
    empty = dict.fromkeys(("tied", "n_tied", *UNTESTED, "share_a"))
    rows: list[Row] = []
    for row in reported:
        names = {"source": "reported", "label": row.source, "model": row.model, "memory": row.memory}
        rows.append({**names, "pairs": row.dataset, what: int(row.scores[what]), "chosen": 1, **empty})
    rows += [row for row in tried if row["chosen"]]
    kind = "runs in which the prompt" if what == "prompt" else "runs with retrieval in which the reading of passages"
    needs = f"{kind} was chosen on held-out pairs"
    if not rows:
        return [Missing(name, title, needs)]
    notes = [
        "The numbers are the paper's; the texts are those of this package, in its own words. The choice is made on the "
        "validation split: of those within one standard error of the best accuracy, the one whose share of A is nearest to one "
        "half. tied: how many were within it.",
        *sources(reported),
    ]
    asked = [Column("pairs", "pairs", text=True), Column(what, what)]
    columns = [OF_MODEL, MEMORY, *asked, ACCURACY, Column("share of A", "share_a"), N, FAILED, Column("tied", "n_tied")]
    chosen = Exhibit(name, title, framed(rows), columns, notes, sections="source")
    return [chosen, _sweep(f"{name}, all that were tried", what, tried, needs)]


def _sweep(name: str, what: str, tried: Sequence[Row], needs: str) -> Exhibit | Missing:
    title = f"Accuracy of every {what} that was tried on held-out pairs"
    if not tried:
        return Missing(name, title, needs)
    sizes = sorted({row["n"] for row in tried})
    notes = [
        f"Each accuracy is over {sizes[0]}{f' to {sizes[-1]}' if len(sizes) > 1 else ''} held-out pairs. ← marks the choice. The "
        "numbers are not tested against one another: they chose, and do not show a result."
    ]
    shown = mean_half()
    columns = [Column(what, what), Column("{}", lambda row: shown(row) + (" ←" if row["chosen"] else ""))]
    rows = [{**row, "tried": f"{row['label']} ({row['pairs']})"} for row in tried]
    return Exhibit(name, title, framed(rows), columns, notes, across="tried")


def _tried(run: PaperRun, what: str) -> list[Row]:
    """Every text that a run tried; without an accuracy if questions failed."""
    rows: list[Row] = []
    for part in runs_in(run.folder):
        choice = read_json(part / CHOICE, CHOSEN) if (part / CHOICE).is_file() else {}
        pairs = " ".join(read_run(part)["identity"].get("config") or ())
        for one in choice[f"{what}s"] if what in choice else ():
            number, tied = one["number"], choice["tied"]
            names = {**about(run), "pairs": pairs, what: number, "chosen": int(number == choice[what])}
            names |= {"tied": int(number in tied), "n_tied": len(tied)}
            rows.append({**names, **_estimate(one).columns(*UNTESTED), "share_a": one["share_a"]})
    return rows


def _estimate(one: Mapping[str, Any]) -> Estimate:
    n, failed, right = one["n"], one["failed"], round(one["accuracy"] * one["n"])
    if failed:
        return Estimate(n, failed, lowest=right / (n + failed), highest=(right + failed) / (n + failed))
    return Estimate(n, 0, one["accuracy"] if n else None)


def table_8(inputs: Inputs) -> Exhibit | Missing:
    """The queries, with the recall of the paper and of the runs that searched with them (Appendix C.4.1)."""
    name = "Table 8"
    title = f"The share of segments that a search finds among its first {DEPTH} passages, by what is searched for"
    queries = load_prompts().queries
    reported = [row for row in inputs.reported if any(score.startswith(_RECALL) for score in row.scores)]
    rows = [
        _search(
            "reported", row.source, row.model, row.dataset, int(score.removeprefix(_RECALL)), Estimate(None, 0, value)
        )
        for row in reported
        for score, value in row.scores.items()
    ]
    rows += [_recall(run) for run in inputs.runs if run.memory == "rag"]
    if not rows:
        return Missing(name, title, "at least one run with memory rag")
    rows.sort(key=lambda row: row["query"])
    notes = [
        "A segment is found if a passage contains at least half of its characters. The queries are those of this package, "
        "in its own words; their numbers are those of the paper. ± is half the width of a 95 % interval that draws excerpts.",
        *sources(reported),
    ]
    columns = [
        Column("no.", lambda row: str(row["query"]), text=True),
        Column("query", lambda row: one_line(queries[row["query"]]) if row["query"] < len(queries) else "–", text=True),
        Column("{}", mean_half()),
    ]
    return Exhibit(name, title, framed(rows), columns, notes, across="search")


def _search(source: str, label: str, retriever: str, pairs: str, query: int, recall: Estimate) -> dict[str, Any]:
    search = f"{retriever} (reported)" if source == "reported" else f"{label}: {retriever}, {pairs}"
    names = {"source": source, "label": label, "retriever": retriever, "pairs": pairs, "search": search, "query": query}
    return {**names, **recall.columns("mean", "low", "high"), "n": recall.n and 2 * recall.n}


def _recall(run: PaperRun) -> dict[str, Any]:
    """The recall of a run, from what it retrieved for the pairs that it asked."""
    import numpy as np

    # The second asking of a pair has the passages of the first.
    asked = run.questions.query("not swapped").set_index("id")["excerpt"]
    records = [record for part in runs_in(run.folder) for record in read_journal(part / RETRIEVED).values()]
    found = framed({"id": one["id"], "recall": recall_at([one])} for one in records if one["id"] in asked.index)
    recall = Estimate(None)
    if len(found):
        recall = estimate(
            found.assign(excerpt=asked.reindex(found["id"]).to_numpy()),
            "recall",
            cluster="excerpt",
            interval=lambda values, of: cluster_bootstrap(lambda weights: weighted_mean(weights, np.array(values)), of),
        )
    pairs = f"{' '.join(run.configs)}, {run.identity.get('split')}"
    retriever, query = str(run.identity.get("retriever")), run.identity.get("query", 0)
    return _search("own", run.label, retriever, pairs, query, recall)
