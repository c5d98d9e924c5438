"""The models that answered, with what the paper says of its own (Appendix C.1, Table 5)."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.booksort.paper.inputs import PaperRun
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table

NAME, TITLE = "Table 5", "The models"
SCORE = "mmlu"
"""The score of the reported rows: accuracy on MMLU in percent. Their note is the model's name at Hugging Face."""


def table_5(runs: Sequence[PaperRun], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """The models of the paper, and those of the runs that are given.

    Args:
        runs: May be empty.
        reported: Rows with a score `mmlu`.
    """
    records: list[dict[str, Value]] = [
        {
            "source": "reported", "model": row.model, "name": row.note, "weights": None, "memories": None, "n_runs": None,
            "mmlu": row.scores[SCORE],
        }
        for row in reported
    ]  # fmt: skip
    by_model: dict[tuple[str, str | None], list[PaperRun]] = {}
    for run in runs:
        by_model.setdefault((run.model, run.identity.get("weights")), []).append(run)
    for (model, weights), of_model in by_model.items():
        memories = ", ".join(sorted({run.memory for run in of_model}))
        about: dict[str, Value] = {"source": "own", "model": model, "name": model.partition(":")[2] or model}
        records.append(about | {"weights": weights, "memories": memories, "n_runs": len(of_model), "mmlu": None})
    if not records:
        return Missing(NAME, TITLE, "at least one run")
    notes = [
        f"MMLU: percent, as {'; '.join(sorted({f'{row.source}, {row.table}' for row in reported}))} reports it; it is not "
        "measured here. weights: the fingerprint of the files, for models on this machine."
    ] if reported else []  # fmt: skip
    head = ["model", "name", "weights", "memories", "runs", "MMLU"]
    rows = [_cells(record) for record in records]
    return Exhibit(NAME, TITLE, records, Table(head, rows, notes=notes, text_columns=4))


def _cells(record: dict[str, Value]) -> list[str]:
    own = record["source"] == "own"
    mmlu = record["mmlu"]
    shown = [record["name"], record["weights"], record["memories"], record["n_runs"]]
    first = marked(str(record["model"]), "own" if own else "reported")
    return [first, *("–" if one is None else str(one) for one in shown), f"{mmlu:.2f}" if mmlu is not None else "–"]
