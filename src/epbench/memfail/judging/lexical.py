"""What a judge of MemFail is asked, and the embedded judge, which compares words.

A check is one statement about one memory or one answer, true or not. Paper: Section 5.1, phase 3, and Appendix D.3. Whether
a fact was stored and kept its detail depends on the store alone, so that one check serves every k; whether it was retrieved
depends only on the retrieved memories. Checks with the same key are the same check: it is judged once.

The embedded judge compares words, not meanings; it gives the same verdict on every machine, without a model. It is meant
for data in which the true answer is literal. Of the words of a name, behaviour, condition or answer that occur in the stored
text, a memory must keep a share of `KEPT`, and must not say the opposite, link the same ends the other way round or have other
numbers. It cannot tell apart two facts with one preference. Where rules have nothing to compare, it says that it is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from epbench.judges import protocol
from epbench.judges.protocol import JudgeIdentity, Judgement, key_of
from epbench.memfail.dataset.load import GoldMemory, Question, QuestionRecord
from epbench.memfail.dataset.revision import REVISION, denied, keeps_back, names, tells_first, tells_old, tells_present
from epbench.memfail.dataset.word_rules import abstains, content_of, decision_of, sentences_of, without_questions
from epbench.memfail.judging.memories import Memories, leads_on, lost_numbers, memories_of, numbers_as_words, turned
from epbench.models.estimate import Estimate

BY_QUESTION = "-by-question"  # ends the prompt hash of a judge that is told the question about memories

Kind = Literal["storage", "summary", "retrieval", "reasoning", "abstention", "stale", "resurrected"]


@dataclass(frozen=True, slots=True)
class Check:
    """One statement, by its kind.

    storage: the store has a memory of the fact; summary: what it has keeps the detail; retrieval: the retrieved memories have
    fact and detail; reasoning: the answer is right; abstention: the answer says nothing about somebody of whom nothing is
    known, or of what was withdrawn; stale: the answer gives what was corrected as if it still held; resurrected: the answer
    gives away what was withdrawn.
    """

    kind: Kind
    question: Question
    gold: GoldMemory | None = None  # the memory in question; None where an answer is judged
    memories: tuple[str, ...] = ()  # the whole store (storage, summary), or the retrieved ones; empty for an answer
    answer: str = ""  # the reader's, where an answer is judged

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the verdict depends on."""
        asked: tuple[object, ...]
        if self.gold is None:
            facts = [(gold.text, gold.link) for gold in self.question.gold]
            asked = (self.question.text, self.question.reference, facts, self.answer)
        else:
            detail = () if self.kind == "storage" else self.gold.detail
            asked = (self.gold.text, self.gold.link, detail, memories_of(self.memories).digest)
        if self.gold is not None and judge.prompt_hash.endswith(BY_QUESTION):
            asked += (self.question.text,)
        if self.question.config == REVISION:
            asked += (REVISION_RULES, self.question.kind, self.question.about["other"])
        return key_of(judge, self.kind, self.question.config, asked)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of a check; the names of the fields are those in the journal.

    It is not sure where rules have nothing to compare. It then counts like any other, and the results say how many there are.
    """

    verdict: bool  # whether the statement is true
    reason: str  # in a few words
    sure: bool = True


Judge: TypeAlias = protocol.Judge[Check, Verdict]


Stage = Literal["storage", "summary", "retrieval"]
STAGES: tuple[Stage, ...] = ("storage", "summary", "retrieval")


def stages_of(question: Question) -> tuple[Stage, ...]:
    """The stages that the memories of a question go through: nobody needs the neighbour of what was forgotten to come back."""
    return STAGES[:-1] if question.kind == "forgotten" else STAGES


Stores = Mapping[str, tuple[str, ...]]  # by name of a store, all memories that it held when the questions were asked


def memory_check(stage: Stage, record: QuestionRecord, gold: GoldMemory, stores: Stores) -> Check:
    """What is asked about a gold memory at a stage: of the whole store, or of the retrieved memories."""
    memories = record.memories if stage == "retrieval" else stores[record.store]
    return Check(stage, record.question, gold, memories)


def needs_no_judge(check: Check) -> bool:
    """Whether a check is false without asking: where there is no memory, none can have the fact."""
    return check.gold is not None and not check.memories


def answer_check(record: QuestionRecord) -> Check | None:
    """What is asked about the answer; None where no judge is needed, as for a multiple choice."""
    if record.question.choices:
        return None
    unknown = record.question.kind in ("misleading", "forgotten")
    return Check("abstention" if unknown else "reasoning", record.question, answer=record.answer)


def wrong_answer_check(record: QuestionRecord) -> Check | None:
    """What is asked about a wrong answer: whether the old value won, or a withdrawn one returned; None if neither can be."""
    question = record.question
    if question.kind == "forgotten":
        return Check("resurrected", question, answer=record.answer)
    return Check("stale", question, answer=record.answer) if question.group == "corrected" else None


def sibling_check(record: QuestionRecord, stores: Stores) -> Check | None:
    """Whether the store has the other value of a corrected fact; None for other questions."""
    sibling = record.question.sibling
    return Check("storage", record.question, sibling, stores[record.store]) if sibling else None


def every_check(records: Iterable[QuestionRecord], stores: Stores) -> list[Check]:
    """The most that a judge can be asked about these records: every stage and the answer, as if nothing failed."""
    checks: list[Check | None] = []
    for record in records:
        stages = stages_of(record.question)
        checks += [memory_check(stage, record, gold, stores) for gold in record.question.gold for stage in stages]
        checks += [answer_check(record), wrong_answer_check(record), sibling_check(record, stores)]
    return [check for check in checks if check and not needs_no_judge(check)]


REVISION_RULES = "revision-1"
"""Counted up when a rule or a prompt of ours about `revision` changes, so that no verdict of an earlier one is taken over."""

KEPT = 0.75  # share of the stored words of a text that a memory must keep to have that text
ANSWERED = 0.5  # share of the words of the true answer, without those of the question, that an answer must say
SHARED = 0.5  # share of the weight of the shorter of a memory and an essay that both must have in common


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    setup = ""
    prompt_hash = "rules-3"  # a change of a rule needs a new version: the verdicts are then those of another judge

    def plan(self, inputs: Sequence[Check]) -> Estimate | None:
        """None: rules cost nothing."""
        return None

    def judge(self, inputs: Sequence[Check], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`."""
        for check in inputs:
            yield Judgement(check.key(self), _RULES[check.kind](check))


def _storage(check: Check) -> Verdict:
    stored = bool(_memories_of(check))
    return Verdict(stored, f"{'a' if stored else 'no'} memory holds {', '.join(_gold(check).link)}")


def _summary(check: Check) -> Verdict:
    """Whether the memories of the fact keep its detail, together or one alone, and say nothing the other way round."""
    gold = _gold(check)
    if check.question.config == REVISION:
        return _value_kept(check)
    # The detail of a rule is sought in all memories about whom it concerns, since it may have been split.
    named, by_name = _shared(gold.link[0], gold.text), check.question.config.startswith("conditional_facts")
    about = [memory for memory in _stated(check, [named]) if _has(content_of(memory), named)] if by_name else []
    subject, own_words = about if by_name else _memories_of(check), gold.own_words
    kept = _words_in(subject).union(*map(numbers_as_words, subject))
    if len(own_words & kept) < KEPT * len(own_words):
        return Verdict(False, f"lost: {', '.join(gold.detail)}")
    if gold.detail and not own_words and not _has(_words_in(subject), _shared(gold.detail[0], gold.text)):
        return Verdict(False, "too little of what was stored is kept")
    if numbers := lost_numbers(" ".join(gold.detail), gold.text, subject, own_words):
        return Verdict(False, f"lost or changed: {', '.join(numbers)}")
    turns = [turned(gold.text, subject, _parts(check))]
    if check.question.config == "long_hop":
        turns.append(_reversed(gold, subject))
    if True in turns:
        return Verdict(False, "a memory says the opposite")
    if None in turns or (gold.detail and not own_words):
        return Verdict(True, "kept, as far as rules can tell: there is too little to compare", sure=False)
    return Verdict(True, "every detail is kept")


def _value_kept(check: Check) -> Verdict:
    """Whether a memory gives a value of `revision` without denying it; what was said first may be denied by now."""
    value = _gold(check).link[-1]
    told = [sentence for memory in _memories_of(check) for sentence in sentences_of(memory) if names(value, sentence)]
    kept = check.question.kind == "first" or not all(denied(value, sentence) for sentence in told)
    return Verdict(kept, "the value is kept" if kept else f"every memory denies {value}")


def _retrieval(check: Check) -> Verdict:
    stored = _storage(check)
    return _summary(check) if stored.verdict else stored


def _reasoning(check: Check) -> Verdict:
    question, answer = check.question, check.answer
    if question.config == REVISION:
        right = tells_first if question.kind == "first" else tells_present
        told = right(question.reference, question.about["other"], answer)
        gives = "gives" if told else "does not give"
        return Verdict(told, f"the answer {gives} {question.reference} as the right value")
    if question.config == "coexisting_facts":
        names = [gold.link[0] for gold in question.gold]
        missing = [name for name in names if not _share(content_of(name), content_of(answer)) >= KEPT]
        return Verdict(not missing, f"not named: {', '.join(missing)}" if missing else "all are named")
    if question.config == "persona_retrieval":
        new = content_of(question.reference) - content_of(question.text) or content_of(question.reference)
        share = _share(new, content_of(answer))
        return Verdict(share >= ANSWERED, f"{share:.0%} of the words of the true answer")
    decided, true = decision_of(answer), decision_of(question.reference)
    return Verdict(decided is not None and decided == true, f"decides {decided}, the truth is {true}")


def _stale(check: Check) -> Verdict:
    old = check.question.about["other"]
    told = tells_old(check.question.reference, old, check.answer)
    return Verdict(told, f"the answer {'gives' if told else 'does not give'} {old} as if it still held")


def _resurrected(check: Check) -> Verdict:
    told = names(check.question.about["other"], check.answer)
    return Verdict(told, f"the answer {'gives away' if told else 'does not name'} what was withdrawn")


def _abstention(check: Check) -> Verdict:
    if check.question.config == REVISION:
        kept = keeps_back(check.question.about["other"], check.answer)
        return Verdict(kept, f"the answer {'keeps back' if kept else 'does not keep back'} what was withdrawn")
    abstained = abstains(check.answer)
    return Verdict(abstained, f"the answer says {'that it does not know' if abstained else 'something'}")


_IN_ORDER = (_storage, _summary, _retrieval, _reasoning, _abstention, _stale, _resurrected)
_RULES: dict[Kind, Callable[[Check], Verdict]] = dict(zip(get_args(Kind), _IN_ORDER, strict=True))


def _gold(check: Check) -> GoldMemory:
    assert check.gold is not None, f"a {check.kind} check is about a memory"
    return check.gold


def _memories_of(check: Check) -> list[str]:
    """The memories of the fact, without the questions in them: those that have all its links."""
    gold, config = _gold(check), check.question.config
    links = [_shared(text, gold.text) for text in gold.link]
    memories = [memory for memory in _stated(check, links) if all(_has(content_of(memory), words) for words in links)]
    if memories and config == "persona_retrieval":
        return [memory for memory in memories if _is_of_essay(memory, gold, memories_of(check.memories))]
    if config == "long_hop" and _starts_with_name(gold):  # `rain makes Ada sing` does not say that Ada loves rain
        return [memory for memory in memories if _directions(gold, memory) != {False}]
    return memories


def _stated(check: Check, groups: Iterable[frozenset[str]]) -> list[str]:
    """What the memories say, without questions: those that may have enough words of every group."""
    memories = memories_of(check.memories).candidates(groups, KEPT)
    return [without_questions(memory, _gold(check).text) for memory in memories]


def _is_of_essay(memory: str, gold: GoldMemory, memories: Memories) -> bool:
    """Whether a memory that has the name of an essay is of that essay, and not of another about somebody of that name."""

    def weigh(words: Iterable[str]) -> float:
        """How much words weigh together: the fewer memories have a word, the more it says about which one this is."""
        return sum(log(1 + len(memories) / (1 + memories.number_with(word))) for word in sorted(words))

    name = content_of(gold.link[0])
    essay, words = content_of(gold.text) - name, content_of(memory) - name
    return weigh(words & essay) >= SHARED * min(weigh(words), weigh(essay)) > 0


def _parts(check: Check) -> list[frozenset[str]]:
    """The words of each part of a fact whose sense must not be turned around."""
    gold, config = _gold(check), check.question.config
    text, own_words = content_of(gold.text), gold.own_words
    if config == "persona_retrieval":
        return [own_words] if own_words else []
    if config.startswith("conditional_facts"):
        parts = [content_of(gold.link[-1]) & text, own_words]
    else:
        parts = [frozenset(word for part in gold.link for word in content_of(part)) & text or text]
    return [part for part in parts if part]


def _starts_with_name(gold: GoldMemory) -> bool:
    return gold.link[0] in gold.text and gold.link[0][:1].isupper()


def _reversed(gold: GoldMemory, memories: Sequence[str]) -> bool | None:
    """Whether the memories turn a link around; None if they do not say which end leads to which."""
    if _starts_with_name(gold):  # a person leads to nothing
        return False
    stored_directions = _directions(gold, gold.text)
    directions = {direction for memory in memories for direction in _directions(gold, memory)}
    return not stored_directions & directions if stored_directions and directions else None


def _directions(gold: GoldMemory, memory: str) -> set[bool]:
    """Whether the first end leads to the last, by each sentence with both; else by the memory, whose sentences share them."""
    ways = [leads_on(gold.link[0], gold.link[-1], text) for text in (*sentences_of(memory), memory)]
    return {way for way in ways[:-1] if way is not None} or {way for way in ways[-1:] if way is not None}


def _shared(text: str, stored: str) -> frozenset[str]:
    """The words that a text shares with what was stored; one that shares none is a paraphrase of all of it."""
    return content_of(text) & content_of(stored) or content_of(stored)


def _has(present: frozenset[str], words: frozenset[str]) -> bool:
    return len(words & present) >= KEPT * len(words)


def _words_in(memories: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(content_of, memories))


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    return len(words & among) / len(words) if words else 0.0
