"""Answers that came from elsewhere enter the journal of a run, and its results are computed from the journals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.hub.rows import Row
from epbench.judges.protocol import JudgeIdentity
from epbench.memories.recall import memory_usage
from epbench.models.protocol import Request
from epbench.runs.answers import ANSWERS
from epbench.runs.journal import Journal, read_journal
from epbench.runs.results import write_results
from epbench.runs.usage import token_usage
from epbench.tulving.calibration.correction import judge_scores, recall_to_correct
from epbench.tulving.scores.own_answers import EMPTY, is_empty
from epbench.tulving.scores.report import html_report
from epbench.tulving.scores.scoring import QuestionToScore, ScoredAnswer, score_run
from epbench.tulving.scores.tables import markdown_table


def record_answers(folder: Path, answers: Mapping[str, str], source: str) -> None:
    """Put answers that came from elsewhere into the journal; an empty answer is journaled as a failure.

    Args:
        folder: The folder of an open run.
        answers: The answers by the id of the question.
        source: Where they come from; it is part of their keys.
    """
    journal = Journal(folder / ANSWERS)
    for id_, answer in answers.items():
        key = Request(id_, "", "", answer).key(source)
        if key not in journal.records:
            outcome = {"failure": EMPTY} if is_empty(answer) else {"answer": answer}
            journal.add(key, id=id_, repeat=0, **outcome)
    journal.close()


def scores_of(
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    more: Mapping[str, Any] | None = None,
    *,
    judge: JudgeIdentity | None = None,
) -> dict[str, Any]:
    """The content of scores.json, as in `score_run` and `judge_scores`; the arguments are those of `finish`."""
    scores = score_run(rows, lost) | dict(more or {})
    return scores if judge is None else scores | judge_scores(judge, recall_to_correct(scores))


def finish(
    folder: Path,
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    label: str,
    more: Mapping[str, Any] | None = None,
    *,
    judge: JudgeIdentity | None = None,
) -> dict[str, Any]:
    """Compute the results of a run from its journals, and write them; see `epbench.runs.results`.

    Args:
        folder: The run's folder.
        rows: The judged answers.
        lost: The questions without an answer or a verdict; see `lost_questions`.
        label: The name of the run in tables.
        more: Further fields of scores.json.
        judge: The judge; what its passport says goes into scores.json and the reports.

    Returns:
        The content of scores.json.

    Raises:
        RunFailed: There is no judged answer; nothing is written then.
    """
    scores = scores_of(rows, lost, more, judge=judge)
    usage = token_usage(read_journal(folder / ANSWERS).values()) | memory_usage(folder)
    report = html_report(label, read_json(folder / "run.json"), scores, rows, lost, usage)
    write_results(folder, scores=scores, usage=usage, table=markdown_table({label: scores}), report=report)
    return scores


def lost_questions(rows: Sequence[Row], verdicts: Sequence[ScoredAnswer], repeats: int) -> list[QuestionToScore]:
    """The questions of a run that have no verdict, each once for every repeat that is missing.

    Args:
        rows: The questions that the run asked.
        verdicts: The judged answers.
        repeats: How often the run asked each question, at least 1.
    """
    found = Counter(verdict.id for verdict in verdicts)
    return [QuestionToScore(**_to_score(row)) for row in rows for _ in range(repeats - found[row["id"]])]


def judged(row: Row, verdict: dict[str, Any]) -> ScoredAnswer:
    """A row of the dataset with the verdict on its answer."""
    return ScoredAnswer(**_to_score(row), items=verdict["items"], scores=verdict["scores"], order=verdict["order"])


def _to_score(row: Row) -> dict[str, Any]:
    """The fields of `QuestionToScore`."""
    plain = {name: row[name] for name in ("id", "get", "bin", "n_chapters")}
    return plain | {"cue": (row["time"], row["space"], row["entity"], row["content"]), "reference": row["answer"]}
