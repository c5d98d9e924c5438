"""What became of each question: outcomes.jsonl, which comparisons read, and the same as questions.parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.files.writing import naming
from epbench.memfail.judging.diagnosis import Outcome

QUESTIONS = "questions.parquet"
FIELDS = {"id": (str,), "k": (int,), "row": (str,), "success": (bool, type(None))}
"""The fields of a line of outcomes.jsonl that comparisons need, with the types of their values."""
MORE_FIELDS = {
    "kind": (str,), "group": (str,), "label": (str,), "vacuous": (bool,), "answer_right": (bool, type(None)),
    "needs": (list,),
}  # fmt: skip
"""Its other fields, which earlier versions did not write."""


def record_of(outcome: Outcome) -> dict[str, Any]:
    """The line of outcomes.jsonl about one outcome.

    Returns:
        id, k, row, kind and group of the question; success, None if it failed; label; vacuous; answer_right, None without
        an answer or a verdict; and needs, a list with the fact and the stage of each gold memory: `correct`, the first
        stage that failed, or `failed`.
    """
    stages = outcome.facts or ("failed",) * len(outcome.needs)
    return {
        "id": outcome.question,
        "k": outcome.k,
        "row": outcome.row,
        "kind": outcome.kind,
        "group": outcome.group,
        "success": None if outcome.label == "failed" else outcome.label == "correct",
        "label": outcome.label,
        "vacuous": outcome.vacuous,
        "answer_right": outcome.answer_right,
        "needs": [{"fact": fact, "stage": stage} for fact, stage in zip(outcome.needs, stages, strict=False)],
    }


def write_questions(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write questions.parquet of a run, whole or not at all; the same records give the same bytes.

    Raises:
        OSError: The file could not be written; the error names it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, flag = pa.string(), pa.bool_()
    schema = pa.schema(
        {
            "id": text, "k": pa.int32(), "row": text, "kind": text, "group": text, "success": flag, "label": text,
            "vacuous": flag, "answer_right": flag, "needs": pa.list_(pa.struct({"fact": text, "stage": text})),
        }
    )  # fmt: skip
    table = pa.Table.from_pylist([dict(record) for record in records], schema)
    path = folder / QUESTIONS
    with naming(path), tempfile.TemporaryDirectory(prefix=f".{QUESTIONS}-", suffix=".scratch", dir=folder) as scratch:
        draft = Path(scratch) / QUESTIONS
        pq.write_table(table, draft, compression="zstd")
        draft.replace(path)
