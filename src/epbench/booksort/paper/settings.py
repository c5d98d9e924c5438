"""What answered, and what was chosen for it on held-out pairs: models, prompts, queries and readings (Tables 5, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.retrieval import DEPTH, RETRIEVED, recall_at
from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import ACCURACY, FAILED, Group, N, about, prepared, sources
from epbench.booksort.prompt_selection import CHOICE, CHOSEN
from epbench.files.json_files import read_json
from epbench.journals.journal import read_journal
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_half, of_source
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in
from epbench.safe_text import one_line
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

_MODEL = Column("model", of_source("model"), text=True)


def table_5(inputs: Inputs) -> Exhibit | Missing:
    """The models of the paper, and those of the runs (Appendix C.1)."""
    reported = [row for row in inputs.reported if "mmlu" in row.scores]
    rows: list[Row] = [
        {"source": "reported", "model": row.model, "name": row.note, "weights": None, "memories": None, "n_runs": None,
         "mmlu": row.scores["mmlu"]}
        for row in reported
    ]  # fmt: skip
    by_model: dict[tuple[str, str | None], list[PaperRun]] = {}
    for run in inputs.runs:
        by_model.setdefault((run.model, run.identity.get("weights")), []).append(run)
    for (model, weights), runs in by_model.items():
        memories = ", ".join(sorted({run.memory for run in runs}))
        names = {"source": "own", "model": model, "name": model.partition(":")[2] or model, "weights": weights}
        rows.append({**names, "memories": memories, "n_runs": len(runs), "mmlu": None})
    if not rows:
        return Missing("Table 5", "The models", "at least one run")
    notes = [
        "MMLU: percent, as it is reported; it is not measured here. weights: the fingerprint of the files, for models on this "
        "machine.",
        *sources(reported),
    ]
    columns = [
        _MODEL, Column("name", "name", text=True), Column("weights", "weights", text=True),
        Column("memories", "memories", text=True), Column("runs", "n_runs"),
        Column("MMLU", lambda row: "–" if row["mmlu"] is None else f"{row['mmlu']:.2f}"),
    ]  # fmt: skip
    return Exhibit("Table 5", "The models", framed(rows), columns, notes, sections="source")


# What was chosen

_NUMBERS = ("mean", "low", "high", "lowest", "highest", "n", "n_failed")


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
    empty = dict.fromkeys(("tied", "n_tied", *_NUMBERS, "share_a"))
    theirs = [
        {"source": "reported", "label": row.source, "model": row.model, "memory": row.memory, "pairs": row.dataset,
         what: int(row.scores[what]), "chosen": 1, **empty}
        for row in reported
    ]  # fmt: skip
    kind = "runs in which the prompt" if what == "prompt" else "runs with retrieval in which the reading of passages"
    needs = f"{kind} was chosen on held-out pairs"
    rows = [*theirs, *(row for row in tried if row["chosen"])]
    if not rows:
        return [Missing(name, title, needs)]
    notes = [
        "The numbers are the paper's; the texts are those of this package, in its own words. The choice is made on the "
        "validation split: of those within one standard error of the best accuracy, the one whose share of A is nearest to one "
        "half. tied: how many were within it.",
        *sources(reported),
    ]
    columns = [
        _MODEL, Column("memory", "memory", text=True), Column("pairs", "pairs", text=True), Column(what, what), ACCURACY,
        Column("share of A", "share_a"), N, FAILED, Column("tied", "n_tied"),
    ]  # fmt: skip
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
            names = {**about(run), "pairs": pairs, what: one["number"], "chosen": int(one["number"] == choice[what])}
            tied = {"tied": int(one["number"] in choice["tied"]), "n_tied": len(choice["tied"])}
            rows.append({**names, **tied, **_estimate(one).columns(*_NUMBERS), "share_a": one["share_a"]})
    return rows


def _estimate(one: Mapping[str, Any]) -> Estimate:
    n, failed, right = one["n"], one["failed"], round(one["accuracy"] * one["n"])
    if failed:
        return Estimate(n, failed, lowest=right / (n + failed), highest=(right + failed) / (n + failed))
    return Estimate(n, 0, one["accuracy"] if n else None)


# What is searched for

_RECALL = "recall_at_10."
"""What the scores of the reported rows begin with; the number of the query follows."""


def table_8(inputs: Inputs) -> Exhibit | Missing:
    """The queries, with the recall of the paper and of the runs that searched with them (Appendix C.4.1)."""
    name = "Table 8"
    title = f"The share of segments that a search finds among its first {DEPTH} passages, by what is searched for"
    queries = load_prompts().queries
    reported = [row for row in inputs.reported if any(score.startswith(_RECALL) for score in row.scores)]
    rows: list[Row] = [
        {**_search("reported", row.source, row.model, row.dataset, int(score.removeprefix(_RECALL))),
         **Estimate(None, None, value).columns("mean", "low", "high", "n")}
        for row in reported for score, value in row.scores.items()
    ]  # fmt: skip
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


def _search(source: str, label: str, retriever: str, pairs: str, query: int) -> dict[str, Value]:
    search = f"{retriever} (reported)" if source == "reported" else f"{label}: {retriever}, {pairs}"
    names = {"source": source, "label": label, "retriever": retriever, "pairs": pairs}
    return {**names, "search": search, "query": query}


def _recall(run: PaperRun) -> Group:
    """The recall of a run, from what it retrieved for the pairs that it asked."""
    import numpy as np

    # The second asking of a pair has the passages of the first.
    asked = prepared(run.questions).query("not swapped").set_index("id")["excerpt"]
    records = [record for part in runs_in(run.folder) for record in read_journal(part / RETRIEVED).values()]
    found = framed({"id": one["id"], "recall": recall_at([one])} for one in records if one["id"] in asked.index)
    if len(found):
        found["excerpt"] = asked.reindex(found["id"]).to_numpy()
        recall = estimate(found, "recall", cluster="excerpt", interval=lambda values, of: cluster_bootstrap(
            lambda weights: weighted_mean(weights, np.array(values)), of
        ))  # fmt: skip
    else:
        recall = Estimate(None)
    pairs = f"{' '.join(run.configs)}, {run.identity.get('split')}"
    names = _search("own", run.label, str(run.identity.get("retriever")), pairs, run.identity.get("query", 0))
    numbers = recall.columns("mean", "low", "high", "n")
    return {**names, **numbers, "n": recall.n and 2 * recall.n}
