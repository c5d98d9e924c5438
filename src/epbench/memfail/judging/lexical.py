"""The embedded judge: compares words, not meanings; it gives the same verdict on every machine, without a model.

It is meant for data in which the true answer is literal. It measures a memory by what was stored: of the words of a name,
behaviour, condition or answer that occur in the stored text, a memory must keep a share of `KEPT`. So a memory that
repeats the stored text has the fact, and one that drops the sentence with the condition does not. It cannot tell apart
two facts with one preference, or two essays about people with one name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from epbench.judges.protocol import Judgement
from epbench.memfail.dataset.types import GoldMemory
from epbench.memfail.judging.protocol import Check, Kind, Verdict
from epbench.memfail.judging.word_rules import abstains, content_of, decision_of
from epbench.models.estimate import Estimate

KEPT = 0.75  # share of the stored words of a text that a memory must keep to have that text
ANSWERED = 0.5  # share of the words of the true answer, without those of the question, that an answer must say


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    prompt_hash = "rules-1"  # a change of a rule needs a new version: the verdicts are then those of another judge

    def plan(self, inputs: Sequence[Check]) -> Estimate | None:
        """None: rules cost nothing."""
        return None

    def judge(self, inputs: Sequence[Check]) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`."""
        for check in inputs:
            yield Judgement(check.key(self), _RULES[check.kind](check))


def _storage(check: Check) -> Verdict:
    """Whether a memory has all texts that identify the fact."""
    gold = _gold(check)
    found = any(_links(memory, gold) for memory in check.memories)
    return Verdict(found, f"{'a' if found else 'no'} memory holds {', '.join(gold.link)}")


def _summary(check: Check) -> Verdict:
    """Whether the memories of the person or thing that the fact is about have the detail, together or one alone."""
    gold = _gold(check)
    subject = [memory for memory in check.memories if _keeps([memory], gold.link[0], gold.text)]
    lost = [detail for detail in gold.detail if not _keeps(subject, detail, gold.text)]
    return Verdict(not lost, f"lost: {', '.join(lost)}" if lost else "every detail is kept")


def _retrieval(check: Check) -> Verdict:
    """Whether the retrieved memories pass the checks of a store."""
    stored = _storage(check)
    return _summary(check) if stored.verdict else stored


def _reasoning(check: Check) -> Verdict:
    question, answer = check.question, check.answer
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


def _abstention(check: Check) -> Verdict:
    found = abstains(check.answer)
    return Verdict(found, f"the answer says {'that it does not know' if found else 'something'}")


_RULES: dict[Kind, Callable[[Check], Verdict]] = {
    "storage": _storage,
    "summary": _summary,
    "retrieval": _retrieval,
    "reasoning": _reasoning,
    "abstention": _abstention,
}


def _gold(check: Check) -> GoldMemory:
    assert check.gold is not None, f"a {check.kind} check is about a memory"
    return check.gold


def _links(memory: str, gold: GoldMemory) -> bool:
    return all(_keeps([memory], text, gold.text) for text in gold.link)


def _keeps(memories: Sequence[str], text: str, stored: str) -> bool:
    """Whether the memories together keep enough of the words that a text shares with what was stored.

    A text without a word in common with what was stored is a paraphrase of all of it.
    """
    words = content_of(text) & content_of(stored) or content_of(stored)
    kept: set[str] = set()
    for memory in memories:
        kept |= words & content_of(memory)
    return len(kept) >= KEPT * len(words)


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    return len(words & among) / len(words) if words else 0.0
