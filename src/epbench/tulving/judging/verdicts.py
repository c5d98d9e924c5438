"""What a judge reads and finds (paper: Appendix B.3), and judging the answers of a run.

Every verdict is journaled as it arrives, and one answer to one question is judged once. One folder may hold the verdicts of
several judges: they are in one journal, under keys of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from epbench.errors import BadInput, RunFailed
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal, Record, from_journal, read_journal
from epbench.judges import protocol
from epbench.judges.model import BaseModelJudge, name_without_weights
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, JudgeIdentity, identity_of, judge_open, key_of, open_inputs
from epbench.judges.replies import with_failures
from epbench.progress import Progress
from epbench.runs.folder import judge_of_scores
from epbench.runs.usage import commonest
from epbench.tulving.questions.templates import Get, Trace


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """One answer to be judged."""

    id: str  # id of the question
    question: str  # as the reader was asked
    trace: Trace  # kind of the items asked for
    get: Get  # which of them are asked for
    reference: tuple[str, ...]  # the true items, repeats included; empty where nothing matches the question
    answer: str  # as the reader gave it
    chapter: int | None = None  # the number of the chapter where its text is the true item; for wording that names it

    @property
    def distinct_reference(self) -> tuple[str, ...]:
        """The true items, each once, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.reference))

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the verdict depends on, so that one answer to one question is judged once."""
        return key_of(judge, self.question, self.trace, self.get, self.reference, self.answer)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found in an answer; the names of the fields are those in the journal."""

    items: Sequence[str]  # the items of the requested kind in the answer; empty for an abstention
    scores: Sequence[float]  # for each true item, repeats included, a number in [0, 1]
    order: Sequence[str]  # the true items that were found, in the order of the answer
    reason: str  # why, in a few words


Judge: TypeAlias = protocol.Judge[JudgeInput, Verdict]


@dataclass(frozen=True, slots=True)
class QuestionToScore:
    """What decides which scores a question counts for; all that is known of a question that was lost."""

    id: str  # the id of the question
    get: Get  # what the question asks for: all items, the latest, or all in chronological order
    bin: str  # the bin of the number of matching chapters
    n_chapters: int  # the number of matching chapters
    # The given values of time, space, entity and content, None where not given. Questions with one cue are one cluster.
    cue: tuple[str | None, ...]
    reference: Sequence[str]  # the true items, repeats included
    # Over how many links from chapter to chapter the answer follows; None at level 1
    links: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class ScoredAnswer(QuestionToScore):
    """One question with the verdict on its answer."""

    items: Sequence[str]  # the items found in the answer
    scores: Sequence[float]  # the score of each true item, 0 to 1
    order: Sequence[str]  # the true items found, in the order of the answer; only used for chronological questions
    missing: bool = False  # whether there was no answer, which is wrong


Score = TypeVar("Score")


def first_scores(reference: Sequence[str], scores: Iterable[Score]) -> dict[str, Score]:
    """The score of each different true item; if one is repeated its first score counts, as in the metric."""
    return dict(reversed(list(zip(reference, scores, strict=True))))


JudgedRecord = tuple[Record, JudgeInput, Record | None]
"""The record of an answer, what the judge was given, and the record of its verdict or its failure, if it read the answer."""

CALLS = "judge_calls.jsonl"
NO_ANSWER = "there is no answer to this question"
"""The reason of a verdict that no judge was asked for: a missing answer is wrong, whatever the question."""


def judge_input(row: Row, answer: str, reference: tuple[str, ...] | None = None) -> JudgeInput:
    """The answer to a question of the dataset as a judge gets it; `reference` has the true items if they are at hand."""
    reference = tuple(row["answer"]) if reference is None else reference
    chapter = row["chapters"][0] if row["trace"] == "full_details" and row["chapters"] else None
    return JudgeInput(row["id"], row["question"], row["trace"], row["get"], reference, answer, chapter)


def plan_open(folder: Path, rows: Sequence[Row], judge: Judge) -> list[str]:
    """What it costs at most to judge the journaled answers to these rows that have no verdict; see `plan_lines`."""
    inputs = [input_ for _, input_ in given_answers(folder, rows, judge)]
    return plan_lines(judge, list(open_inputs(read_journal(folder / JUDGEMENTS), inputs, judge).values()))


def judge_answers(folder: Path, rows: Sequence[Row], judge: Judge, progress: Progress) -> list[ScoredAnswer]:
    """Verdicts on all journaled answers to these rows; those that the journal has are not asked for again."""
    ask_judge(folder, rows, judge, progress)
    return scored_answers(rows, judgement_records(folder, rows, judge))


def ask_judge(folder: Path, rows: Sequence[Row], judge: Judge, progress: Progress) -> None:
    """Have all journaled answers to these rows judged on which the journal has no verdict."""
    inputs = [input_ for _, input_ in given_answers(folder, rows, judge)]
    journal = Journal(folder / JUDGEMENTS)
    judge_open(journal, inputs, judge, progress, "verdicts", lambda input_, _: {"id": input_.id}, folder / CALLS)
    journal.close()


def scored_answers(rows: Sequence[Row], found: Sequence[JudgedRecord]) -> list[ScoredAnswer]:
    """The verdicts among what `judgement_records` has found, in its order."""
    row_of = {row["id"]: row for row in rows}
    return [
        judged(row_of[input_.id], verdict)
        for _, input_, verdict in found
        if verdict is not None and verdict.get("failure") is None
    ]


def judged(row: Row, verdict: Record) -> ScoredAnswer:
    """A row of the dataset with the verdict on its answer."""
    fields = {name: verdict[name] for name in ("items", "scores", "order")}
    return ScoredAnswer(**_to_score(row), **fields, missing=verdict.get("missing", False))


def missing_verdict(reference: Sequence[str]) -> Record:
    """The verdict on a question to which a file of answers has none: nothing found, and no abstention either."""
    return {"items": [""], "scores": [0.0] * len(reference), "order": [], "reason": NO_ANSWER, "missing": True}


def lost_questions(rows: Sequence[Row], verdicts: Sequence[ScoredAnswer], repeats: int) -> list[QuestionToScore]:
    """The questions of a run that have no verdict, each once for every one of its `repeats` that is missing."""
    n_judged = Counter(verdict.id for verdict in verdicts)
    return [QuestionToScore(**_to_score(row)) for row in rows for _ in range(repeats - n_judged[row["id"]])]


def _to_score(row: Row) -> dict[str, Any]:
    plain = {name: row[name] for name in ("id", "get", "bin", "n_chapters")}
    cue = (row["time"], row["space"], row["entity"], row["content"])
    return plain | {"cue": cue, "reference": row["answer"], "links": row.get("links")}


def judgement_records(folder: Path, rows: Sequence[Row], judge: JudgeIdentity) -> list[JudgedRecord]:
    """All answers to these rows, as in `given_answers`, each with the record of the verdict or of the judge's failure, if any.

    BadInput if a verdict has another number of scores than there are true items, or a score outside 0 to 1.
    """
    journal = read_journal(folder / JUDGEMENTS)
    records: list[JudgedRecord] = []
    for answer, input_ in given_answers(folder, rows, judge, missing=True):
        if answer.get("missing"):
            records.append((answer, input_, missing_verdict(input_.reference)))
            continue
        record = journal.get(answer["key"] if judge.prompt_hash == PUBLISHED else input_.key(judge))
        if record is not None and record.get("failure") is None:
            record = _checked(folder, record, input_, published=judge.prompt_hash == PUBLISHED)
        records.append((answer, input_, record))
    return records


def _checked(folder: Path, verdict: Record, input_: JudgeInput, *, published: bool) -> Record:
    """A verdict with scores from 0 to 1; those of a published judge may exceed 1 and are clipped."""
    where, scores = f"{folder / JUDGEMENTS}, record {verdict['key']!r}, field 'scores'", verdict.get("scores", ())
    if len(scores) != (expected := len(input_.reference)):
        raise BadInput(
            f"{where}: expected {expected} numbers, one for each true item of question {input_.id}, found {len(scores)}"
        )
    if not published and (odd := next((score for score in scores if not 0 <= score <= 1), None)) is not None:
        raise BadInput(
            f"{where}: expected numbers from 0 to 1, found {odd}; delete this line, and the next start asks the judge again"
        )
    if all(type(score) is float and 0 <= score <= 1 for score in scores):
        return verdict
    return verdict | {"scores": [min(1.0, max(0.0, score)) for score in scores]}


def answer_records(folder: Path, judge: JudgeIdentity) -> list[Record]:
    """The journaled replies; one that refuses or says nothing is a failure, except before the judge of a published run."""
    records: list[Record] = from_journal(folder / ANSWERS, list if judge.prompt_hash == PUBLISHED else with_failures)
    return records


def given_answers(
    folder: Path, rows: Sequence[Row], judge: JudgeIdentity, *, missing: bool = False
) -> list[tuple[Record, JudgeInput]]:
    """The journaled answers to these rows, without failures, in the order of the rows and of the repeats.

    With `missing`, questions that a file of answers leaves out are among them, each with an empty answer. Of several answers
    to one repeat of a question the last one counts: a memory system is asked again if its memories have changed.
    """
    position = {row["id"]: i for i, row in enumerate(rows)}
    latest = {
        (position[record["id"]], record["repeat"]): record
        for record in answer_records(folder, judge)
        if record.get("failure") is None and record["id"] in position and (missing or not record.get("missing"))
    }
    inputs = [(i, record) for (i, _), record in sorted(latest.items(), key=itemgetter(0))]
    references = [tuple(row["answer"]) for row in rows]  # one for all repeats
    return [(record, judge_input(rows[i], record.get("answer", ""), references[i])) for i, record in inputs]


def judge_failures(folder: Path, judge: Judge) -> dict[str, int]:
    """How many answers the judge has failed on and is to be asked again about, by reason."""
    return protocol.failures_of(read_journal(folder / JUDGEMENTS), judge)


def plan_in_advance(
    judge: Judge, rows: Sequence[Row], max_tokens: int, repeats: int = 1, answers: Mapping[str, str] | None = None
) -> list[str]:
    """What judging these answers, or else any of up to `max_tokens` to these rows, costs at most; see `plan_lines`."""
    inputs = [judge_input(row, (answers or {}).get(row["id"], "")) for row in rows]
    return plan_lines(judge, inputs, repeats=repeats, answer_tokens=max_tokens)


def plan_lines(judge: Judge, inputs: Sequence[JudgeInput], *, repeats: int = 1, answer_tokens: int = 0) -> list[str]:
    """What judging these inputs costs at most, a line for each number, as `BaseModelJudge.plan`; BadInput if one does not fit."""
    who = f"judge {name_without_weights(judge)}: {len(inputs) * repeats:,} verdicts"
    if not isinstance(judge, BaseModelJudge):
        return [f"{who}, no tokens"]
    most = judge.plan(inputs, repeats=repeats, answer_tokens=answer_tokens)
    first, *others = (line.removeprefix("at most ") for line in most.lines())
    first += ", and one more for a reply that is unusable"
    return [f"{who}, at most {first}", *(f"judge: at most {line}" for line in others)]


def check_all_judged(folder: Path, rows: Sequence[Row], verdicts: Sequence[ScoredAnswer], judge: Judge) -> None:
    """Refuse to replace the scores of one judge by those of another that has not judged every answer; RunFailed says how many."""
    n_answers, previous = len(given_answers(folder, rows, judge)), judge_of_scores(folder)
    missing = n_answers - sum(not verdict.missing for verdict in verdicts)
    if missing and previous not in (None, identity_of(judge)):
        reasons = commonest(reason for reason, n in judge_failures(folder, judge).items() for _ in range(n))
        raise RunFailed(
            f"judge {judge.name} has given no verdict on {missing} of {n_answers} answers{reasons}; the scores in {folder} "
            f"remain those of judge {previous.name}; start again to ask for the missing verdicts"
        )
