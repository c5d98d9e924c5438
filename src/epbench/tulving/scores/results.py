"""Answers that came from elsewhere enter the journal of a run, and its results are computed from the journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from epbench.errors import NothingToScore
from epbench.files.json_files import read_json
from epbench.hub.rows import Row
from epbench.journals.journal import RETIRED, read_journal
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, JudgeIdentity, failures_of
from epbench.memories.recall import memory_usage
from epbench.memories.session import RETRIEVED
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import commonest, token_usage
from epbench.tulving.judging.protocol import QuestionToScore, ScoredAnswer
from epbench.tulving.judging.verdicts import answer_records, judgement_records, lost_questions, scored_answers
from epbench.tulving.scores.cards import MOST_CARDS, Chapters, questions_html
from epbench.tulving.scores.correction import judge_scores, one_score, recall_to_correct
from epbench.tulving.scores.question_files import COLUMNS, records_of
from epbench.tulving.scores.report import html_report
from epbench.tulving.scores.scoring import score_run
from epbench.tulving.scores.tables import markdown_table


def scores_of(
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    more: Mapping[str, Any] | None = None,
    *,
    judge: JudgeIdentity | None = None,
) -> dict[str, Any]:
    """The content of scores.json, as in `score_run` and `judge_scores`.

    Args:
        rows: The judged answers.
        lost: The questions without an answer or a verdict; see `lost_questions`.
        more: Further fields.
        judge: The judge; None for one of which `more` says everything.

    Raises:
        NothingToScore: There is no judged answer.
    """
    scores = score_run(rows, lost) | dict(more or {})
    if judge is None:
        return scores
    about = judge_scores(judge, recall_to_correct(scores))
    if about["judge"]["passport"] is None and (same := one_score(rows)):
        about["judge"]["one_score"] = same
    return scores | about


def finish(
    folder: Path,
    rows: Sequence[Row],
    judge: JudgeIdentity,
    label: str,
    *,
    repeats: int = 1,
    more: Mapping[str, Any] | None = None,
    chapters: Chapters | None = None,
) -> dict[str, Any]:
    """Compute the results of a run from its journals, and write them; see `epbench.runs.results`.

    questions.parquet is written first, so that a run with scores has the questions that they are the means of.

    Args:
        folder: The run's folder.
        rows: The questions that the run asked.
        judge: The judge whose verdicts count; what its passport says goes into scores.json and the reports. What is to be
            said of a published judge is in `more`.
        label: The name of the run in tables.
        repeats: How often the run asked each question, at least 1.
        more: Further fields of scores.json.
        chapters: The number and the text of each chapter of the book, which the report shows with the questions; None if the
            book is not at hand.

    Returns:
        The content of scores.json.

    Raises:
        NothingToScore: There is no judged answer; nothing is written then.
        BadInput: The number of a verdict's scores is not that of the true items.
    """
    found = judgement_records(folder, rows, judge)
    verdicts = scored_answers(rows, found)
    lost = lost_questions(rows, verdicts, repeats)
    if not verdicts:
        raise NothingToScore(
            f"nothing to score: all {len(lost)} questions failed{commonest(_reasons(folder, rows, judge))}; start the run "
            "again to retry them"
        )
    scores = scores_of(verdicts, lost, more, judge=None if judge.prompt_hash == PUBLISHED else judge)
    usage = token_usage(answer_records(folder, judge)) | memory_usage(folder)
    records = records_of(folder, rows, judge, repeats, found)
    del found
    first = list(islice(records, MOST_CARDS))
    write_questions(folder, COLUMNS, chain(first, records))
    explorer = questions_html(folder, first, chapters, len(verdicts) + len(lost))
    report = html_report(label, read_json(folder / "run.json"), scores, verdicts, lost, usage, explorer)
    write_results(folder, scores=scores, usage=usage, table=markdown_table({label: scores}), report=report)
    return scores


def _reasons(folder: Path, rows: Sequence[Row], judge: JudgeIdentity) -> list[str]:
    """Why questions of a run have no judged answer: what the memory, the reader and the judge say."""
    asked = {row["id"] for row in rows}
    reasons = [record for record in answer_records(folder, judge) if record["id"] in asked]
    reasons += [record for record in read_journal(folder / RETRIEVED).values() if record.get("question") in asked]
    said = [str(record["failure"]) for record in reasons if record.get("failure") not in (None, RETIRED)]
    for reason, n in failures_of(read_journal(folder / JUDGEMENTS), judge).items():
        said += [f"judge {judge.name}: {reason}"] * n
    return said
