"""How far two judges of a run agree on the same answers: item by item, question by question, and in the headline.

Paper: Appendix B.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from epbench.errors import BadInput, RunFailed
from epbench.hub.rows import Row
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS, PastJudge, noted_judge
from epbench.reports.tables import Table, cell
from epbench.runs.folder import judge_of_scores
from epbench.tulving.judging.verdicts import JudgeInput, ScoredAnswer, first_scores, judged, judgement_records
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import Get
from epbench.tulving.scores.scoring import f1_by_bin, mean, question_f1

FOUND = 0.5  # a score from here on says that the item is in the answer
SHOWN = 20  # of the disagreements

_GETS: tuple[Get, ...] = ("all", "latest", "chronological")
_COLUMNS = (
    ("questions", "n_questions"),
    ("items", "n_items"),
    ("items agreed", "item_agreement"),
    ("kappa", "kappa"),
    ("score apart", "score_difference"),
    ("F1 apart", "f1_difference"),
    ("r of F1", "f1_correlation"),
)


class _Pair(NamedTuple):
    """One answer as both judges see it, with the F1 by each of them."""

    first: ScoredAnswer
    second: ScoredAnswer
    f1: tuple[float, float]

    @property
    def scores(self) -> list[tuple[float, float]]:
        """The scores of each different true item."""
        both = zip(self.first.scores, self.second.scores, strict=True)
        return list(first_scores(self.first.reference, both).values())


def _pairs(first: Sequence[ScoredAnswer], second: Sequence[ScoredAnswer]) -> list[_Pair]:
    of_second = {row.id: row for row in second}
    shared = [(row, of_second[row.id]) for row in first if row.id in of_second]
    if not shared:
        raise RunFailed("no answer was judged by both judges; start again to ask them once more")
    f1 = zip(question_f1([row for row, _ in shared]), question_f1([row for _, row in shared]), strict=True)
    return [_Pair(left, right, both) for (left, right), both in zip(shared, f1, strict=True)]


def judge_agreement(
    first: Sequence[ScoredAnswer], second: Sequence[ScoredAnswer], answers: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Compare the verdicts of two judges on the questions that both have judged; RunFailed if there are none.

    `answers` has question and answer by the id of the question, to show what they disagree on. Returns n_questions; n_items,
    true items; item_agreement, share of these that both find (score of 0.5 or more) or both do not; kappa, the same beyond
    chance (Cohen; None if there is only one decision); score_difference, mean absolute; f1_difference, mean of the first's F1
    minus the second's; f1_correlation (Pearson; None if one is constant); simple_recall_score of both; by_get and by_bin, the
    same except for the recall; disagreements, the twenty largest by F1, then by scores.
    """
    pairs = _pairs(first, second)
    of_get = {get: [pair for pair in pairs if pair.first.get == get] for get in _GETS}
    of_bin = {bin_: [pair for pair in pairs if pair.first.bin == bin_] for bin_ in BINS}
    by_get, by_bin = ({name: _numbers(part) for name, part in of.items() if part} for of in (of_get, of_bin))
    return {
        **_numbers(pairs),
        "simple_recall_score": [
            mean(list(f1_by_bin([pair.first for pair in pairs], [pair.f1[which] for pair in pairs]).values()))
            for which in (0, 1)
        ],
        "by_get": by_get,
        "by_bin": by_bin,
        "disagreements": _disagreements(pairs, answers),
    }


def agreement_table(agreement: Mapping[str, Any], names: tuple[str, str]) -> str:
    """Return the agreement in Markdown: on all questions, then by get and by bin; `names` are those of the judges."""
    rows = [["all", agreement]] + [[f"get = {get}", part] for get, part in agreement["by_get"].items()]
    rows += [[f"{bin_} chapters", part] for bin_, part in agreement["by_bin"].items()]
    head = ["questions on", *(title for title, _ in _COLUMNS)]
    recall = [cell(value) for value in agreement["simple_recall_score"]]
    return "\n".join(
        [
            f"Judges {names[0]} and {names[1]}\n",
            Table(head, [[name, *(cell(part[key]) for _, key in _COLUMNS)] for name, part in rows]).markdown(),
            Table(["simple recall by", *names], [["", *recall]]).markdown(),
        ]
    )


def agreement_screen(runs: Mapping[str, Mapping[str, Any]]) -> Table:
    """The main numbers for the screen, a row for each run; recall by the first judge and by the second."""
    columns = [_COLUMNS[2], _COLUMNS[3], _COLUMNS[6]]
    rows = [
        [label, *(cell(of[key]) for _, key in columns), " ".join(map(cell, of["simple_recall_score"]))]
        for label, of in runs.items()
    ]
    return Table(["run", *(title for title, _ in columns), "recall"], rows)


def _numbers(pairs: Sequence[_Pair]) -> dict[str, Any]:
    scores = [both for pair in pairs for both in pair.scores]
    decisions = [(left >= FOUND, right >= FOUND) for left, right in scores]
    return {
        "n_questions": len(pairs),
        "n_items": len(scores),
        "item_agreement": mean([float(left == right) for left, right in decisions]),
        "kappa": _kappa(decisions),
        "score_difference": mean([abs(left - right) for left, right in scores]),
        "f1_difference": mean([pair.f1[0] - pair.f1[1] for pair in pairs]),
        "f1_correlation": _correlation([pair.f1 for pair in pairs]),
    }


def _kappa(decisions: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa; None if both always decide the same."""
    if len({decision for both in decisions for decision in both}) < 2:
        return None
    agreement = sum(left == right for left, right in decisions) / len(decisions)
    first, second = (sum(judge) / len(decisions) for judge in zip(*decisions, strict=True))
    by_chance = first * second + (1 - first) * (1 - second)
    return float((agreement - by_chance) / (1 - by_chance))


def _correlation(f1: Sequence[tuple[float, float]]) -> float | None:
    import numpy as np

    values = np.array(f1)
    return float(np.corrcoef(values.T)[0, 1]) if values.std(axis=0).all() else None


def _disagreements(pairs: Sequence[_Pair], answers: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    def size(pair: _Pair) -> tuple[float, float]:
        return abs(pair.f1[0] - pair.f1[1]), sum(abs(left - right) for left, right in pair.scores)

    def found(row: ScoredAnswer, f1: float) -> dict[str, Any]:
        return {"items": list(row.items), "scores": list(row.scores), "f1": f1}

    disagreements = []
    for pair in sorted((pair for pair in pairs if any(size(pair))), key=size, reverse=True)[:SHOWN]:
        (first, second, f1), (question, answer) = pair, answers[pair.first.id]
        about = {"id": first.id, "question": question, "answer": answer, "truth": list(first.reference)}
        disagreements.append(about | {"first": found(first, f1[0]), "second": found(second, f1[1])})
    return disagreements


def judges_of(folder: Path) -> list[PastJudge]:
    """Return the judges with verdicts in a run's folder, in the order of their first verdicts."""
    records = read_journal(folder / JUDGEMENTS).values()
    return list(dict.fromkeys(noted_judge(record, "judge") for record in records if record.get("failure") is None))


def last_judge(folder: Path) -> PastJudge:
    """Return the judge that a run's scores are by; BadInput if they name none."""
    judge = judge_of_scores(folder)
    if judge is None:
        raise BadInput(f"{folder / 'scores.json'}: expected scores that name a judge; start the run again")
    return judge


def agreements(folder: Path, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how far any two judges of a run agree, as `judge_agreement`; an answer given twice to a question counts once.

    Beside: judges, their two names; n_one_sided, number of answers that only one of them has judged; items_difference and
    f1_distance, mean absolute differences in the number of different items and in F1; and the reasons of both for each
    disagreement. BadInput if there are fewer than two judges, RunFailed if two have no answer in common.
    """
    judges = judges_of(folder)
    if len(judges) < 2:
        names = judges[0].name if judges else "nobody"
        raise BadInput(
            f"{folder}: expected verdicts by at least two judges, judged by {names}; have another one judge the answers too"
        )
    verdicts = {judge: _verdicts(folder, rows, judge) for judge in judges}
    return [
        {"judges": [_shown(first, judges), _shown(second, judges)], **_agreement(verdicts[first], verdicts[second])}
        for first, second in combinations(judges, 2)
    ]


_Verdicts = Mapping[str, tuple[ScoredAnswer, JudgeInput, str]]
"""By answer: the scored answer, what the judge was given, and its reason."""


def _verdicts(folder: Path, rows: Sequence[Row], judge: PastJudge) -> _Verdicts:
    row_of, verdicts = {row["id"]: row for row in rows}, {}
    for _, given, record in judgement_records(folder, rows, judge):
        if record is not None and record.get("failure") is None:
            name = f"{given.id}: {given.answer}"
            verdicts[name] = replace(judged(row_of[given.id], record), id=name), given, record["reason"]
    return verdicts


def _agreement(first: _Verdicts, second: _Verdicts) -> dict[str, Any]:
    both = [row for row, *_ in first.values()], [row for row, *_ in second.values()]
    agreement = judge_agreement(*both, {name: (given.question, given.answer) for name, (_, given, _) in first.items()})
    for found in agreement["disagreements"]:
        (_, given, reason), (*_, other_reason) = first[found["id"]], second[found["id"]]
        found["id"], found["first"]["reason"], found["second"]["reason"] = given.id, reason, other_reason
    pairs = _pairs(*both)
    return {
        **agreement,
        "n_one_sided": len(first.keys() ^ second.keys()),
        "items_difference": mean([abs(len(set(a.items)) - len(set(b.items))) for a, b, _ in pairs]),
        "f1_distance": mean([abs(left - right) for _, _, (left, right) in pairs]),
    }


def _shown(judge: PastJudge, judges: Sequence[PastJudge]) -> str:
    namesakes = [other for other in judges if other.name == judge.name]
    return judge.name if len(namesakes) == 1 else str(judge)
