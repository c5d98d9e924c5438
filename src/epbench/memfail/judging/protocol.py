"""What a judge of MemFail is asked: one statement about one memory or one answer, true or not.

Paper: Section 5.1, phase 3, and Appendix D.3. Whether a fact was stored and kept its detail depends on the store alone,
so that one check serves every k; whether it was retrieved depends on what came back alone. Checks with the same key are
the same check: it is judged once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol

from epbench.memfail.dataset.types import GoldMemory, Question
from epbench.models.estimate import Estimate
from epbench.models.protocol import Usage

Kind = Literal["storage", "summary", "retrieval", "reasoning", "abstention"]


@dataclass(frozen=True, slots=True)
class Check:
    """One statement.

    Attributes:
        kind: storage (the store holds a memory of the fact), summary (what it holds keeps the detail), retrieval (the
            retrieved memories hold fact and detail), reasoning (the answer is right), abstention (the answer says
            nothing about somebody whom nothing is known of).
        question: for whose sake it is asked.
        need: the memory in question; None where an answer is judged.
        memories: the whole store (storage, summary) or what was retrieved; none where an answer is judged.
        answer: of the reader, where an answer is judged.
    """

    kind: Kind
    question: Question
    need: GoldMemory | None = None
    memories: tuple[str, ...] = ()
    answer: str = ""

    def key(self, judge: Judge) -> str:
        """Hash of all that the verdict depends on."""
        asked: tuple[object, ...]
        if self.need is None:
            facts = [(need.text, need.link) for need in self.question.gold]
            asked = (self.question.text, self.question.reference, facts, self.answer)
        else:
            detail = () if self.kind == "storage" else self.need.detail
            asked = (self.need.text, self.need.link, detail, _digest(self.memories))
        parts = (judge.name, judge.prompt_hash, self.kind, self.question.config, asked)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@lru_cache(maxsize=4096)  # one store stands in many checks
def _digest(memories: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(memories).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one check: a verdict, or the reason why there is none. A failure is neither yes nor no.

    Attributes:
        key: the check's key.
        verdict: whether the statement is true; None if the judge failed.
        reason: for the verdict, in a few words.
        failure: why there is no verdict; None if there is one.
        raw: the judge's replies as they came, the last one last; none for rules.
        usage: tokens of all its calls.
    """

    key: str
    verdict: bool | None
    reason: str = ""
    failure: str | None = None
    raw: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


class Judge(Protocol):
    """Judges statements; raises nothing for an odd answer, since any text is an answer."""

    @property
    def name(self) -> str:
        """`lexical`, or the model's `identity`: `openai:NAME`, or `hf:PATH@1f0c3a…` with the fingerprint of its weights."""
        ...

    @property
    def prompt_hash(self) -> str:
        """Hash of prompts and schema, or of the rules' version: with another one it is another judge."""
        ...

    def plan(self, checks: Sequence[Check]) -> Estimate | None:
        """Requests and tokens of judging them; None where it costs nothing."""
        ...

    def judge(self, checks: Sequence[Check]) -> Generator[Judgement]:
        """One judgement for each check, as soon as it is there, in any order; closing it ends what is open."""
        ...
