"""Made answers of known truth: what a judge is checked with before its scores are believed.

Each is a question of our templates about values of our universes, true items drawn for it, and an answer worded so
that it is certain which of them it names. The decisions are those of the published judge's examples (paper: Section
4.3, Appendices B.3.1 and B.4): 1 for an item that is named, in other words too, 0.5 for a part of it (the month of a
date, a first name), 0 for what is not named. False items share no word and no month with the true ones of their
question, so that none of them is half right. Full accounts of a chapter are not among them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.calibration.kinds import KINDS
from epbench.tulving.judging.protocol import JudgeInput

LEAST, USUAL = 20, 30  # made answers per kind


@dataclass(frozen=True)
class MadeAnswer:
    """An answer, and what a judge should find in it.

    Attributes:
        kind: one of `made_kinds.KINDS`.
        case: what the judge gets; no true item where nothing matches the question.
        scores: for each true item, repeats included: 1 named, 0.5 named in part, 0 not named.
        n_items: number of different things of the asked sort that the answer names, false ones included.
        order: the true items as the answer orders them; None where order is not asked for, or does not count because
            an item is not there or there in part only.
    """

    kind: str
    case: JudgeInput
    scores: tuple[float, ...]
    n_items: int
    order: tuple[str, ...] | None

    @cached_property
    def decisions(self) -> dict[str, float]:
        """The score of each different true item."""
        return dict(zip(self.case.truth, self.scores, strict=True))

    @property
    def n_false(self) -> int:
        """Number of things that the answer names and that are not true."""
        return self.n_items - sum(score > 0 for score in self.decisions.values())


def make_answers(n: int = USUAL, seed: int = 0) -> list[MadeAnswer]:
    """Answers of every kind; a greater n adds some and leaves the others as they are.

    Args:
        n: answers per kind, at least 20.
        seed: the same seed gives the same answers on any machine.

    Raises:
        BadInput: n is below 20; a rate over fewer answers says little.
    """
    if n < LEAST:
        raise BadInput(f"{n} made answers per kind asked for, {LEAST} or more expected")
    return [_make(kind, seed, number) for kind in KINDS for number in range(n)]


def fingerprint_of_answers(made: Sequence[MadeAnswer]) -> str:
    """Short hash of all of them: two passports of one hash were made with the same answers."""
    return hashlib.sha256(json.dumps([asdict(answer) for answer in made]).encode()).hexdigest()[:16]


def _make(kind: str, seed: int, number: int) -> MadeAnswer:
    draft = KINDS[kind](RandomStream("made answer", seed, kind, number))
    asked = draft.asked
    case = JudgeInput(f"{kind}-{number:03}", asked.question, asked.trace, asked.get, asked.truth, draft.text)
    scores = tuple(draft.scores.get(item, 0.0) for item in asked.truth)
    named = [item for item in draft.order if draft.scores.get(item) == 1]
    ordered = asked.get == "chronological" and len(set(asked.truth)) > 1 and set(named) == set(asked.truth)
    return MadeAnswer(kind, case, scores, draft.n_items, tuple(dict.fromkeys(named)) if ordered else None)
