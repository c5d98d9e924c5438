"""What reads an answer and says which true items are in it (paper: Appendix B.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from epbench.models.estimate import Estimate
from epbench.models.protocol import Usage
from epbench.tulving.questions.templates import Get, Trace


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """One answer to be judged: the question, what is asked for, the true items, and what was answered."""

    id: str
    question: str
    trace: Trace
    get: Get
    truth: tuple[str, ...]
    answer: str

    @property
    def distinct_truth(self) -> tuple[str, ...]:
        """The true items, each once, in the order in which they first stand."""
        return tuple(dict.fromkeys(self.truth))

    def key(self, judge: Judge) -> str:
        """Hash of all that the verdict depends on, so that one answer to one question is judged once."""
        parts = (judge.name, judge.prompt_hash, self.question, self.trace, self.get, self.truth, self.answer)
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one case: a verdict, or the reason why there is none. A failure is neither right nor wrong.

    Attributes:
        key: the case's key.
        verdict: None if the judge failed.
        failure: why it failed; None if it did not.
        raw: the judge's replies as they came, the last one last; none for rules.
        usage: tokens of all its calls.
    """

    key: str
    verdict: Verdict | None
    failure: str | None = None
    raw: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


class Judge(Protocol):
    """Judges answers; raises nothing for an odd answer, since any text is an answer."""

    @property
    def name(self) -> str:
        """`lexical`, or the model's `identity`: `openai:NAME`, or `hf:PATH@1f0c3a…` with the fingerprint of its weights."""
        ...

    @property
    def prompt_hash(self) -> str:
        """Hash of rubric and schema, or of the rules' version: with another one it is another judge."""
        ...

    def plan(self, cases: Sequence[JudgeInput]) -> Estimate | None:
        """Requests and tokens of judging them; None where it costs nothing."""
        ...

    def judge(self, cases: Sequence[JudgeInput]) -> Generator[Judgement]:
        """One judgement for each case, as soon as it is there, in any order; closing it ends what is open.

        Cases of one key may share a judgement.
        """
        ...


@dataclass(frozen=True, slots=True)
class PastJudge:
    """A judge of whom only the verdicts are left: it judges nothing more."""

    name: str
    prompt_hash: str

    def plan(self, cases: Sequence[JudgeInput]) -> Estimate | None:
        """None: it costs nothing."""
        return None

    def judge(self, cases: Sequence[JudgeInput]) -> Generator[Judgement]:
        """A failure for each case: there is no verdict on it."""
        for case in cases:
            yield Judgement(case.key(self), None, f"{self.name} has not judged this answer")
