"""What a judge of MemFail is asked: one statement about one memory or one answer, true or not.

Paper: Section 5.1, phase 3, and Appendix D.3. Whether a fact was stored and kept its detail depends on the store alone,
so that one check serves every k; whether it was retrieved depends only on the retrieved memories. Checks with the same
key are the same check: it is judged once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from epbench.judges import protocol
from epbench.judges.protocol import JudgeIdentity, key_parts
from epbench.memfail.dataset.types import GoldMemory, Question
from epbench.memfail.judging.memories import memories_of

Kind = Literal["storage", "summary", "retrieval", "reasoning", "abstention"]


@dataclass(frozen=True, slots=True)
class Check:
    """One statement.

    Attributes:
        kind: storage (the store has a memory of the fact), summary (what it has keeps the detail), retrieval (the
            retrieved memories have fact and detail), reasoning (the answer is right), abstention (the answer says
            nothing about somebody of whom nothing is known).
        question: The question that the check belongs to.
        gold: The memory in question; None where an answer is judged.
        memories: The whole store (storage, summary) or the retrieved memories; empty where an answer is judged.
        answer: The reader's answer, where an answer is judged.
    """

    kind: Kind
    question: Question
    gold: GoldMemory | None = None
    memories: tuple[str, ...] = ()
    answer: str = ""

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the verdict depends on."""
        asked: tuple[object, ...]
        if self.gold is None:
            facts = [(gold.text, gold.link) for gold in self.question.gold]
            asked = (self.question.text, self.question.reference, facts, self.answer)
        else:
            detail = () if self.kind == "storage" else self.gold.detail
            asked = (self.gold.text, self.gold.link, detail, memories_of(self.memories).digest)
        parts = (*key_parts(judge), self.kind, self.question.config, asked)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of a check; the names of the fields are those in the journal.

    Attributes:
        verdict: Whether the statement is true.
        reason: Why, in a few words.
        sure: Whether the judge had what it takes to decide; False where rules have nothing to compare. The verdict then
            counts like any other, and the results say how many there are.
    """

    verdict: bool
    reason: str
    sure: bool = True


Judge: TypeAlias = protocol.Judge[Check, Verdict]
