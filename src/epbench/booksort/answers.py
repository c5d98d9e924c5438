"""Scores for answers to Book-SORT that somebody else's code has, without a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from epbench.booksort.dataset.load import PAIR, pair_of
from epbench.booksort.judging import ScoredPair, scored_pair
from epbench.booksort.scores.run_files import record_of, table_of
from epbench.booksort.scores.scoring import score_run
from epbench.errors import BadInput
from epbench.hub.rows import Row, check_rows
from epbench.runs.benchmark import check_answers
from epbench.runs.results import Scored


def score(rows: Iterable[Row], answers: Mapping[str, str | Mapping[str, Any] | None]) -> Scored[ScoredPair]:
    """Score answers to the question which of two segments comes first (paper: Section 3.1).

    Args:
        rows: Rows of configs such as `e250_s20`, as `datasets.load_dataset` gives them, or some of them.
        answers: The answers by the id of the row: a text that names a segment, such as `A` or `Segment B`; or
            `{"A": p, "B": q}`, the probabilities of both labels as the first token, 0 to 1. A row without an answer is wrong,
            and so is a text that names neither segment. None stands for a request that failed, which is neither.

    Raises:
        BadInput: A row lacks a column, or an answer is of another type or belongs to no row.
        NothingToScore: All questions have failed.
    """
    pairs = []
    for number, row in enumerate(check_rows("rows", rows, PAIR)):
        config = f"e{row['excerpt_length']}_s{row['segment_length']}"
        pairs.append(pair_of(f"rows, row {number}", config, row, row.get("excerpt_text")))
    check_answers([pair.id for pair in pairs], answers, (str, Mapping))
    questions = [scored_pair(pair, _record(pair.id, answers.get(pair.id, ""))) for pair in pairs]
    return Scored(questions, score_run(table_of(map(record_of, questions))))


def _record(id_: str, answer: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The answer as answers.jsonl has it."""
    if answer is None:
        return {"failure": "the answer is None: the request failed"}
    if isinstance(answer, str):
        return {"answer": answer}
    shares = [answer.get(label) for label in ("A", "B")]
    if set(answer) != {"A", "B"} or not all(isinstance(p, int | float) and 0 <= p <= 1 for p in shares):
        raise BadInput(f"answers, id {id_!r}: expected probabilities of A and B from 0 to 1, found {dict(answer)}")
    return {"answer": "A" if answer["A"] > answer["B"] else "B", "probabilities": dict(answer)}
