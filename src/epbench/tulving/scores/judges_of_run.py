"""Compares the judges of one run, answer by answer (paper: Appendix B.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.hub.rows import Row
from epbench.journals.journal import read_journal
from epbench.judges.journal import JUDGEMENTS
from epbench.judges.protocol import PastJudge, noted_judge
from epbench.runs.judge import judge_of_scores
from epbench.tulving.judging.protocol import ScoredAnswer
from epbench.tulving.judging.verdicts import judged, verdict_records
from epbench.tulving.scores.judge_agreement import judge_agreement
from epbench.tulving.scores.scoring import mean, question_f1


def judges_of(folder: Path) -> list[PastJudge]:
    """Return the judges with verdicts in a run's folder, in the order of their first verdicts."""
    records = read_journal(folder / JUDGEMENTS).values()
    return list(dict.fromkeys(noted_judge(record, "judge") for record in records if record.get("failure") is None))


def last_judge(folder: Path) -> PastJudge:
    """Return the judge that a run's scores are by.

    Raises:
        BadInput: The run has no scores, or they name no judge.
    """
    judge = judge_of_scores(folder)
    if judge is None:
        raise BadInput(f"{folder / 'scores.json'}: expected scores that name a judge; start the run again")
    return judge


def agreements(folder: Path, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how far any two judges of a run agree; an answer given twice to the same question counts once.

    Args:
        folder: Folder of the run.
        rows: Rows of its dataset.

    Returns:
        For each pair what `judge_agreement` returns, and: judges, their two names; n_one_sided, number of answers that
        only one of them has judged; items_difference and f1_distance, mean absolute differences in the number of
        different items and in F1. Each disagreement has the reasons of both.

    Raises:
        BadInput: The run has fewer than two judges.
        RunFailed: Two judges have no answer in common.
    """
    judges = judges_of(folder)
    if len(judges) < 2:
        names = judges[0].name if judges else "nobody"
        raise BadInput(
            f"{folder}: expected verdicts by at least two judges, judged by {names}; have another one judge the answers too"
        )
    verdicts = {judge: _verdicts(folder, rows, judge) for judge in judges}
    return [
        {"judges": [_shown(one, judges), _shown(other, judges)], **_agreement(verdicts[one], verdicts[other])}
        for one, other in combinations(judges, 2)
    ]


_Verdicts = Mapping[str, tuple[ScoredAnswer, Mapping[str, str]]]
"""By answer: the scored answer, and question, answer and reason."""


def _verdicts(folder: Path, rows: Sequence[Row], judge: PastJudge) -> _Verdicts:
    by_id = {row["id"]: row for row in rows}
    found = {}
    for given, record in verdict_records(folder, rows, judge):
        name = f"{given.id}: {given.answer}"
        about = {"question": given.question, "answer": given.answer, "reason": record["reason"]}
        found[name] = (replace(judged(by_id[given.id], record), id=name), about)
    return found


def _agreement(one: _Verdicts, other: _Verdicts) -> dict[str, Any]:
    shared = [name for name in one if name in other]
    pairs = [(one[name][0], other[name][0]) for name in shared]
    answers = {name: (about["question"], about["answer"]) for name, (_, about) in one.items()}
    agreement = judge_agreement([row for row, _ in one.values()], [row for row, _ in other.values()], answers)
    for disagreement in agreement["disagreements"]:
        name = disagreement["id"]
        disagreement["id"] = name.split(": ", 1)[0]
        for which, verdicts in (("first", one), ("second", other)):
            disagreement[which]["reason"] = verdicts[name][1]["reason"]
    f1 = zip(question_f1([first for first, _ in pairs]), question_f1([second for _, second in pairs]), strict=True)
    return {
        **agreement,
        "n_one_sided": len(one.keys() ^ other.keys()),
        "items_difference": mean([abs(len(set(a.items)) - len(set(b.items))) for a, b in pairs]),
        "f1_distance": mean([abs(first - second) for first, second in f1]),
    }


def _shown(judge: PastJudge, judges: Sequence[PastJudge]) -> str:
    """The judge's name, with its prompt hash and setup if another judge has the same name."""
    namesakes = [other for other in judges if other.name == judge.name]
    return judge.name if len(namesakes) == 1 else str(judge)
