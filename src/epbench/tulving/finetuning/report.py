"""What a fine-tuning run on a Tulving book shows: its scores, tables by epoch, and a page with one figure.

Paper: Section 5.1 (Table 3) and Appendix B.2.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.finetuning.curves import Series, curves, perplexity_table, training_page, training_summary
from epbench.hub.rows import Row
from epbench.reports.tables import Table
from epbench.tulving.finetuning.material import TulvingPlan
from epbench.tulving.finetuning.measures import EMPTY, NOT_TRAINED, RUN, TRAINED
from epbench.tulving.questions.generate import BINS
from epbench.tulving.scores.tables import judge_lines, n_in_bin, narrow_cell

Record = Mapping[str, Any]

_GROUPS = {TRAINED: "trained", NOT_TRAINED: "not trained", EMPTY: "never happened"}
_GROUPS_NOTE = (
    "Mean F1 of all questions that were asked, whatever they ask for: those that were trained word for word, others that the "
    "book answers, and those about what never happened."
)
_PERPLEXITY_NOTE = "Of the answers that were trained, and of a text that never was: it shows what the model forgets."


def scores_of(measures: Sequence[Record], steps: Sequence[Record], plan: TulvingPlan, method: str) -> dict[str, Any]:
    """Put together the content of scores.json, from the measures by `epoch` and the records of training.jsonl."""
    ids = plan.trained_ids
    asked = _by_bin(plan.rows)
    trained = _by_bin([row for row in plan.rows if row["id"] in ids])
    return {
        "method": method,
        "n_trained": len(plan.trained),
        "asked_by_bin": asked,
        "trained_by_bin": trained,
        "epochs": [dict(record) for record in measures],
        "training": training_summary(steps),
        "warnings": _warnings(asked, trained),
    }


def _by_bin(rows: Sequence[Row]) -> dict[str, int]:
    counts = Counter(row["bin"] for row in rows)
    return {bin_: counts[bin_] for bin_ in BINS if counts[bin_]}


def _warnings(asked: Mapping[str, int], trained: Mapping[str, int]) -> list[str]:
    if trained.get("1", 0) == asked.get("1", 0):
        return []
    return [
        f"of {asked['1']} questions of bin 1, {trained.get('1', 0)} are trained word for word; the others ask for facts that "
        "were trained in other words, as those of a published book do, so scores differ from those of the paper"
    ]


def what_was_trained(scores: Record) -> list[str]:
    """Say which bins were trained, and so what each of them shows."""
    asked, trained = scores["asked_by_bin"], scores["trained_by_bin"]
    lines = [f"{scores['n_trained']:,} questions about one chapter each were trained, with their answers."]
    if asked.get("1") and trained.get("1") == asked["1"]:
        lines.append(
            "All questions of bin 1 are among them, so this bin shows what was memorised word for word, and not "
            "what is remembered."
        )
    if others := [bin_ for bin_ in asked if bin_ not in ("0", "1") and not trained.get(bin_)]:
        lines.append(
            f"No question of bins {', '.join(others)} was trained: they show whether the model can put together facts that "
            "it was trained on one by one."
        )
    if asked.get("0") and not trained.get("0"):
        lines.append(
            "Bin 0 asks for what never happened, and nothing of it was trained: it shows whether the model confabulates."
        )
    return lines


def tables(scores: Record) -> list[Table]:
    """F1 by bin, trained questions and others, and perplexities: a row for each measured epoch, and what they mean."""
    epochs = scores["epochs"]
    runs = {str(record["epoch"]): record[RUN] for record in epochs}
    bins = [bin_ for bin_ in BINS if any(bin_ in run["n_by_bin"] for run in runs.values())]
    names = [*(f"f1_by_bin.{bin_}" for bin_ in bins), "simple_recall_score", "latest"]
    head = [*(f"{bin_} ({n_in_bin(runs, bin_)})" for bin_ in bins), "simple recall", "latest"]
    rows = [[epoch, *(narrow_cell(run, name) for name in names)] for epoch, run in runs.items()]
    method = f"Method: {scores['method']}. Epoch 0 is the model before training."
    notes = [method, *what_was_trained(scores), *_notes(runs)]
    return [
        Table(["epoch", *head], rows, "F1 by matching chapters", notes),
        _groups_table(runs),
        perplexity_table(epochs, [_PERPLEXITY_NOTE], episodic=False),
    ]


def _notes(runs: Mapping[str, Record]) -> list[str]:
    """What is missing after which epoch and why, and who judged."""
    lines = []
    for epoch, run in runs.items():
        if run["n_failed"]:
            reasons = "; ".join(f"{n} times {reason}" for reason, n in run["failures"].items())
            lines.append(
                f"Epoch {epoch}: {run['n_failed']} of {run['n_questions']} questions have no answer or verdict ({reasons})."
            )
    if lines:
        lines.append("* A range, from all questions without an answer or verdict wrong to all of them right.")
    return [*lines, *judge_lines({f"epoch {epoch}": run for epoch, run in runs.items()})]


def _groups_table(runs: Mapping[str, Record]) -> Table:
    counts = {group: part["n"] for run in runs.values() for group, part in run["groups"].items()}
    groups = [group for group in _GROUPS if group in counts]
    cells = {epoch: [_group_cell(run["groups"][group]) for group in groups] for epoch, run in runs.items()}
    rows = [[epoch, *cells[epoch], str(run["n_failed"])] for epoch, run in runs.items()]
    head = ["epoch", *(f"{_GROUPS[group]} ({counts[group]})" for group in groups), "failed"]
    return Table(head, rows, "Trained questions and others", [_GROUPS_NOTE])


def _group_cell(group: Record) -> str:
    if group["bounds"]:
        low, high = group["bounds"]
        return f"{low:.3f}– {high:.3f}*"
    interval = group["interval"]
    return f"{group['f1']:.3f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else "")


def html_report(title: str, run: Record, scores: Record) -> str:
    """The page of a run, from the contents of run.json and scores.json."""
    return training_page(title, run, scores, figure(scores) + "".join(table.html() for table in tables(scores)))


def figure(scores: Record) -> str:
    """Draw F1 by bin and perplexities, by epoch. A bin in which questions have failed has no value at that epoch."""
    records = scores["epochs"]
    runs = [record[RUN] for record in records]
    bins = [bin_ for bin_ in BINS if any(bin_ in run["n_by_bin"] for run in runs)]
    remembered = [
        Series(
            f"bin {bin_}{', trained' if scores['trained_by_bin'].get(bin_) else ''}",
            [run["f1_by_bin"].get(bin_) for run in runs],
            [run["intervals"].get(f"f1_by_bin.{bin_}") for run in runs],
        )
        for bin_ in bins
    ]
    perplexities = [record["perplexity"] for record in records]
    return curves([record["epoch"] for record in records], remembered, perplexities, episodic=False)
