"""What a fine-tuning run on the texts of Book-SORT shows: its scores, a table by epoch, and a page with one figure.

Paper: Section 5.4 and Appendix F (Figures 15 to 20).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.scores.scoring import LOW_MASS
from epbench.finetuning.curves import Series, curves, epoch_name, perplexity_table, training_page, training_summary
from epbench.reports.comparison import comparison_html
from epbench.reports.tables import Table, cell, interval_cell
from epbench.statistics.paired import Comparison

Record = Mapping[str, Any]
CHANCE = 0.5


def scores_of(
    measures: Sequence[Record],
    steps: Sequence[Record],
    comparison: Comparison | None,
    method: str,
    control: str | None = None,
) -> dict[str, Any]:
    """Put together the content of scores.json from the records of measures.jsonl, by epoch, and of training.jsonl.

    `comparison` is of all epochs with one another, question by question; `control` what was trained in place of the
    books.
    """
    return {
        "method": method,
        "control": control,
        "epochs": [dict(record) for record in measures],
        "training": training_summary(steps),
        "comparisons": comparison.pairs if comparison else [],
        "warnings": _warnings(measures),
    }


def tables_of(scores: Record) -> list[Table]:
    """What is remembered and what it costs: tables with a row for each measured epoch."""
    note, episodic = _perplexity_note(scores), scores["control"] is None
    return [_remembered(scores), perplexity_table(scores["epochs"], [note], episodic=episodic)]


def _remembered(scores: Record) -> Table:
    head = ["epoch", "SORT", "95 %", "greedy", "label mass", "log ratio", "in-context", "read-out", "r"]
    episodic = scores["control"] is None
    shown = epoch_name if episodic else str
    rows = []
    for record in scores["epochs"]:
        sort, context, readout, r = (record.get(n) for n in ("sort", "sort_in_context", "readout", "pearson"))
        rows.append(
            [
                shown(record["epoch"]),
                cell(sort["accuracy"]),
                interval_cell(sort["interval"], digits=2),
                cell(sort["greedy_accuracy"]),
                cell(sort["label_mass"]),
                cell(sort["log_ratio"]),
                cell(context and context["accuracy"]),
                cell(readout and readout["accuracy"]),
                cell(r and r["r"]),
            ]
        )
    trained = (
        "Only after epoch 1 is the memory episodic, as every text was seen once."
        if episodic
        else f"This is a control ({scores['control']}): the books were never trained."
    )
    notes = [
        f"Method: {scores['method']}. Epoch 0 is the model before training. {trained}",
        "log ratio: mean of log(p(right) / (p(A) + p(B))) in nats, without context. r: Pearson's correlation over the pairs "
        "between this and the log perplexity of the segments.",
        "read-out: a logistic regression on the last hidden state, trained on all books but one and tested on that one.",
    ]
    return Table(head, rows, "What is remembered", notes)


def _perplexity_note(scores: Record) -> str:
    """Say which of the texts were trained: the books unless this is a control, and instructions if there were any."""
    instructions = any("instructions" in record["perplexity"] for record in scores["epochs"])
    if scores["control"] is None:
        trained = "Segments, books and instructions" if instructions else "Segments and books"
        return f"{trained} are of the kinds that are trained, the held-out text is not."
    of_kind = "Instructions are of a kind that is trained. " if instructions else ""
    return f"{of_kind}Segments, books and the held-out text were never trained."


def html_report(title: str, run: Record, scores: Record, comparison: Comparison | None) -> str:
    """The page of a run, from the contents of run.json and scores.json."""
    compared = ""
    if comparison:
        compared = f"<h2>Epochs compared, question by question</h2>{comparison_html(comparison)}"
    tables = "".join(table.html() for table in tables_of(scores))
    return training_page(title, run, scores, f"{_figure(scores)}{tables}{compared}")


def _figure(scores: Record) -> str:
    """Draw what is remembered and what is forgotten, by epoch."""
    records = scores["epochs"]
    lines = [("SORT, no context", "sort"), ("SORT, in-context", "sort_in_context"), ("read-out", "readout")]
    remembered = [
        Series(label, *([record[name][what] for record in records] for what in ("accuracy", "interval")))
        for label, name in lines
        if all(record.get(name) for record in records)
    ]
    perplexities = [record["perplexity"] for record in records]
    epochs, episodic = [record["epoch"] for record in records], scores["control"] is None
    return curves(epochs, remembered, perplexities, chance=CHANCE, episodic=episodic)


def _warnings(measures: Sequence[Record]) -> list[str]:
    masses = {record["epoch"]: record["sort"]["label_mass"] for record in measures}
    warnings = []
    if low := [epoch for epoch, mass in masses.items() if mass is not None and mass < LOW_MASS]:
        warnings.append(
            f"{_epochs(low)}: A and B together have less than half of the probability of an answer's first token, so that "
            "the accuracy is read from a small rest; see greedy and label mass"
        )
    runs = ("sort", "sort_in_context")
    failed = {record["epoch"]: sum(record[run]["n_failed"] for run in runs if record[run]) for record in measures}
    if without := [epoch for epoch, n in failed.items() if n]:
        warnings.append(
            f"{_epochs(without)}: {sum(failed.values()):,} questions have no answer, so that accuracies are unknown"
        )
    return warnings


def _epochs(numbers: Sequence[int]) -> str:
    return f"{'epoch' if len(numbers) == 1 else 'epochs'} {', '.join(map(str, numbers))}"
