"""Planted faults of `revision`: what was corrected or withdrawn is answered all the same, or a neighbour is gone."""

from __future__ import annotations

from collections.abc import Mapping

from epbench.memfail.calibration.faults import FAULTS, NO_FAULT, Case, Plant, World, absent, not_retrieved, unlisted
from epbench.memfail.dataset.load import GoldMemory, Question
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.judging.diagnosis import Label

_ALONE = ("told again", "untouched")
_NEIGHBOURS = ("withdrawn", "restated", "kept")
_UNKNOWN = "I have no information about that."


def _of_groups(plant: Plant, *groups: str) -> Plant:
    """The same fault, in questions of some groups alone."""

    def planted(world: World, question: Question, gold: GoldMemory) -> Case | None:
        return plant(world, question, gold) if question.group in groups else None

    return planted


def _gone(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """No message is held that tells the fact, but all others are."""
    same = {fact.text for fact in world.facts if fact.id in gold.also}
    sibling = {question.sibling.text} if question.sibling else set()
    return world.case(question, gold, [], dropped=[*same, *sibling])


_RIGHT = {
    "corrected": "It is {truth}. It is no longer {other}.",
    "said first": "At first you told me {truth}, and later {other}.",
    "withdrawn": "You asked me to forget that.",
}
_GIVEN_UP = {
    "corrected": ("It is {other}.", "It is {other}. It is {truth}.", "You mentioned {other} and {truth}."),
    "withdrawn": ("It is {other}.", "I am not sure, but I think it is {other}.", "I was to forget that it is {other}."),
}


def _faithful(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Everything is held and came back, and the answer is right, in one word or in a sentence."""
    frame = world.draw.pick(["", _RIGHT.get(question.group, "It is {truth}.")])
    return world.case(question, gold, [gold.text], answer=_filled(frame, question))


def _other_answered(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Everything is held and came back, but the answer has the value that was given up."""
    return world.case(question, gold, [gold.text], answer=_filled(world.draw.pick(_GIVEN_UP[question.group]), question))


def _filled(frame: str, question: Question) -> str:
    return frame.format(truth=question.reference, other=question.about["other"])


def _wrong_answer(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """An answer that knows nothing, or gives a neighbour's value for what was withdrawn."""
    answer = f"It is {gold.link[-1]}." if question.kind == "forgotten" else _UNKNOWN
    return world.case(question, gold, [gold.text], answer=answer)


REVISION_FAULTS: Mapping[str, tuple[Plant, Label]] = {
    NO_FAULT: (_faithful, "correct"),
    "fact absent": (_of_groups(_gone, *_ALONE), "storage_error"),
    "fact not listed": (_of_groups(unlisted, "untouched"), "storage_error"),
    "correction absent": (_of_groups(absent, "corrected"), "storage_error"),
    "wrong fact retrieved": (_of_groups(not_retrieved, "restated", "kept", *_ALONE), "retrieval_error"),
    "answer wrong": (_wrong_answer, "reasoning_error"),
    "corrected value answered": (_of_groups(_other_answered, "corrected"), "stale"),
    "withdrawn value answered": (_of_groups(_other_answered, "withdrawn"), "resurrected"),
    "neighbour gone": (_of_groups(_gone, *_NEIGHBOURS), "lost_with_it"),
}
"""By name, how a fault is planted and the label that it deserves."""
ALL_FAULTS = {**FAULTS, **{name: fault for name, fault in REVISION_FAULTS.items() if name not in FAULTS}}


def faults_of(config: str) -> Mapping[str, tuple[Plant, Label]]:
    """Return the faults that are planted into a config."""
    return REVISION_FAULTS if config == REVISION else FAULTS
