"""From the journals of a run on a Tulving book to its files: the table of questions, its scores and its report, with cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, NothingToScore
from epbench.files.json_files import read_json
from epbench.files.text import shown
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import RETIRED, Record, read_journal
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, JudgeIdentity, failures_of
from epbench.judges.replies import FAILURES
from epbench.memories.recall import memory_usage, price_of, price_table
from epbench.memories.session import RETRIEVED
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import commonest, token_usage
from epbench.tulving.calibration.passport import judge_scores, one_score
from epbench.tulving.judging.verdicts import (
    NO_ANSWER,
    JudgedRecord,
    QuestionToScore,
    ScoredAnswer,
    answer_records,
    judged,
    judgement_records,
    lost_questions,
    scored_answers,
)
from epbench.tulving.scores.inventions import MOST_CARDS, Chapters, questions_html
from epbench.tulving.scores.report import html_report
from epbench.tulving.scores.run_files import COLUMNS
from epbench.tulving.scores.scoring import harsh_f1_of, has_order, question_measures, score_run, tau_of
from epbench.tulving.scores.tables import markdown_table

NOT_JUDGED = "the judge has not read this answer"
"""Why a question failed whose journal gives no reason, because the run was stopped."""

_TOO_MANY = 2**31  # repeats
_AT_ONCE = 2**14  # records that exist at one time; a run may have a million

_OF_ROW = "id template cue time space entity content trace get bin n_chapters origin question chapters".split()


def _records(
    folder: Path, rows: Sequence[Row], judge: JudgeIdentity, repeats: int, found: Sequence[JudgedRecord]
) -> Iterator[Record]:
    """Yield a record with the fields `COLUMNS` for each time that a question was asked, in the order of rows and repeats."""
    judged_of: dict[str, dict[int, tuple[str | None, Record | None]]] = {row["id"]: {} for row in rows}
    for answer, judge_input, verdict in found:
        if not 0 <= answer["repeat"] < _TOO_MANY:
            raise BadInput(
                f"{folder / ANSWERS}, record {answer['key']!r}, field 'repeat': expected a number from 0 to {_TOO_MANY - 1:,}, "
                f"found {shown(answer['repeat'])}"
            )
        judged_of[judge_input.id][answer["repeat"]] = None if answer.get("missing") else judge_input.answer, verdict
    failures = _failures(folder, judge)
    records: list[Record] = []
    to_score: list[tuple[Record, ScoredAnswer]] = []
    for row in rows:
        if len(records) >= _AT_ONCE:
            _score(to_score)
            yield from records
            records, to_score = [], []
        asked = judged_of[row["id"]]
        for repeat in sorted({*range(repeats), *asked}):
            text, verdict = asked.get(repeat, (None, None))
            record = {name: row[name] for name in _OF_ROW}
            record |= {"repeat": repeat, "reference": row["answer"], "answer": text}
            if verdict is not None and verdict.get("failure") is None:
                record |= {name: verdict.get(name) for name in ("items", "scores", "order", "reason")}
                to_score.append((record, judged(row, verdict)))
                if verdict.get("missing"):  # it is wrong, and yet names nothing
                    record["items"] = []
            elif text is None:  # nothing came back
                failure, text = failures.get((row["id"], repeat), (NO_ANSWER, None))
                record |= {"outcome": "failed", "failure": failure, "answer": text}
            else:
                record |= {"outcome": "failed", "failure": verdict["failure"] if verdict else NOT_JUDGED}
            records.append(record)
    _score(to_score)
    yield from records


def _failures(folder: Path, judge: JudgeIdentity) -> dict[tuple[str, int], tuple[str, str | None]]:
    """Why the reader failed, by question and repeat: the last reason that is not about an older prompt. And its refusal."""
    records = [record for record in answer_records(folder, judge) if record.get("failure") is not None]
    return {
        (r["id"], r["repeat"]): (r["failure"], r["partial"] if r["failure"] in FAILURES.values() else None)
        for r in sorted(records, key=lambda r: r["failure"] != RETIRED)
    }


def _score(pairs: Sequence[tuple[Record, ScoredAnswer]]) -> None:
    measures = question_measures([answer for _, answer in pairs]) if pairs else []
    for (record, answer), measured in zip(pairs, measures, strict=True):
        tau = tau_of(answer) if has_order(answer) else None
        outcome = "right" if measured["f1"] == 1 else "wrong"
        record |= {**measured, "outcome": outcome, "harsh_f1": harsh_f1_of(answer), "tau": tau}


def scores_of(
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    more: Mapping[str, Any] | None = None,
    *,
    judge: JudgeIdentity | None = None,
) -> dict[str, Any]:
    """The content of scores.json, as in `score_run` and `judge_scores`; without a judge, `more` says everything of it."""
    scores = score_run(rows, lost) | dict(more or {})
    if judge is None:
        return scores
    about = judge_scores(judge, scores)
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

    questions.parquet is written first, so that a run with scores has the questions that they are the means of. What is to be
    said of a published judge is in `more`, further fields of scores.json. The report shows the `chapters` if they are at hand.

    Returns the content of scores.json. NothingToScore if there is no judged answer; nothing is written then. BadInput if the
    number of a verdict's scores is not that of the true items, or an answer has no possible repeat.
    """
    judgements = judgement_records(folder, rows, judge)
    verdicts = scored_answers(rows, judgements)
    lost = lost_questions(rows, verdicts, repeats)
    if not verdicts:
        raise NothingToScore(
            f"nothing to score: all {len(lost)} questions failed{commonest(_reasons(folder, rows, judge))}; start the run "
            "again to retry them"
        )
    scores = scores_of(verdicts, lost, more, judge=None if judge.prompt_hash == PUBLISHED else judge)
    usage = token_usage(answer_records(folder, judge)) | memory_usage(folder)
    if price := price_of(folder):
        usage["price"] = price
    records = _records(folder, rows, judge, repeats, judgements)
    del judgements
    first = list(islice(records, MOST_CARDS))
    write_questions(folder, COLUMNS, chain(first, records))
    explorer = questions_html(folder, first, chapters, len(verdicts) + len(lost))
    report = html_report(label, read_json(folder / "run.json"), scores, verdicts, lost, usage, explorer)
    prices = [table.markdown() for table in price_table({label: price} if price else {})]
    table = "\n".join([markdown_table({label: scores}), *prices])
    write_results(folder, scores=scores, usage=usage, table=table, report=report)
    return scores


def _reasons(folder: Path, rows: Sequence[Row], judge: JudgeIdentity) -> list[str]:
    """Why questions of a run have no judged answer: what the memory, the reader and the judge say."""
    asked = {row["id"] for row in rows}
    reasons = [record for record in answer_records(folder, judge) if record["id"] in asked]
    reasons += [record for record in read_journal(folder / RETRIEVED).values() if record.get("question") in asked]
    messages = [str(record["failure"]) for record in reasons if record.get("failure") not in (None, RETIRED)]
    for reason, n in failures_of(read_journal(folder / JUDGEMENTS), judge).items():
        messages += [f"judge {judge.name}: {reason}"] * n
    return messages
