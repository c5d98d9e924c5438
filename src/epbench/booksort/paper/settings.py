"""What answered, and what was chosen for it on held-out pairs: models, prompts, queries and readings (Tables 5, 7, 8, 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.retrieval import DEPTH, RETRIEVED, recall_at
from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import UNTESTED, about, named
from epbench.booksort.prompt_selection import CHOICE, CHOSEN
from epbench.files.json_files import read_json
from epbench.files.safe_text import one_line
from epbench.journals.journal import read_journal
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, columns_of, exhibit, fixed, mean_margin
from epbench.reports.reported import sources
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean


def table_5(inputs: Inputs) -> Exhibit | Missing:
    """The models of the paper, and those of the runs (Appendix C.1)."""
    reported = [row for row in inputs.reported if "mmlu" in row.scores]
    nothing, rows = (None, None, None), list[tuple[Value, ...]]()
    rows += [("reported", row.model, row.note, *nothing, row.scores["mmlu"]) for row in reported]
    of_model: dict[tuple[str, Any], list[str]] = {}
    for run in inputs.runs:
        of_model.setdefault((run.model, run.identity.get("weights")), []).append(run.memory)
    for (model, weights), memories in of_model.items():
        name, listed = model.partition(":")[2] or model, ", ".join(sorted({*memories}))
        rows.append(("own", model, name, weights, listed, len(memories), None))
    notes = [
        "MMLU: percent, as it is reported; it is not measured here. weights: the fingerprint of the files, for models on this "
        "machine.",
        *sources(reported),
    ]
    shown = columns_of({"name": "name", "weights": "weights", "memories": "memories"}, 3)
    columns = [*named("of_model"), *shown, Column("runs", "n_runs"), Column("MMLU", fixed("mmlu", 2))]
    names = ("source", "model", "name", "weights", "memories", "n_runs", "mmlu")
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return exhibit("Table 5", "The models", records, columns, notes, needs="at least one run", sections="source")


def chosen_tables(inputs: Inputs, what: str) -> list[Exhibit | Missing]:
    """The prompt, or the reading of passages, that was chosen for each model, and how well each did that was tried."""
    name = {"prompt": "Table 7", "reading": "Table 10"}[what]
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
    notes = [
        "The numbers are the paper's; the texts are those of this package, in its own words. The choice is made on the "
        "validation split: of those within one standard error of the best accuracy, the one whose share of A is nearest to one "
        "half. tied: how many were within it.",
        *sources(reported),
    ]
    asked = [*columns_of({"pairs": "pairs", what: what}, 1), *named("accuracy"), Column("share of A", "share_a")]
    columns = [*named("of_model memory"), *asked, *named("n failed"), Column("tied", "n_tied")]
    title = f"The {what} that was chosen for each model on held-out pairs"
    chosen = exhibit(name, title, rows, columns, notes, needs=needs, sections="source")
    if not rows:
        return [chosen]
    sizes = " to ".join(f"{n}" for n in sorted({min(of), max(of)})) if (of := [row["n"] for row in tried]) else ""
    about_all = [
        f"Each accuracy is over {sizes} held-out pairs. ← marks the choice. The numbers are not tested against one another: they "
        "chose, and do not show a result."
    ]
    shown = mean_margin()
    columns = columns_of({what: what, "{}": lambda row: shown(row) + (" ←" if row["chosen"] else "")})
    title = f"Accuracy of every {what} that was tried on held-out pairs"
    every: list[Row] = [{**row, "tried": f"{row['label']} ({row['pairs']})"} for row in tried]
    name = f"{name}, all that were tried"
    return [chosen, exhibit(name, title, every, columns, about_all, needs=needs, across="tried")]


def _tried(run: PaperRun, what: str) -> Iterator[Row]:
    """Every text that a run tried; without an accuracy if questions failed."""
    for part in runs_in(run.folder):
        choice = read_json(part / CHOICE, CHOSEN) if (part / CHOICE).is_file() else {}
        pairs = " ".join(read_run(part)["identity"].get("config") or ())
        for one in choice[f"{what}s"] if what in choice else ():
            number, tied, n, failed = one["number"], choice["tied"], one["n"], one["failed"]
            found, right = Estimate(n, 0, one["accuracy"] if n else None), round(one["accuracy"] * n)
            if failed:
                found = Estimate(n, failed, lowest=right / (n + failed), highest=(right + failed) / (n + failed))
            names = {**about(run), "pairs": pairs, what: number, "chosen": int(number == choice[what])}
            names |= {"tied": int(number in tied), "n_tied": len(tied)}
            yield {**names, **found.columns(*UNTESTED), "share_a": one["share_a"]}


def table_8(inputs: Inputs) -> Exhibit | Missing:
    """The queries, with the recall of the paper and of the runs that searched with them (Appendix C.4.1)."""
    queries, recall_of = load_prompts().queries, "recall_at_10."  # the number of the query follows
    reported = [row for row in inputs.reported if any(score.startswith(recall_of) for score in row.scores)]
    rows: list[Row] = []
    for row in reported:
        names = {"source": "reported", "label": row.source, "retriever": row.model, "pairs": row.dataset}
        names["search"] = f"{row.model} (reported)"
        for score, value in row.scores.items():
            rows.append({**names, "query": int(score.removeprefix(recall_of)), **_recalled(Estimate(None, 0, value))})
    for run in (run for run in inputs.runs if run.memory == "rag"):
        retriever, pairs = str(run.identity.get("retriever")), f"{' '.join(run.configs)}, {run.identity.get('split')}"
        names = {"source": "own", "label": run.label, "retriever": retriever, "pairs": pairs}
        names["search"] = f"{run.label}: {retriever}, {pairs}"
        rows.append({**names, "query": run.identity.get("query", 0), **_recalled(_recall(run))})
    rows.sort(key=lambda row: int(row["query"]))
    notes = [
        "A segment is found if a passage contains at least half of its characters. The queries are those of this package, "
        "in its own words; their numbers are those of the paper. ± is how far the 95 % interval, which draws excerpts, reaches.",
        *sources(reported),
    ]
    columns = [
        Column("no.", lambda row: str(row["query"]), text=True),
        Column("query", lambda row: one_line(queries[row["query"]]) if row["query"] < len(queries) else "–", text=True),
        Column("{}", mean_margin()),
    ]
    title = f"The share of segments that a search finds among its first {DEPTH} passages, by what is searched for"
    needs = "at least one run with memory rag"
    return exhibit("Table 8", title, rows, columns, notes, needs=needs, across="search")


def _recalled(recall: Estimate) -> dict[str, Value]:
    return {**recall.columns("mean", "low", "high"), "n": recall.n and 2 * recall.n}


def _recall(run: PaperRun) -> Estimate:
    """The recall of a run, from what it retrieved for the pairs that it asked."""
    import numpy as np

    # The second asking of a pair has the passages of the first.
    asked = run.questions.query("not swapped").set_index("id")["excerpt"]
    records = [record for part in runs_in(run.folder) for record in read_journal(part / RETRIEVED).values()]
    found = framed({"id": one["id"], "recall": recall_at([one])} for one in records if one["id"] in asked.index)
    if found.empty:
        return Estimate(None)
    return estimate(
        found.assign(excerpt=asked.reindex(found["id"]).to_numpy()),
        "recall",
        cluster="excerpt",
        interval=lambda values, of: cluster_bootstrap(
            lambda weights: weighted_mean(weights, np.array(values)), of, bounds=(0.0, 1.0)
        ),
    )
