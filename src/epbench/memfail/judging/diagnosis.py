"""Where each question failed: in storing, summarising, retrieving or reasoning (paper: Sections 3.2 and 5.1, phase 3).

The first stage that fails is the question's label; one of `revision` is labelled first by what its wrong answer says, and by a
needed fact that is gone. Every answer is judged, even if an earlier stage has failed, so that plain accuracy can be reported
beside success. A verdict is journaled as it arrives, and serves every k and every question that asks for the same.

How far the labels can be trusted says a judge who looks for needed facts that are absent. One that still finds a fact in a store
that has everything else word for word would let a memory system pass that has lost it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

from epbench.draws import RandomStream
from epbench.journals.journal import Journal, Record
from epbench.judges.protocol import JUDGEMENTS, is_free, judge_open
from epbench.memfail.dataset.load import Fact, Question, QuestionRecord
from epbench.memfail.dataset.load import Kind as QuestionKind
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.dataset.word_rules import LETTERS, letter_of
from epbench.memfail.judging.lexical import (
    STAGES,
    Check,
    Judge,
    Kind,
    Stores,
    answer_check,
    memory_check,
    needs_no_judge,
    sibling_check,
    stages_of,
    wrong_answer_check,
)
from epbench.memfail.judging.memories import Memories
from epbench.progress import Progress


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one question at one k.

    It is vacuous if it is correct only because what could mislead was not stored or not retrieved, or, in `revision`, although
    the question about the neighbour of what was withdrawn got no right answer.
    """

    question: str  # id of the question
    row: str  # id of its row
    kind: QuestionKind
    group: str  # the group under which it is reported
    k: int  # number of memories that were asked for
    n_memories: int  # number of memories that were retrieved
    memory_words: int  # whitespace words in them
    label: Label = "failed"  # `correct`, the first stage that failed, or `failed`; in `revision` also one of `Revised`
    vacuous: bool = False
    answer_right: bool | None = None  # regardless of the stages; None if there is no answer or no verdict
    facts: tuple[Label, ...] = ()  # for each gold memory, `correct` or the stage that it failed; empty if not judged
    needs: tuple[str, ...] = ()  # the ids of the facts of the gold memories, in the order of `facts`
    unsure: tuple[str, ...] = ()  # those of them on which the judge gave a verdict for want of a better one
    reason: str | None = None  # the judge's words on the check that decided the label; None where no judge decided
    reasons: tuple[str | None, ...] = ()  # those on each gold memory, at its last stage, in the order of `facts`
    failure: str | None = None  # why the question failed: what the run or the judge says; None if it did not


def diagnose(
    folder: Path,
    records: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    judge: Judge,
    progress: Progress,
) -> list[Outcome]:
    """Judge what is not judged yet in the folder's judgements.jsonl, and find out where each question failed.

    The stores are all memories that each held when the questions were asked; there is one outcome for each record.
    """
    held: Stores = {name: Memories(store) for name, store in stores.items()}
    answered = [record for record in records if record.failure is None]
    with closing(Journal(folder / JUDGEMENTS)) as journal:
        verdicts = Verdicts(journal, judge, progress)
        passing = [(record, gold) for record in answered for gold in record.question.gold]
        for stage in STAGES:
            passing = [(record, gold) for record, gold in passing if stage in stages_of(record.question)]
            checks = [memory_check(stage, record, gold, held) for record, gold in passing]
            verdicts.ask(checks, f"{stage} verdicts")
            passing = [pair for pair, check in zip(passing, checks, strict=True) if verdicts.of(check)]
        verdicts.ask([check for record in answered if (check := answer_check(record))], "answer verdicts")
        verdicts.ask([check for record in answered for check in _more_checks(record, held, verdicts)], "more verdicts")
        outcomes = [_outcome(record, held, verdicts) for record in records]
    # In `revision`, whoever knows nothing of the neighbour either has not forgotten, and earns nothing.
    keys = [(record.question.row, record.k, record.question.gold) for record in records]
    right = {key: outcome.answer_right for key, outcome in zip(keys, outcomes, strict=True) if outcome.kind == "now"}
    return [
        replace(outcome, vacuous=right.get(key) is False)
        if outcome.kind == "forgotten" and outcome.label == "correct"
        else outcome
        for key, outcome in zip(keys, outcomes, strict=True)
    ]


def _more_checks(record: QuestionRecord, stores: Stores, verdicts: Verdicts) -> list[Check]:
    """What is asked about a question of `revision` when its stages and its answer have been judged."""
    answered, wrong = answer_check(record), wrong_answer_check(record)
    checks = [wrong] if answered and wrong and verdicts.of(answered) is False else []
    if other := sibling_check(record, stores):
        gone = any(verdicts.of(memory_check("storage", record, gold, stores)) is False for gold in record.question.gold)
        checks += [other] if gone else []
    return checks


class Verdicts:
    """The journaled verdicts of one judge, which is asked for those that are missing.

    Records of checks about stores that lack a fact on purpose say so (`left_out`).
    """

    def __init__(self, journal: Journal, judge: Judge, progress: Progress, *, left_out: bool = False) -> None:
        self._journal, self._judge, self._progress, self._left_out = journal, judge, progress, left_out

    def ask(self, checks: Iterable[Check], what: str) -> None:
        """Have all checks judged that are not judged yet."""
        open_checks = [check for check in checks if not needs_no_judge(check)]
        judge_open(self._journal, open_checks, self._judge, self._progress, what, self._describe)

    def of(self, check: Check) -> bool | None:
        """The verdict; None if the judge failed."""
        if needs_no_judge(check):
            return False
        verdict: bool | None = self._record(check).get("verdict")
        return verdict

    def unsure(self, check: Check) -> bool:
        """Whether the judge gave a verdict and said that it had nothing to go by."""
        return self._record(check).get("sure") is False

    def words(self, check: Check, field: str = "reason") -> str | None:
        """What the judge says of its verdict, or under `failure` why there is none; None if it was not asked."""
        if needs_no_judge(check):
            return "there is no memory at all" if field == "reason" else None
        words: str | None = self._record(check).get(field)
        return words

    def _record(self, check: Check) -> Record:
        return self._journal.records.get(check.key(self._judge), {})

    def _describe(self, check: Check, seconds: float) -> Record:
        id_ = check.gold.fact if check.gold else check.question.id
        more = {"left_out": True} if self._left_out else {}
        return {"kind": check.kind, "id": id_, "seconds": round(seconds, 4), **more}


def _outcome(record: QuestionRecord, stores: Stores, verdicts: Verdicts) -> Outcome:
    question, gold = record.question, record.question.gold
    unjudged = Outcome(
        *(question.id, question.row, question.kind, question.group, record.k),
        n_memories=len(record.memories),
        memory_words=sum(len(memory.split()) for memory in record.memories),
        needs=tuple(memory.fact for memory in gold),
        failure=record.failure,
    )
    if record.failure is not None:
        return unjudged
    answered, stages = answer_check(record), stages_of(question)
    checks = [[memory_check(stage, record, memory, stores) for stage in stages] for memory in gold]
    last = [next((check for check in of_fact if not verdicts.of(check)), of_fact[-1]) for of_fact in checks]
    facts = tuple(_fact_label(check.kind, verdicts.of(check)) for check in last)
    choices, letter = question.choices, letter_of(record.answer, question.choices) if question.choices else None
    right = verdicts.of(answered) if answered else letter == LETTERS[choices.index(question.reference)]
    earliest = next((_ERROR_AT[stage] for stage in STAGES if _ERROR_AT[stage] in facts), None)
    vacuous = question.kind == "misleading" and earliest in ("storage_error", "retrieval_error")
    of_answer: Label = "failed" if right is None else "correct" if right else "reasoning_error"
    label = "correct" if vacuous else earliest or of_answer
    if "failed" in facts:
        label, vacuous = "failed", False
    deciding = next((check for fact, check in zip(facts, last, strict=True) if fact == earliest), answered)
    if question.config == REVISION and label not in ("correct", "failed"):
        label = _revised_label(label, record, stores, verdicts, answer_is_wrong=right is False)
        deciding = wrong_answer_check(record) if label in ("stale", "resurrected") else deciding
    failed = [verdicts.words(check, "failure") for check in [*chain.from_iterable(checks), answered] if check]
    return replace(
        unjudged,
        label=label,
        vacuous=vacuous,
        answer_right=right,
        facts=facts,
        unsure=tuple(m.fact for m, of_fact in zip(gold, checks, strict=True) if any(map(verdicts.unsure, of_fact))),
        reason=verdicts.words(deciding) if deciding and label != "failed" else None,
        reasons=tuple(map(verdicts.words, last)),
        failure=f"judge: {next(filter(None, failed), 'it gave no verdict')}" if label == "failed" else None,
    )


def _revised_label(
    label: Label, record: QuestionRecord, stores: Stores, verdicts: Verdicts, *, answer_is_wrong: bool
) -> Label:
    """The label of a question of `revision` that has an error: what its answer says, or whether its fact has gone."""
    wrong, other = wrong_answer_check(record), sibling_check(record, stores)
    if wrong and answer_is_wrong:
        found = verdicts.of(wrong)
        if found is not False:
            return "failed" if found is None else "stale" if wrong.kind == "stale" else "resurrected"
    if label != "storage_error" or record.question.group not in GOES_WITH or not stores[record.store]:
        return label
    found = verdicts.of(other) if other else False
    return "failed" if found is None else "storage_error" if found else "lost_with_it"


Revised = Literal["stale", "resurrected", "lost_with_it"]
Label = Literal["correct", "storage_error", "summary_error", "retrieval_error", "reasoning_error", Revised, "failed"]
_ERROR_AT: Mapping[Kind, Label] = {
    "storage": "storage_error",
    "summary": "summary_error",
    "retrieval": "retrieval_error",
}
ERRORS: tuple[str, ...] = (*_ERROR_AT.values(), "reasoning_error")
REVISED: tuple[str, ...] = get_args(Revised)  # the errors that only questions of `revision` can have
GOES_WITH = ("corrected", "said first", "withdrawn", "restated", "kept")
"""Groups of `revision` whose needed fact can have gone with what was withdrawn; whatever is told again is told last."""


def _fact_label(stage: Kind, passed: bool | None) -> Label:
    """The label of one gold memory, by the verdict at the first stage that it did not pass, or else at the last one."""
    return "correct" if passed else "failed" if passed is None else _ERROR_AT[stage]


MOST = 50  # units that a judge who costs something is asked about
MOST_BY_RULES = 1000  # units that a judge by rules is asked about; the published tables have at most 350
TOO_MANY = 0.05  # share of units from which on readers are warned


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How often the absence of a needed fact is noticed."""

    n: int  # units that the judge still calls stored and faithful
    misplaced: int  # further units that it calls stored, but with a lost detail: an error of the wrong stage
    of: int  # units on which it gave verdicts

    def as_dict(self) -> dict[str, Any]:
        """The counts, and the share of unnoticed units; None without units."""
        return asdict(self) | {"share": self.n / self.of if self.of else None}

    def warning(self) -> str | None:
        """What readers must know if more than `TOO_MANY` of the units are not missed at the right stage."""
        if self.n + self.misplaced <= TOO_MANY * self.of:
            return None
        return (
            f"if a needed fact were absent, the judge would not notice it for {self.n} of {self.of}, and take it for a lost "
            f"detail for {self.misplaced}, because other facts have the same names and words: success is too high, and "
            f"storage errors are too few"
        )


def leave_one_out(
    folder: Path,
    records: Sequence[QuestionRecord],
    told: Mapping[str, Sequence[Fact]],
    judge: Judge,
    progress: Progress,
) -> LeftOut:
    """Have a judge look for each needed fact where it is not; `told` is what the system was told for each store.

    A judge by rules looks for at most `MOST_BY_RULES`, one that costs something for `MOST`, always the same ones. The
    verdicts are journaled beside all others.
    """
    asked = {record.question.id: (record.question, record.store) for record in records}
    checks = left_out_checks(asked.values(), told, MOST_BY_RULES if is_free(judge) else MOST)
    with closing(Journal(folder / JUDGEMENTS)) as journal:
        verdicts = Verdicts(journal, judge, progress, left_out=True)
        verdicts.ask([stored for stored, _ in checks], "verdicts without the fact")
        verdicts.ask([kept for stored, kept in checks if verdicts.of(stored)], "verdicts without the fact")
        pairs = [(verdicts.of(stored), verdicts.of(kept) if verdicts.of(stored) else False) for stored, kept in checks]
    judged = [(stored, kept) for stored, kept in pairs if stored is not None and kept is not None]
    unnoticed = sum(kept for _, kept in judged)
    return LeftOut(unnoticed, sum(stored for stored, _ in judged) - unnoticed, len(judged))


def left_out_checks(
    asked: Iterable[tuple[Question, str]], told: Mapping[str, Sequence[Fact]], most: int = MOST
) -> list[tuple[Check, Check]]:
    """For each needed unit, whether it is stored and whether it is faithful, where everything is stored but its fact.

    A unit is a fact with what identifies it and what must be kept of it, so that an essay may be several; of more than `most`,
    so many are drawn with a fixed seed.
    """
    units = {
        (store, gold.fact, gold.link, gold.detail): (question, gold, store)
        for question, store in asked
        for gold in question.gold
    }
    if len(drawn := list(units.values())) > most:
        drawn = RandomStream("left out", 0).sample(drawn, most)
    held = {store: Memories(fact.text for fact in told[store]) for store in dict.fromkeys(store for *_, store in drawn)}
    places = {store: {fact.id: place for place, fact in enumerate(told[store])} for store in held}
    checks = []
    for question, gold, store in drawn:
        rest = held[store].without(*(places[store][fact] for fact in (gold.fact, *gold.also)))
        checks.append((Check("storage", question, gold, rest), Check("summary", question, gold, rest)))
    return checks
