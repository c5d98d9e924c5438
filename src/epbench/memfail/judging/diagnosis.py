"""Where each question failed: stored, faithful, retrieved, used; the first stage that fails is the question's label.

Paper: Sections 3.2 and 5.1 (phase 3). What the paper leaves open is settled so:

- Several needed facts: each goes through its own stages; the question gets the earliest failing stage of any of them.
- Every answer is judged, also behind a failed stage, so that plain accuracy stands beside success.
- A misleading question asks about somebody whom the row says nothing of. As published, it is passed without merit where
  the essay that could mislead was not stored or not retrieved: such passes are marked `vacuous`. Where the essay lost its
  details it counts as a summary error, as published, even if the answer abstains; plain accuracy counts abstention alone.
- A question has failed, and is neither right nor wrong, where its answer is missing or a verdict that its label needs.

All checks of one stage go to the judge together; a verdict is journaled as it comes and serves every k and every
question that asks for the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from epbench.memfail.dataset.types import GoldMemory, Kind, QuestionRecord
from epbench.memfail.judging.multiple_choice import LETTERS, letter_of
from epbench.memfail.judging.protocol import Check, Judge, Judgement
from epbench.runs.answers import Progress
from epbench.runs.journal import Journal

JUDGEMENTS = "judgements.jsonl"

Stage = Literal["storage", "summary", "retrieval"]
STAGES: tuple[Stage, ...] = ("storage", "summary", "retrieval")

Label = Literal["correct", "storage_error", "summary_error", "retrieval_error", "reasoning_error", "failed"]
_ERROR: Mapping[Stage, Label] = {
    "storage": "storage_error",
    "summary": "summary_error",
    "retrieval": "retrieval_error",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question at one k.

    Attributes:
        question: its id.
        row: id of its row.
        kind: `direct` or `misleading` for a persona question, else "".
        group: that results are told apart by.
        k: how many memories were asked for.
        label: `correct`, the first stage that failed, or `failed`.
        vacuous: whether it is correct only because what could mislead was not stored or not retrieved.
        answer_right: whether the answer is right, whatever the stages say; None if there is none or no verdict on it.
        facts: of each needed memory, `correct` if it came through storage, summary and retrieval, else as `label`; none
            where there is no answer.
        n_memories: how many came back.
        memory_words: whitespace words in them.
    """

    question: str
    row: str
    kind: Kind
    group: str
    k: int
    label: Label
    vacuous: bool
    answer_right: bool | None
    facts: tuple[Label, ...]
    n_memories: int
    memory_words: int


def diagnose(
    folder: Path,
    traces: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    judge: Judge,
    progress: Progress,
) -> list[Outcome]:
    """Judge what is not judged yet, and tell where each question failed.

    Args:
        folder: of the run; the verdicts stand in its judgements.jsonl.
        traces: of all questions at all k.
        stores: by name of a store, all memories that it held when the questions were asked.
        judge: of memories and answers.
        progress: shows a bar.

    Returns:
        One outcome for each trace, in their order.
    """
    held = {name: tuple(store) for name, store in stores.items()}
    answered = [trace for trace in traces if trace.failure is None]
    with closing(_Verdicts(folder / JUDGEMENTS, judge, progress)) as verdicts:
        open_needs = [(trace, need) for trace in answered for need in trace.question.gold]
        for stage in STAGES:
            checks = [_memory_check(stage, trace, need, held) for trace, need in open_needs]
            verdicts.ask(checks, f"{stage} verdicts")
            passed = [verdicts.of(check) is True for check in checks]
            open_needs = [pair for pair, yes in zip(open_needs, passed, strict=True) if yes]
        verdicts.ask([_answer_check(trace) for trace in answered if not trace.question.choices], "answer verdicts")
        return [_outcome(trace, held, verdicts) for trace in traces]


class _Verdicts:
    """The journal of verdicts, and the judge who adds what it lacks."""

    def __init__(self, path: Path, judge: Judge, progress: Progress) -> None:
        self._journal, self._judge, self._progress = Journal(path), judge, progress

    def ask(self, checks: Iterable[Check], what: str) -> None:
        """Have all checks judged that are not; those with one key once."""
        by_key = {check.key(self._judge): check for check in checks if not _is_settled(check)}
        by_key = {key: check for key, check in by_key.items() if not self._journal.done(key)}
        if not by_key:
            return  # a model need not be loaded
        judgements = self._judge.judge(list(by_key.values()))
        last = time.monotonic()
        with closing(judgements):  # or what is open at an endpoint would go on when this stops
            for judgement in self._progress(judgements, what, len(by_key)):
                now = time.monotonic()
                self._add(by_key[judgement.key], judgement, now - last)
                last = now

    def of(self, check: Check) -> bool | None:
        """The verdict; None if the judge failed."""
        if _is_settled(check):
            return False
        verdict: bool | None = self._journal.records.get(check.key(self._judge), {}).get("verdict")
        return verdict

    def close(self) -> None:
        self._journal.close()

    def _add(self, check: Check, judgement: Judgement, seconds: float) -> None:
        outcome: dict[str, Any] = {"failure": judgement.failure}
        if judgement.failure is None:
            outcome = {"verdict": judgement.verdict, "reason": judgement.reason}
        if judgement.raw:
            outcome["raw"] = list(judgement.raw)
        if any(astuple(judgement.usage)):
            outcome["usage"] = asdict(judgement.usage)
        self._journal.add(
            judgement.key,
            kind=check.kind,
            id=check.need.fact if check.need else check.question.id,
            judge=self._judge.name,
            prompt_hash=self._judge.prompt_hash,
            **outcome,
            seconds=round(seconds, 4),
        )


def _is_settled(check: Check) -> bool:
    """Whether nobody need be asked: where there is no memory, none holds the fact."""
    return check.need is not None and not check.memories


def _memory_check(
    stage: Stage, trace: QuestionRecord, need: GoldMemory, stores: Mapping[str, tuple[str, ...]]
) -> Check:
    return Check(stage, trace.question, need, trace.memories if stage == "retrieval" else stores[trace.store])


def _answer_check(trace: QuestionRecord) -> Check:
    kind: Literal["abstention", "reasoning"] = "abstention" if trace.question.kind == "misleading" else "reasoning"
    return Check(kind, trace.question, answer=trace.answer)


def _outcome(trace: QuestionRecord, stores: Mapping[str, tuple[str, ...]], verdicts: _Verdicts) -> Outcome:
    question = trace.question
    facts: tuple[Label, ...] = ()
    right = None
    label: Label = "failed"
    vacuous = False
    if trace.failure is None:
        facts = tuple(_fact_label(trace, need, stores, verdicts) for need in question.gold)
        right = _letter_is_right(trace) if question.choices else verdicts.of(_answer_check(trace))
        label, vacuous = _label(question.kind, facts, right)
    return Outcome(
        question=question.id,
        row=question.row,
        kind=question.kind,
        group=question.group,
        k=trace.k,
        label=label,
        vacuous=vacuous,
        answer_right=right,
        facts=facts,
        n_memories=len(trace.memories),
        memory_words=sum(len(memory.split()) for memory in trace.memories),
    )


def _fact_label(
    trace: QuestionRecord, need: GoldMemory, stores: Mapping[str, tuple[str, ...]], verdicts: _Verdicts
) -> Label:
    for stage in STAGES:
        verdict = verdicts.of(_memory_check(stage, trace, need, stores))
        if not verdict:
            return "failed" if verdict is None else _ERROR[stage]
    return "correct"


def _letter_is_right(trace: QuestionRecord) -> bool:
    question = trace.question
    return letter_of(trace.answer, question.choices) == LETTERS[question.choices.index(question.reference)]


def _label(kind: Kind, facts: Sequence[Label], right: bool | None) -> tuple[Label, bool]:
    """The question's label, and whether it is a vacuous pass."""
    if "failed" in facts:
        return "failed", False
    earliest = next((_ERROR[stage] for stage in STAGES if _ERROR[stage] in facts), None)
    if kind == "misleading" and earliest in ("storage_error", "retrieval_error"):
        return "correct", True
    if earliest is not None:
        return earliest, False
    return ("failed" if right is None else "correct" if right else "reasoning_error"), False
