"""The files of a run on a Tulving book: questions.parquet, a row for each time that a question was asked.

And reading run.json and scores.json; other tools' files and damaged ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import RETIRED, Record
from epbench.judges.protocol import JudgeIdentity
from epbench.judges.replies import FAILURES
from epbench.runs import folder as runs
from epbench.runs.results import Columns
from epbench.tulving.judging.verdicts import (
    NO_ANSWER,
    JudgedRecord,
    ScoredAnswer,
    answer_records,
    judged,
    judgement_records,
)
from epbench.tulving.scores.scoring import harsh_f1_of, has_order, question_measures, tau_of

IDENTITY = fields({}, {**dict.fromkeys(("fingerprint", "released", "run"), str), "repeats": Whole})
"""The field `identity` of run.json."""

_NUMBERS = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_SHARES = ("sensitivity", "specificity", "order")
_JUDGE = fields(
    {"name": str, "prompt_hash": str | None, "passport": dict[str, Any] | None},
    {
        "setup": str,
        "one_score": fields({"score": Number, "answers": Whole}),
        **dict.fromkeys(_SHARES, Number | None),
        **{f"{share}_interval": list[Any] | None for share in _SHARES},
    },
)

NAMING = ("items_ratio", "latest_several", "harsh_simple_recall_score")
"""Fields of scores.json about how many items the answers name."""

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


def check_same_book(described: Mapping[Path, Mapping[str, Any]]) -> list[Path]:
    """Check that runs are on one book.

    Args:
        described: The content of run.json by the folder of the run.

    Returns:
        The folders of which it is not known whether their chapters are those of the others; see `UNKNOWN_CHAPTERS`.

    Raises:
        BadInput: The runs are on different questions, or on different chapters.
    """
    # A run on a dataset has the fingerprint of its rows in its identity, a released run beside it.
    rows = {folder: run["identity"].get("fingerprint", run.get("fingerprint")) for folder, run in described.items()}
    chapters = {
        folder: run["identity"]["chapters"] for folder, run in described.items() if "chapters" in run["identity"]
    }
    for prints in (rows, chapters):
        if len(set(prints.values())) > 1:
            named = ", ".join(f"{folder}: {print_}" for folder, print_ in prints.items())
            raise BadInput(f"the runs are on different {'datasets' if prints is rows else 'chapters'}: {named}")
    own = [folder for folder, run in described.items() if "released" not in run["identity"]]
    return [folder for folder in own if chapters and folder not in chapters]


UNKNOWN_CHAPTERS = (
    "an earlier version made this run and did not note the text of the chapters, so it is unknown whether it is that of "
    "the other runs"
)

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
