"""What reads an answer and says which true items are in it (paper: Appendix B.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from epbench.tulving.templates import Get, Trace


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged: the question, what is asked for, the true items, and what was answered."""

    id: str
    question: str
    trace: Trace
    get: Get
    truth: tuple[str, ...]
    answer: str

    def key(self, judge: str) -> str:
        """Hash of all that the verdict depends on; the journal's key."""
        parts = (judge, self.id, self.question, self.trace, self.get, self.truth, self.answer)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found.

    Attributes:
        items: the items of the asked sort in the answer; none for an abstention.
        scores: for each true item, repeats included, a number in [0, 1].
        order: the true items that were found, as the answer orders them.
        reason: in a few words.
    """

    items: Sequence[str]
    scores: Sequence[float]
    order: Sequence[str]
    reason: str


class Judge(Protocol):
    """Judges answers; raises nothing for an odd answer, since any text is an answer."""

    @property
    def name(self) -> str: ...

    def judge(self, case: Case) -> Verdict: ...
