"""Scores for what a memory system and a reader did on MemFail elsewhere, without a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.hub.rows import Row, check_rows
from epbench.judges.replies import FAILURES, kind_of_reply
from epbench.memfail.dataset.load import QuestionRecord, questions_of, row_type
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.lexical import Judge
from epbench.memfail.judging.load import load_judge
from epbench.memfail.scores.scoring import commonest_answers, floor_of, score_outcomes
from epbench.memfail.scores.tables import COMMONEST
from epbench.progress import no_progress
from epbench.runs.benchmark import check_answers
from epbench.runs.results import Scored

UNKNOWN = "the answer is None: the request failed"


def score(
    rows: Iterable[Row],
    answers: Mapping[str, str | None],
    judge: str | Judge = "lexical",
    *,
    config: str,
    retrieved: Mapping[str, Sequence[str]],
    stored: Sequence[str],
) -> Scored[Outcome]:
    """Find at which stage each question failed, and score it (paper: Section 4).

    Args:
        rows: Rows of one config, as `datasets.load_dataset` gives them, or some of them.
        answers: The reader's answers by the id of the question; `epbench.load_memfail` says which questions the rows ask. A
            question without an answer is answered wrong; None stands for a request that failed, which is neither right
            nor wrong, and so does an answer that refuses.
        judge: The name of a judge, `lexical` (rules) by default, or a judge. A model is asked once for each statement, and
            nothing is journaled.
        config: The config of the rows, such as `long_hop`.
        retrieved: By the id of a question the memories that the reader was shown, best first.
        stored: All memories that the system held when the questions were asked.

    Returns:
        The outcome of each question, and config, by_k (k is the largest number of memories that came back), floor,
        commonest_answer, n_questions and n_failed as in scores.json.

    Raises:
        BadInput: The config is unknown, a row lacks a column, an answer or memories belong to no question, or an answer is
            not a text or None.
    """
    questions = questions_of(config, list(check_rows("rows", rows, row_type(config))))
    ids = [question.id for question in questions]
    check_answers(ids, answers, (str,))
    if strange := next((id_ for id_ in retrieved if id_ not in set(ids)), None):
        raise BadInput(f"retrieved: no question has the id {strange!r}")
    k = max((len(memories) for memories in retrieved.values()), default=0)
    records = []
    for question in questions:
        answer = answers.get(question.id, "")
        kind = "answer" if answer is None else kind_of_reply(answer)
        failure = UNKNOWN if answer is None else FAILURES.get(kind) if kind != "empty" else None
        records.append(QuestionRecord(question, k, "", tuple(retrieved.get(question.id, ())), answer or "", failure))
    chosen = load_judge(judge) if isinstance(judge, str) else judge
    with tempfile.TemporaryDirectory(prefix="epbench-score-") as scratch:
        outcomes = diagnose(Path(scratch), records, {"": list(stored)}, chosen, no_progress)
    scores: dict[str, Any] = {"config": config, "by_k": score_outcomes(outcomes), "floor": floor_of(questions)}
    scores |= {COMMONEST: commonest_answers(records), "n_questions": len(questions)}
    return Scored(outcomes, scores | {"n_failed": sum(outcome.label == "failed" for outcome in outcomes)})
