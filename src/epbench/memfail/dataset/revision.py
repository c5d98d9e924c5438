"""The config `revision`: what a user says of three people, and which of it is corrected, withdrawn, restated or told again.

It is ours: the paper on MemFail has no such task. Of ten facts about five topics everything is told first, then corrected or
restated, then withdrawn, and one withdrawn fact is told again. Whatever is withdrawn has a neighbour that must survive: the
same topic of the other person, or another topic of the same one. How often the third person's fact is lost says how often
facts are lost anyway. Neither the last value said, nor the first, nor saying that nothing is known answers more than half of
the twelve questions, which do not tell whether their fact was withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from epbench.draws import RandomStream
from epbench.memfail.dataset.word_rules import stands_in

REVISION = "revision"

Fate = Literal["corrected", "withdrawn", "restated", "told again", "kept", "untouched"]
Act = Literal["tells", "corrects", "restates", "withdraws", "tells again", "talks"]
Asked = Literal["now", "first", "forgotten"]
KINDS: tuple[Asked, ...] = ("now", "first", "forgotten")
Said = tuple[Act, tuple[int, ...]]
"""What a message does, and to which facts of its row."""

N_SUBJECTS, N_TOPICS = 3, 5
FACTS: tuple[tuple[int, int, Fate], ...] = (
    (0, 0, "corrected"),
    (0, 1, "withdrawn"),
    (0, 2, "restated"),
    (0, 3, "withdrawn"),
    (0, 4, "withdrawn"),
    (1, 1, "told again"),
    (1, 2, "withdrawn"),
    (1, 3, "kept"),
    (1, 4, "corrected"),
    (2, 0, "untouched"),
)
"""Subject, topic and fate of each fact of a row, by number."""
NEIGHBOUR: Mapping[int, int] = {1: 2, 3: 7, 4: 8, 6: 7}
"""By number of a withdrawn fact, the fact that must survive it."""
TOLD_TOGETHER: tuple[tuple[int, ...], ...] = ((0, 1), (2, 3), (4,), (5, 6), (7, 8), (9,))
TALKS = 2
ACT_OF: Mapping[Fate, Act] = {
    "corrected": "corrects",
    "withdrawn": "withdraws",
    "restated": "restates",
    "told again": "tells again",
    "kept": "tells",
    "untouched": "tells",
}
"""The message after which a fact has its fate."""


def facts_with(*fates: Fate) -> list[int]:
    """Return the numbers of the facts with one of these fates."""
    return [number for number, (_, _, fate) in enumerate(FACTS) if fate in fates]


def messages(stream: RandomStream) -> list[Said]:
    """Return what the messages of a row do, in an order that is drawn as far as it is free."""
    told: list[Said] = [
        ("tells", tuple(stream.sample(facts, len(facts)))) for facts in stream.sample(TOLD_TOGETHER, len(TOLD_TOGETHER))
    ]
    changed: list[Said] = [(ACT_OF[FACTS[number][2]], (number,)) for number in facts_with("corrected", "restated")]
    gone: list[Said] = [("withdraws", (number,)) for number in facts_with("withdrawn", "told again")]
    again: list[Said] = [("tells again", (number,)) for number in facts_with("told again")]
    said = [*told, *stream.sample(changed, len(changed)), *stream.sample(gone, len(gone)), *again]
    for _ in range(TALKS):
        said.insert(stream.between(1, len(said) - 1), ("talks", ()))
    return said


def asked() -> Iterator[tuple[Asked, int]]:
    """Yield the kind of each question of a row, and the number of its fact."""
    for number, (_, _, fate) in enumerate(FACTS):
        if fate == "withdrawn":
            yield "forgotten", number
        else:
            yield "now", number
        if fate == "corrected":
            yield "first", number


N_QUESTIONS = len([*asked()])


def revision_row(
    subjects: Sequence[str],
    topics: Sequence[str],
    values: Sequence[str],
    new: Mapping[int, str],
    statements: Sequence[tuple[Said, str]],
    questions: Sequence[str],
    unknown: Sequence[str],
) -> dict[str, Any]:
    """Return a row about three people and five topics.

    Of each fact are given what is told first, what it is corrected to, by its number, and what a right answer says if it was
    withdrawn. What the user says comes in its order, and the questions in that of `asked`.
    """
    facts = [
        {
            "subject": subjects[subject],
            "topic": topics[topic],
            "fate": fate,
            "first": values[number],
            "now": None if fate == "withdrawn" else new.get(number, values[number]),
        }
        for number, (subject, topic, fate) in enumerate(FACTS)
    ]
    return {
        "subjects": [*subjects],
        "statements": [{"act": act, "facts": [*numbers], "text": text} for (act, numbers), text in statements],
        "facts": facts,
        "questions": [
            {
                "text": text,
                "kind": kind,
                "fact": number,
                "neighbour": NEIGHBOUR.get(number),
                "ground_truth_answer": unknown[number]
                if kind == "forgotten"
                else facts[number]["first" if kind == "first" else "now"],
            }
            for (kind, number), text in zip(asked(), questions, strict=True)
        ],
    }


def place_of(row: Mapping[str, Any], act: Act, number: int) -> int:
    """Return which statement of a row does this to a fact, by its place from 0."""
    return [i for i, said in enumerate(row["statements"]) if said["act"] == act and number in said["facts"]][-1]


def values_of(row: Mapping[str, Any]) -> list[str]:
    """Return all values of a row: what is told of each fact first, and what it is corrected to."""
    return list(dict.fromkeys(value for fact in row["facts"] for value in (fact["first"], fact["now"]) if value))


def leaks(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield each value that a message names although it does not tell it, such as a withdrawal that says what it is about."""
    for said in row["statements"]:
        told = [row["facts"][number] for number in said["facts"] if said["act"] not in ("withdraws", "talks")]
        may = {fact[when] for fact in told for when in ("first", "now" if said["act"] != "tells" else "first")}
        yield from (value for value in values_of(row) if value not in may and stands_in(value, said["text"]))
