"""Scores for answers to questions about a Tulving book that somebody else's code has, without a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal

from epbench.errors import BadInput
from epbench.hub.rows import Row, check_rows
from epbench.journals.journal import Record
from epbench.judges.replies import FAILURES, kind_of_reply
from epbench.runs.benchmark import check_answers
from epbench.runs.results import Scored
from epbench.tulving.dataset.load import QA, check_bins
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.own_answers import UNKNOWN
from epbench.tulving.judging.verdicts import Judge, ScoredAnswer, judge_input, judged, lost_questions, missing_verdict
from epbench.tulving.scores.scoring import question_measures

Outcome = Literal["right", "wrong", "failed"]


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """What a judge found in one answer, and what it is worth.

    Attributes:
        id: The id of the question.
        outcome: `right` (F1 is 1), `wrong` (below 1, or no answer) or `failed`, which is neither.
        f1: F1, 0 to 1, as `episodic_f1` computes it; None if the question failed.
        precision: Likewise; None too where it is not defined.
        recall: Likewise.
        items: The items that the judge found in the answer; empty for an abstention.
        scores: For each true item, repeats included, how well the answer matches it, 0 to 1.
        order: The true items found, in the order of the answer.
        reason: The judge's reason, or why there is no verdict.
    """

    id: str
    outcome: Outcome
    f1: float | None
    precision: float | None
    recall: float | None
    items: Sequence[str]
    scores: Sequence[float]
    order: Sequence[str]
    reason: str


def score(
    rows: Iterable[Row], answers: Mapping[str, str | None], judge: str | Judge = "lexical"
) -> Scored[ScoredQuestion]:
    """Have a judge read answers to questions about a Tulving book, and score them.

    The scores are those that an evaluation of a file with the same answers writes.

    Args:
        rows: The questions: rows of the config `qa` as `datasets.load_dataset` gives them, or some of them.
        answers: The answers by the id of the question. A question without an answer, or with one that says nothing (`""`,
            `-`, an emoji), is wrong: that is no abstention. None stands for a request that failed, which is neither right
            nor wrong, and so does an answer that refuses, such as "I'm sorry, but I can't help with that."
        judge: The name of a judge, `lexical` (rules) by default, or a judge as `epbench.load_judge` returns it. A model is
            asked once for each answer, and nothing is journaled; `epbench.load_judge` takes a file for its replies.

    Raises:
        BadInput: A row lacks a column, an answer is not a text or None, or belongs to no question, or the number of a
            judge's scores is not that of the true items.
        NothingToScore: All questions have failed.
    """
    from epbench.tulving.scores.results import scores_of

    questions = list(check_rows("rows", rows, QA))
    check_bins("rows", questions)
    chosen = _judge(judge)
    found, scored = _scored(questions, answers, chosen)
    return Scored(found, scores_of(scored, lost_questions(questions, scored, 1), judge=chosen))


def score_answer(row: Row, answer: str | None, judge: str | Judge = "lexical") -> ScoredQuestion:
    """Have a judge read the answer to one question, and score it; see `score`.

    An empty answer is wrong, and one that refuses has failed, like None. BadInput if the row lacks a column, or the answer
    is not a text or None.
    """
    (row,) = check_rows("row", [row], QA)
    (found,), _ = _scored([row], {row["id"]: answer}, _judge(judge))
    return found


_loaded = lru_cache(maxsize=4)(load_judge)


def _judge(judge: str | Judge) -> Judge:
    return _loaded(judge) if isinstance(judge, str) else judge


def _scored(
    rows: Sequence[Row], answers: Mapping[str, str | None], judge: Judge
) -> tuple[list[ScoredQuestion], list[ScoredAnswer]]:
    check_answers([row["id"] for row in rows], answers, (str,))
    pairs = list(zip(rows, _verdicts(rows, answers, judge), strict=True))
    scored = [judged(row, verdict) for row, verdict in pairs if "failure" not in verdict]
    measures = iter(question_measures(scored) if scored else ())
    return [_question(row, verdict, measures) for row, verdict in pairs], scored


def _verdicts(rows: Sequence[Row], answers: Mapping[str, str | None], judge: Judge) -> list[Record]:
    """For each row the verdict as a journal has it, or `{"failure": reason}`."""
    verdicts: dict[str, Record] = {}
    asked = {}
    for row in rows:
        answer = answers.get(row["id"], "")
        if answer is None:
            verdicts[row["id"]] = {"failure": UNKNOWN}
        elif (kind := kind_of_reply(answer)) == "empty":
            verdicts[row["id"]] = missing_verdict(row["answer"])
        elif kind != "answer":
            verdicts[row["id"]] = {"failure": FAILURES[kind]}
        else:
            asked[row["id"]] = judge_input(row, answer)
    by_key = {input_.key(judge): input_ for input_ in asked.values()}  # one answer to one question is judged once
    records: dict[str, Record] = {}
    for judgement in judge.judge(list(by_key.values())) if by_key else ():
        verdict, input_ = judgement.verdict, by_key[judgement.key]
        if verdict is None:
            records[judgement.key] = {"failure": judgement.failure}
            continue
        if len(verdict.scores) != (n := len(input_.reference)):
            raise BadInput(
                f"judge {judge.name}, question {input_.id}: expected {n} scores, one for each true item, found "
                f"{len(verdict.scores)}"
            )
        found = {name: getattr(verdict, name) for name in ("items", "order", "reason")}
        records[judgement.key] = found | {"scores": [min(1.0, max(0.0, value)) for value in verdict.scores]}
    lost = {"failure": f"judge {judge.name} has given no verdict"}
    verdicts |= {id_: records.get(input_.key(judge), lost) for id_, input_ in asked.items()}
    return [verdicts[row["id"]] for row in rows]


def _question(row: Row, verdict: Record, measures: Iterator[Mapping[str, Any]]) -> ScoredQuestion:
    if "failure" in verdict:
        return ScoredQuestion(row["id"], "failed", None, None, None, (), (), (), verdict["failure"])
    items, scores, order = (tuple(verdict[name]) for name in ("items", "scores", "order"))
    items = () if verdict.get("missing", False) else items
    f1, precision, recall = itemgetter("f1", "precision", "recall")(next(measures))
    outcome: Outcome = "right" if f1 == 1 else "wrong"
    return ScoredQuestion(row["id"], outcome, f1, precision, recall, items, scores, order, verdict["reason"])
