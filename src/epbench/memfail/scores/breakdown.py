"""What became of the questions in numbers, stage by stage, and how many tokens a question took (paper: Figures 6 to 9)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import by_config
from epbench.reports.tables import Runs, Scores, Table


def judged(scores: Scores) -> int:
    """The number of questions that a cell of by_k is about, without those that failed."""
    return int(scores["n"] - scores.get("failed", 0))


def count_of(scores: Scores, name: str) -> int | None:
    """How many questions a rate stands for, such as `storage_error`; None where the cell does not have it."""
    rate = scores.get(name)
    return None if rate is None else round(rate * judged(scores))


def with_tokens(scores: Scores, folder: Path) -> dict[str, Any]:
    """Add tokens_per_question to each k: the mean of prompt and reply of the reader, as the paper counts them.

    A reader that reports no usage, as one that follows rules, adds nothing.

    Args:
        scores: The content of scores.json.
        folder: The folder of the run.
    """
    tokens = defaultdict(list)
    for record in read_journal(folder / ANSWERS).values():
        usage = record.get("usage")
        if usage and record.get("failure") is None:
            tokens[str(record.get("id", "")).rpartition("@")[2]].append(usage["prompt"] + usage["completion"])
    by_k = {k: {**cell, **_mean(tokens.get(k, []))} for k, cell in scores["by_k"].items()}
    return {**scores, "by_k": by_k}


def _mean(tokens: list[int]) -> dict[str, float]:
    return {"tokens_per_question": sum(tokens) / len(tokens)} if tokens else {}


def breakdown_tables(runs: Runs) -> list[Table]:
    """For each config a row for each run and k with the numbers of questions; reported runs are among them.

    A config of which no run has errors by stage, or tokens of a question, has no table.
    """
    return [table for config, found in by_config(runs).items() if (table := _table(config, found))]


def _table(config: str, runs: Runs) -> Table | None:
    rows = []
    for label, run in runs.items():
        for k, cell in run["by_k"].items():
            counts = [count_of(cell, name) for name in ("success_rate", *ERRORS)]
            tokens = cell.get("tokens_per_question")
            if any(count is not None for count in counts[1:]) or tokens is not None:
                shown = ["–" if count is None else str(count) for count in counts]
                rows.append([label, k, str(judged(cell)), *shown, "–" if tokens is None else f"{tokens:,.0f}"])
    stages = [error.removesuffix("_error") for error in ERRORS]
    head = [f"{config}: questions by stage", "k", "n", "correct", *stages, "tokens/question"]
    return Table(head, rows) if rows else None
