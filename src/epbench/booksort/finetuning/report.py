"""What a fine-tuning run on the texts of Book-SORT shows: its scores, a table by epoch, and a page with one figure.

Paper: Section 5.4 and Appendix F (Figures 15 to 20).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.scores.labels import LOW_MASS
from epbench.finetuning.curves import Series, curves, training_summary
from epbench.finetuning.measuring.page import training_page
from epbench.finetuning.measuring.tables import epoch_name, perplexity_table
from epbench.reports.comparison import comparison_html
from epbench.reports.tables import Table, cell, interval_cell
from epbench.statistics.comparison import Comparison

Record = Mapping[str, Any]
CHANCE = 0.5
_PERPLEXITY_NOTE = "Segments, books and instructions are of the kinds that are trained, the held-out text is not."


def scores_of(
    measures: Sequence[Record], steps: Sequence[Record], comparison: Comparison | None, method: str
) -> dict[str, Any]:
    """Put together the content of scores.json.

    Args:
        measures: The records of measures.jsonl, by epoch; see `epbench.booksort.finetuning.measures`.
        steps: The records of training.jsonl.
        comparison: All epochs compared with one another, question by question; None if there is only one.
        method: How the weights were trained, such as `all weights`; see `Recipe.method`.
    """
    return {
        "method": method,
        "epochs": [dict(record) for record in measures],
        "training": training_summary(steps),
        "comparisons": comparison.pairs if comparison else [],
        "warnings": _warnings(measures),
    }


def tables_of(scores: Record) -> list[Table]:
    """What is remembered and what it costs: tables with a row for each measured epoch."""
    return [_remembered(scores), perplexity_table(scores["epochs"], [_PERPLEXITY_NOTE])]


def _remembered(scores: Record) -> Table:
    head = ["epoch", "SORT", "95 %", "greedy", "label mass", "log ratio", "in-context", "read-out", "r"]
    rows = []
    for record in scores["epochs"]:
        sort, context, readout, r = (record.get(n) for n in ("sort", "sort_in_context", "readout", "pearson"))
        rows.append(
            [
                epoch_name(record["epoch"]), cell(sort["accuracy"]), interval_cell(sort["interval"], digits=2),
                cell(sort["greedy_accuracy"]), cell(sort["label_mass"]), cell(sort["log_ratio"]),
                cell(context and context["accuracy"]), cell(readout and readout["accuracy"]), cell(r and r["r"]),
            ]
        )  # fmt: skip
    notes = [
        "Epoch 0 is the model before training. Only after epoch 1 is the memory episodic, as every text was seen once.",
        "log ratio: mean of log(p(right) / (p(A) + p(B))) in nats, without context. r: Pearson's correlation over the pairs "
        "between this and the log perplexity of the segments.",
        "read-out: a logistic regression on the last hidden state, trained on all books but one and tested on that one.",
    ]
    return Table(head, rows, "What is remembered", notes)


def html_report(title: str, run: Record, scores: Record, comparison: Comparison | None) -> str:
    """The page of a run.

    Args:
        title: The name of the run.
        run: The content of run.json.
        scores: The content of scores.json.
        comparison: See `scores_of`.
    """
    compared = ""
    if comparison:
        compared = f"<h2>Epochs compared, question by question</h2>{comparison_html(comparison)}"
    tables = "".join(table.html() for table in tables_of(scores))
    return training_page(title, run, scores, f"{figure(scores)}{tables}{compared}")


def figure(scores: Record) -> str:
    """Draw what is remembered and what is forgotten, by epoch."""
    records = scores["epochs"]
    lines = [("SORT, no context", "sort"), ("SORT, in-context", "sort_in_context"), ("read-out", "readout")]
    remembered = [
        Series(
            label,
            [record[name]["accuracy"] for record in records],
            [record[name]["interval"] for record in records],
        )
        for label, name in lines
        if all(record.get(name) for record in records)
    ]
    perplexities = [record["perplexity"] for record in records]
    return curves([record["epoch"] for record in records], remembered, perplexities, chance=CHANCE)


def _warnings(measures: Sequence[Record]) -> list[str]:
    low = [record["epoch"] for record in measures if (record["sort"]["label_mass"] or 1.0) < LOW_MASS]
    found = []
    if low:
        found.append(
            f"after epoch {', '.join(map(str, low))} A and B together have less than half of the probability of an answer's "
            "first token, so that the accuracy is read from a small rest; see greedy and label mass"
        )
    if failed := sum(record["sort"]["n_failed"] for record in measures):
        found.append(f"{failed} questions have no answer and are left out; give the same command again")
    return found
