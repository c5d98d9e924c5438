"""The files of a run on a Tulving book: its results are computed from the journals and written, and read again.

questions.parquet has a row for each time that a question was asked. Other tools' and damaged files run.json and scores.json
are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, NothingToScore
from epbench.files.json_files import read_json
from epbench.files.text import shown
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import RETIRED, Record, read_journal
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, JudgeIdentity, failures_of
from epbench.judges.replies import FAILURES
from epbench.memories.recall import memory_usage
from epbench.memories.session import RETRIEVED
from epbench.runs import folder as runs
from epbench.runs.results import Columns, write_questions, write_results
from epbench.runs.usage import commonest, token_usage
from epbench.tulving.calibration.passport import SHARES, judge_scores, one_score, recall_to_correct
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
from epbench.tulving.scores.report import MOST_CARDS, Chapters, html_report, questions_html
from epbench.tulving.scores.scoring import NAMING, harsh_f1_of, has_order, question_measures, score_run, tau_of
from epbench.tulving.scores.tables import markdown_table

IDENTITY = fields({}, {**dict.fromkeys(("fingerprint", "released", "run"), str), "repeats": Whole})
"""The field `identity` of run.json."""

_NUMBERS = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_JUDGE = fields(
    {"name": str, "prompt_hash": str | None, "passport": dict[str, Any] | None},
    {
        "setup": str,
        "one_score": fields({"score": Number, "answers": Whole}),
        **dict.fromkeys(SHARES, Number | None),
        **{f"{share}_interval": list[Any] | None for share in SHARES},
    },
)

SCORES = fields(
    {
        **dict.fromkeys(_NUMBERS, Number | None), "f1_by_bin": dict[str, Number], "n_questions": Whole, "n_failed": Whole,
        "n_by_bin": dict[str, Whole], "intervals": dict[str, Interval],
    },
    {
        **dict.fromkeys(NAMING, Number | None), **dict.fromkeys(("coverage", "failed_by_bin"), dict[str, Whole]),
        **dict.fromkeys(("possible", "incomplete"), dict[str, Interval]), "notes": list[str], "judge": _JUDGE,
    },
)  # fmt: skip
"""The content of scores.json."""

LATER = (("coverage", "possible"), NAMING)
"""Fields of scores.json that earlier versions did not write, those of one version together."""


read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)


COLUMNS: Columns = {
    "id": "string", "repeat": "int64", "template": "int64",
    **dict.fromkeys(("cue", "time", "space", "entity", "content", "trace", "get", "bin"), "string"),
    "n_chapters": "int64", "origin": "string", "question": "string", "reference": ["string"], "chapters": ["int64"],
    "outcome": "string", "failure": "string", "answer": "string", "items": ["string"], "scores": ["double"],
    "order": ["string"], "reason": "string", **dict.fromkeys(("f1", "precision", "recall", "harsh_f1", "tau"), "double"),
}  # fmt: skip
"""The columns.

id, template (0 to 35), cue (the given elements, of `t s e c`), time, space, entity and content (null where not given), trace,
get, bin, n_chapters, origin, question, chapters (all matching chapter numbers) and reference (list of true items; the
dataset's column `answer`) are those of the dataset. repeat counts from 0 how often the question was asked before.
outcome is `right` (F1 is 1), `wrong` (below 1, or no answer in a file of answers) or `failed`; failure is the reason why
there is no answer or no verdict.
answer is what the reader wrote; items, scores, order and reason are the judge's: items found in the answer, a score of 0 to 1
for each true item, the true items found in the order of the answer, and why. f1, precision and recall are those of
`episodic_f1`, harsh_f1 counts every item found, and tau is Kendall's, null unless all items of an ordered list were found.
A missing answer is null, names no items, and has an F1 of 0.
A failed question has no verdict: its columns from items on are null, and so is the answer unless it refuses or says nothing.
"""

NOT_ASKED = NO_ANSWER
NOT_JUDGED = "the judge has not read this answer"
"""Why a question failed whose journal gives no reason, because the run was stopped."""

_TOO_MANY = 2**31  # repeats
_AT_ONCE = 2**14  # records that exist at one time; a run may have a million

_OF_ROW = (
    "id", "template", "cue", "time", "space", "entity", "content", "trace", "get", "bin", "n_chapters", "origin",
    "question", "chapters",
)  # fmt: skip


def records_of(
    folder: Path,
    rows: Sequence[Row],
    judge: JudgeIdentity,
    repeats: int = 1,
    found: Sequence[JudgedRecord] | None = None,
) -> Iterator[Record]:
    """A record with the fields `COLUMNS` for each time that a question was asked, from the journals of a run.

    Args:
        folder: The run's folder.
        rows: The questions that the run asked.
        judge: The judge whose verdicts count.
        repeats: How often the run asked each question, at least 1.
        found: What `judgement_records` returns, if it is at hand.

    Yields:
        The records in the order of the rows, and of the repeats of each.

    Raises:
        BadInput: The number of a verdict's scores is not that of the true items, or an answer has no possible repeat.
    """
    judged_of: dict[str, dict[int, tuple[str | None, Record | None]]] = {row["id"]: {} for row in rows}
    for answer, given, verdict in judgement_records(folder, rows, judge) if found is None else found:
        if not 0 <= answer["repeat"] < _TOO_MANY:
            raise BadInput(
                f"{folder / ANSWERS}, record {answer['key']!r}, field 'repeat': expected a number from 0 to {_TOO_MANY - 1:,}, "
                f"found {shown(answer['repeat'])}"
            )
        judged_of[given.id][answer["repeat"]] = None if answer.get("missing") else given.answer, verdict
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
            record = {name: row[name] for name in _OF_ROW} | {
                "repeat": repeat,
                "reference": row["answer"],
                "answer": text,
            }
            if verdict is not None and verdict.get("failure") is None:
                record |= {name: verdict.get(name) for name in ("items", "scores", "order", "reason")}
                to_score.append((record, judged(row, verdict)))
                if verdict.get("missing"):  # it is wrong, and yet names nothing
                    record["items"] = []
            elif text is None:  # nothing came back
                failure, text = failures.get((row["id"], repeat), (NOT_ASKED, None))
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
    """Put the outcome and the measures of judged answers into their records."""
    measures = question_measures([answer for _, answer in pairs]) if pairs else []
    for (record, answer), measured in zip(pairs, measures, strict=True):
        record |= {name: measured[name] for name in ("f1", "precision", "recall")}
        record["outcome"] = "right" if record["f1"] == 1 else "wrong"
        record["harsh_f1"] = harsh_f1_of(answer)
        record["tau"] = tau_of(answer) if has_order(answer) else None


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
