"""Answers to the questions about a book that are right, right in part, wrong, abstaining, wordy or vague, by turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd


def scored_by_script(
    script: Callable[..., Any], dataset: Path, answers: Mapping[str, str], out: Path
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The scores that our own script gives these answers about a book, and its table of questions."""
    file = out.with_suffix(".jsonl")
    file.write_text("".join(json.dumps({"id": id_, "answer": answer}) + "\n" for id_, answer in answers.items()))
    done = script("eval_scripts/tulving.py", "--dataset", dataset, "--answers", file, "--out", out)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "scores.json").read_text()), pd.read_parquet(out / "questions.parquet").set_index("id")


def scripted_answers(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Answers by the id of the question."""
    items = [item for row in rows for item in row["answer"]]
    # So that each kind of question gets every kind of answer.
    in_order = sorted(rows, key=lambda row: (row["get"], len(set(row["answer"]))))
    return {row["id"]: _answer(number, row["answer"], items) for number, row in enumerate(in_order)}


def _answer(number: int, reference: Sequence[str], items: Sequence[str]) -> str:
    other = items[(number * 37) % len(items)]
    return {
        0: "; ".join(reference) or "I do not know; the text does not tell.",
        1: "; ".join(reference[: (len(reference) + 1) // 2]) or other,
        2: other,
        3: "I do not know.",
        4: f"I remember {', then '.join(reversed(reference))} and perhaps {other}.",
        5: ", then ".join(reference) or "It never happened.",
        6: "; ".join(item.split()[-1] for item in reference) or "Something.",
    }[number % 7]
