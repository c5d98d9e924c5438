"""The calibration set: answers whose verdict is certain, by which a judge is checked before its scores are believed.

Each is a question of our templates about values of our universes, true items drawn for it, and an answer worded so
that it is certain which of them it names. The decisions are those of the published judge's examples (paper: Section
4.3, Appendices B.3.1 and B.4): 1 for an item that is named, even in other words, 0.5 for a part of it (the month of a
date, a first name), 0 for what is not named. False items share no word and no month with the true ones of their
question, so that none of them is half right. The set has no full accounts of a chapter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.calibration.kinds import KINDS
from epbench.tulving.judging.protocol import JudgeInput

FEWEST, USUAL = 20, 30  # answers per kind


@dataclass(frozen=True)
class CalibrationAnswer:
    """An answer, and what a judge should find in it.

    Attributes:
        kind: One of `kinds.KINDS`.
        judge_input: What the judge gets; its reference is empty where nothing matches the question.
        scores: For each true item, repeats included: 1 if named, 0.5 if named in part, 0 if not named.
        n_items: Number of different things of the requested kind that the answer names, false ones included.
        order: The true items in the order of the answer; None where no order is asked for, or where it does not count
            because an item is missing or named in part only.
    """

    kind: str
    judge_input: JudgeInput
    scores: tuple[float, ...]
    n_items: int
    order: tuple[str, ...] | None

    @cached_property
    def decisions(self) -> dict[str, float]:
        """The score of each different true item."""
        return dict(zip(self.judge_input.reference, self.scores, strict=True))

    @property
    def n_false(self) -> int:
        """Number of things that the answer names and that are not true."""
        return self.n_items - sum(score > 0 for score in self.decisions.values())


def make_calibration_set(n: int = USUAL, seed: int = 0) -> list[CalibrationAnswer]:
    """Make answers of every kind; a larger n adds some and leaves the others as they are.

    Args:
        n: Answers per kind, at least 20.
        seed: The same seed gives the same answers on any machine.

    Raises:
        BadInput: n is below 20; a rate over fewer answers says little.
    """
    if n < FEWEST:
        raise BadInput(f"calibration set: expected at least {FEWEST} answers per kind, got {n}")
    return [_make(kind, seed, number) for kind in KINDS for number in range(n)]


def fingerprint_of_set(calibration_set: Sequence[CalibrationAnswer]) -> str:
    """Short hash of the whole set: passports with the same hash were made with the same answers."""
    return hashlib.sha256(json.dumps([_hashed(answer) for answer in calibration_set]).encode()).hexdigest()[:16]


def _hashed(answer: CalibrationAnswer) -> dict[str, Any]:
    """An answer under the names that fingerprints in stored passports were made with."""
    given = answer.judge_input
    case = {
        "id": given.id,
        "question": given.question,
        "trace": given.trace,
        "get": given.get,
        "truth": given.reference,
        "answer": given.answer,
    }
    return {
        "kind": answer.kind,
        "case": case,
        "scores": answer.scores,
        "n_items": answer.n_items,
        "order": answer.order,
    }


def _make(kind: str, seed: int, number: int) -> CalibrationAnswer:
    draft = KINDS[kind](RandomStream("made answer", seed, kind, number))
    asked = draft.question
    id_ = f"{kind}-{number:03}"
    judge_input = JudgeInput(id_, asked.question, asked.trace, asked.get, asked.reference, draft.text)
    scores = tuple(draft.scores.get(item, 0.0) for item in asked.reference)
    named = [item for item in draft.order if draft.scores.get(item) == 1]
    ordered = asked.get == "chronological" and len(set(asked.reference)) > 1 and set(named) == set(asked.reference)
    return CalibrationAnswer(kind, judge_input, scores, draft.n_items, tuple(dict.fromkeys(named)) if ordered else None)
