"""The embedded judge: compares words, not meanings; the same verdict on every machine, without a model.

It is meant for data whose truth is literal. What it asks of a memory is measured by what was stored: of the words of a
name, behaviour, condition or answer that stand in the stored text, a memory must keep `KEPT`. So a memory that repeats
the stored text holds it, and one that drops the sentence of the condition does not. Two facts with one preference, or
two essays about people of one name, it cannot tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from epbench.memfail.dataset.types import GoldMemory
from epbench.memfail.judging.protocol import Check, Judgement, Kind
from epbench.memfail.judging.word_rules import abstains, content_of, decision_of
from epbench.models.estimate import Estimate

KEPT = 0.75  # share of the words of a text that were stored which a memory must keep to hold that text
ANSWERED = 0.5  # share of the words of a true answer that the question does not have which an answer must say

Finding = tuple[bool, str]


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    prompt_hash = "rules-1"  # counted up when a rule changes: its verdicts are then those of another judge

    def plan(self, checks: Sequence[Check]) -> Estimate | None:
        """None: rules cost nothing."""
        return None

    def judge(self, checks: Sequence[Check]) -> Generator[Judgement]:
        """See `Judge.judge`."""
        for check in checks:
            verdict, reason = _RULES[check.kind](check)
            yield Judgement(check.key(self), verdict, reason)


def _storage(check: Check) -> Finding:
    """A memory holds all texts that tell which fact it is."""
    need = _need(check)
    found = any(_links(memory, need) for memory in check.memories)
    return found, f"{'a' if found else 'no'} memory holds {', '.join(need.link)}"


def _summary(check: Check) -> Finding:
    """The memories of whom or what the fact is about hold the detail, in one piece or in several."""
    need = _need(check)
    subject = [memory for memory in check.memories if _keeps([memory], need.link[0], need.text)]
    lost = [detail for detail in need.detail if not _keeps(subject, detail, need.text)]
    return not lost, f"lost: {', '.join(lost)}" if lost else "every detail is kept"


def _retrieval(check: Check) -> Finding:
    """What holds of a faithful store holds of the retrieved memories."""
    found, reason = _storage(check)
    return _summary(check) if found else (found, reason)


def _reasoning(check: Check) -> Finding:
    question, answer = check.question, check.answer
    if question.config == "coexisting_facts":
        names = [need.link[0] for need in question.gold]
        missing = [name for name in names if not _share(content_of(name), content_of(answer)) >= KEPT]
        return not missing, f"not named: {', '.join(missing)}" if missing else "all are named"
    if question.config == "persona_retrieval":
        new = content_of(question.reference) - content_of(question.text) or content_of(question.reference)
        share = _share(new, content_of(answer))
        return share >= ANSWERED, f"{share:.0%} of the words of the true answer"
    decided, true = decision_of(answer), decision_of(question.reference)
    return decided is not None and decided == true, f"decides {decided}, the truth is {true}"


def _abstention(check: Check) -> Finding:
    found = abstains(check.answer)
    return found, f"the answer says {'that it does not know' if found else 'something'}"


_RULES: dict[Kind, Callable[[Check], Finding]] = {
    "storage": _storage,
    "summary": _summary,
    "retrieval": _retrieval,
    "reasoning": _reasoning,
    "abstention": _abstention,
}


def _need(check: Check) -> GoldMemory:
    assert check.need is not None, f"a {check.kind} check is about a memory"
    return check.need


def _links(memory: str, need: GoldMemory) -> bool:
    return all(_keeps([memory], text, need.text) for text in need.link)


def _keeps(memories: Sequence[str], text: str, stored: str) -> bool:
    """Whether the memories together keep the words of a text, of those that the stored text has.

    A text that has no word in common with what was stored is a paraphrase of all of it.
    """
    words = content_of(text) & content_of(stored) or content_of(stored)
    kept: set[str] = set()
    for memory in memories:
        kept |= words & content_of(memory)
    return len(kept) >= KEPT * len(words)


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    return len(words & among) / len(words) if words else 0.0
