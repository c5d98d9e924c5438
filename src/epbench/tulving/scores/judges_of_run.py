"""The judges of one run held against each other, answer by answer (paper: Appendix B.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.hub.rows import Row
from epbench.runs.journal import read_journal
from epbench.tulving.judging.protocol import PastJudge
from epbench.tulving.judging.verdicts import PUBLISHED, judge_of_scores, verdict_records
from epbench.tulving.scores.judge_agreement import judge_agreement
from epbench.tulving.scores.results import JUDGEMENTS, judged
from epbench.tulving.scores.scoring import ScoredAnswer, mean, question_f1


def judges_of(folder: Path) -> list[PastJudge]:
    """The judges with verdicts in a run's folder, in the order in which they came."""
    records = read_journal(folder / JUDGEMENTS).values()
    found = [(r["judge"], r.get("prompt_hash", PUBLISHED)) for r in records if r.get("failure") is None]
    return [PastJudge(*judge) for judge in dict.fromkeys(found)]


def last_judge(folder: Path) -> PastJudge:
    """The judge whom a run's scores are of.

    Raises:
        BadInput: the run has no scores, or they name no judge.
    """
    judge = judge_of_scores(folder)
    if judge is None:
        raise BadInput(f"{folder / 'scores.json'}: scores with a judge are expected and not there; start the run again")
    return judge


def agreements(folder: Path, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How far any two judges of a run agree; an answer that was given twice to one question counts once.

    Args:
        folder: of the run.
        rows: of its dataset.

    Returns:
        For each pair what `judge_agreement` returns, and: judges, their two names; n_one_sided, answers on which only
        one of them has a verdict; items_difference and f1_distance, mean absolute differences of the number of
        different items and of F1. Disagreements tell the reasons of both.

    Raises:
        BadInput: fewer than two judges.
        RunFailed: two judges have no answer in common.
    """
    judges = judges_of(folder)
    if len(judges) < 2:
        names = judges[0].name if judges else "nobody"
        raise BadInput(
            f"{folder}: judged by {names}, at least two judges expected; eval_scripts/tulving.py --rejudge adds one"
        )
    verdicts = {judge: _verdicts(folder, rows, judge) for judge in judges}
    return [
        {"judges": [_shown(one, judges), _shown(other, judges)], **_agreement(verdicts[one], verdicts[other])}
        for one, other in combinations(judges, 2)
    ]


# By answer: the verdict in the shape of the scores, and question, answer and reason.
_Verdicts = Mapping[str, tuple[ScoredAnswer, Mapping[str, str]]]


def _verdicts(folder: Path, rows: Sequence[Row], judge: PastJudge) -> _Verdicts:
    by_id = {row["id"]: row for row in rows}
    found = {}
    for case, record in verdict_records(folder, rows, judge):
        name = f"{case.id}: {case.answer}"
        about = {"question": case.question, "answer": case.answer, "reason": record["reason"]}
        found[name] = (replace(judged(by_id[case.id], record), id=name), about)
    return found


def _agreement(one: _Verdicts, other: _Verdicts) -> dict[str, Any]:
    shared = [name for name in one if name in other]
    pairs = [(one[name][0], other[name][0]) for name in shared]
    answers = {name: (about["question"], about["answer"]) for name, (_, about) in one.items()}
    agreement = judge_agreement([row for row, _ in one.values()], [row for row, _ in other.values()], answers)
    for case in agreement["disagreements"]:
        name = case["id"]
        case["id"] = name.split(": ", 1)[0]
        for place, verdicts in (("first", one), ("second", other)):
            case[place]["reason"] = verdicts[name][1]["reason"]
    f1 = zip(question_f1([first for first, _ in pairs]), question_f1([second for _, second in pairs]), strict=True)
    return {
        **agreement,
        "n_one_sided": len(one.keys() ^ other.keys()),
        "items_difference": mean([abs(len(set(a.items)) - len(set(b.items))) for a, b in pairs]),
        "f1_distance": mean([abs(first - second) for first, second in f1]),
    }


def _shown(judge: PastJudge, judges: Sequence[PastJudge]) -> str:
    """Its name, with the hash where another judge has the same one."""
    namesakes = [other for other in judges if other.name == judge.name]
    return judge.name if len(namesakes) == 1 else f"{judge.name} ({judge.prompt_hash})"
