"""What a judge reads, and what it finds: which true items an answer contains (paper: Appendix B.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from epbench.judges import protocol
from epbench.judges.protocol import JudgeIdentity, key_parts
from epbench.tulving.questions.templates import Get, Trace


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """One answer to be judged.

    Attributes:
        id: Id of the question.
        question: As the reader was asked.
        trace: Kind of the items asked for.
        get: Which of them are asked for.
        reference: The true items, repeats included; empty where nothing matches the question.
        answer: As the reader gave it.
    """

    id: str
    question: str
    trace: Trace
    get: Get
    reference: tuple[str, ...]
    answer: str

    @property
    def distinct_reference(self) -> tuple[str, ...]:
        """The true items, each once, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.reference))

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the verdict depends on, so that one answer to one question is judged once."""
        parts = (*key_parts(judge), self.question, self.trace, self.get, self.reference, self.answer)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found in an answer; the names of the fields are those in the journal.

    Attributes:
        items: The items of the requested kind in the answer; empty for an abstention.
        scores: For each true item, repeats included, a number in [0, 1].
        order: The true items that were found, in the order of the answer.
        reason: Why, in a few words.
    """

    items: Sequence[str]
    scores: Sequence[float]
    order: Sequence[str]
    reason: str


Judge: TypeAlias = protocol.Judge[JudgeInput, Verdict]


@dataclass(frozen=True, slots=True)
class QuestionToScore:
    """What decides which scores a question counts for; all that is known of a question that was lost.

    Attributes:
        id: The id of the question.
        get: What the question asks for: all items, the latest, or all in chronological order.
        bin: The bin of the number of matching chapters.
        n_chapters: The number of matching chapters.
        cue: The given values of time, space, entity and content, None where not given. Questions with one cue are one
            cluster.
        reference: The true items, repeats included.
        links: Over how many links from chapter to chapter the answer follows; None at level 1.
    """

    id: str
    get: Get
    bin: str
    n_chapters: int
    cue: tuple[str | None, ...]
    reference: Sequence[str]
    links: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class ScoredAnswer(QuestionToScore):
    """One question with the verdict on its answer.

    Attributes:
        items: The items found in the answer.
        scores: The score of each true item, 0 to 1.
        order: The true items found, in the order of the answer; only used for chronological questions.
        missing: Whether there was no answer, which is wrong.
    """

    items: Sequence[str]
    scores: Sequence[float]
    order: Sequence[str]
    missing: bool = False
