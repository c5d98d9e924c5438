"""questions.parquet of a run of Book-SORT: a row for each question, with its place in the book and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.judging.answers import ScoredPair
from epbench.runs import question_table
from epbench.runs.results import Columns

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Columns = {
    "id": "string",
    **dict.fromkeys(("book_idx", "excerpt_idx", "distance", "distance_bin", "excerpt_length", "segment_length"), "int32"),
    **dict.fromkeys(("seg1_pos", "seg2_pos"), "int32"),
    **dict.fromkeys(("answer", "predicted", "outcome", "failure"), "string"),
    **dict.fromkeys(("p_a", "p_b", "label_mass"), "double"), **dict.fromkeys(("greedy", "written"), "string"),
    **dict.fromkeys(("retrieved_both", "retrieved_order"), "bool"),
}  # fmt: skip
"""The columns, with the meanings that they have in `ScoredPair`.

id ends in `/swapped` where a pair is asked a second time with its segments swapped. distance, distance_bin, excerpt_length,
segment_length, seg1_pos and seg2_pos are words. answer is the right label and predicted the model's: `A`, `B`, or `X` for an
answer that names neither, which is wrong. outcome is `right`, `wrong` or `failed`; failure is the reason of a failed
question, and predicted and written are null there. p_a and p_b are the probabilities of the labels as the first token, 0 to
1, label_mass is their sum, and all three are null where they are unknown. greedy is the text that was written, null if there
is none, and written the label that it names. retrieved_both and retrieved_order are null unless passages were searched.
"""

_SAME = (
    "id", "book_idx", "excerpt_idx", "distance", "distance_bin", "excerpt_length", "segment_length", "seg1_pos", "seg2_pos",
    "answer", "p_a", "p_b", "label_mass", "retrieved_both", "retrieved_order", "failure",
)  # fmt: skip
"""The columns that hold what the fields of `ScoredPair` of that name hold."""


def record_of(row: ScoredPair) -> dict[str, Any]:
    """The row of questions.parquet about one question, with the fields of `COLUMNS`."""
    return {name: getattr(row, name) for name in _SAME} | {
        "predicted": None if row.failed else row.predicted,
        "outcome": "failed" if row.failed else "right" if row.correct else "wrong",
        "greedy": row.greedy or None,
        "written": None if row.failed else row.written,
    }


def read_questions(folder: Path) -> pd.DataFrame:
    """Read questions.parquet of a run, with the columns of `COLUMNS`.

    Raises:
        BadInput: There is no such file, it is no Parquet file, or it lacks a column.
    """
    return question_table.read_questions(folder, COLUMNS)
