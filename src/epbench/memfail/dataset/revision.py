"""The config `revision`: what a user says of three people, and which of it is corrected, withdrawn, restated or told again.

It is ours: the paper on MemFail has no such task. Of ten facts about five topics everything is told first, then corrected or
restated, then withdrawn, and one withdrawn fact is told again. Whatever is withdrawn has a neighbour that must survive: the
same topic of the other person, or another topic of the same one. How often the third person's fact is lost says how often
facts are lost anyway. Neither the last value said, nor the first, nor saying that nothing is known answers more than half of
the twelve questions, which do not tell whether their fact was withdrawn.

At the end stands how rules read an answer. Naming every value answers nothing: an answer must name the value that is asked for,
and may name the other one only as what it is, the former value or the one that came later. What was withdrawn may not be named
at all, not even to say that it was withdrawn. Values are literal, and no two of a row share a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from epbench.draws import RandomStream
from epbench.memfail.dataset.word_rules import abstains, content_of, sentences_of, stands_in

REVISION = "revision"

Fate = Literal["corrected", "withdrawn", "restated", "told again", "kept", "untouched"]
Act = Literal["tells", "corrects", "restates", "withdraws", "tells again", "talks"]
Asked = Literal["now", "first", "forgotten"]
KINDS: tuple[Asked, ...] = ("now", "first", "forgotten")
Said = tuple[Act, tuple[int, ...]]  # what a message does, and to which facts of its row

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
NEIGHBOUR: Mapping[int, int] = {1: 2, 3: 7, 4: 8, 6: 7}  # by number of a withdrawn fact, the fact that must survive it
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


def values_of(row: Mapping[str, Any]) -> list[str]:
    """Return all values of a row: what is told of each fact first, and what it is corrected to."""
    return list(dict.fromkeys(value for fact in row["facts"] for value in (fact["first"], fact["now"]) if value))


def leaks(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield each value that a message names although it does not tell it, such as a withdrawal that says what it is about."""
    for said in row["statements"]:
        told = [row["facts"][number] for number in said["facts"] if said["act"] not in ("withdraws", "talks")]
        may = {fact[when] for fact in told for when in ("first", "now" if said["act"] != "tells" else "first")}
        yield from (value for value in values_of(row) if value not in may and stands_in(value, said["text"]))


_NAMED = 0.5  # share of the words of a value that names it
_NOT = r"\b(?:not|never|no longer|rather than|instead of|n['’]t)\s+(?:\w+\s+){0,3}?"
# In a sentence that has both values, any word that tells them apart in time; in another, one that calls a value former.
_CHANGED = re.compile(
    r"\b(?:now|but|from|was|were|used to|previously|formerly|originally|initially|first|earlier|before|wrong|mistaken|"
    r"correct\w*|chang\w*|updat\w*|replac\w*|switch\w*|moved|until|old|former|then|later|since|any ?more)\b",
    re.IGNORECASE,
)
_FORMER = re.compile(
    r"\b(?:used to|previously|formerly|originally|initially|at first|first (?:said|told|mentioned)|(?:said|told \w+) first|"
    r"earlier|until|wrong(?:ly)?|mistaken(?:ly)?|old|former|outdated|any ?more|corrected|before (?:that|you|the))\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:later|then|now|afterwards|since|currently|today|corrected|correction|changed|updated|revised|replaced)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:forg[eo]t\w*|withdr[ae]wn?|disregard\w*|let go of|(?:no longer|not) (?:know|have|hold|keep|remember)|"
    r"(?:was|were|been|have|had) (?:deleted|removed|erased|dropped|struck))\b",
    re.IGNORECASE,
)


def names(value: str, text: str) -> bool:
    """Return whether a text names a value: with half of its words that carry meaning, in any form."""
    words = content_of(value)
    return len(words & content_of(text)) >= _NAMED * len(words)


def tells_present(truth: str, old: str, answer: str) -> bool:
    """Return whether an answer gives the present value, and the old one, if there is one, at most as a former one.

    >>> tells_present("Ghent", "Lyon", "She lives in Ghent, not Lyon."), tells_present("Ghent", "Lyon", "Lyon. Ghent.")
    (True, False)
    """
    return names(truth, answer) and not (old and tells_old(truth, old, answer))


def tells_old(truth: str, old: str, answer: str) -> bool:
    """Return whether an answer gives the old value as one that still holds.

    >>> tells_old("Ghent", "Lyon", "She lives in Lyon."), tells_old("Ghent", "Lyon", "It was Lyon, and is Ghent now.")
    (True, False)
    """
    return any(
        names(old, sentence)
        and not denied(old, sentence)
        and not (_CHANGED if names(truth, sentence) else _FORMER).search(sentence)
        for sentence in sentences_of(answer)
    )


def tells_first(truth: str, new: str, answer: str) -> bool:
    """Return whether an answer gives the value that was said first, and the new one at most as what came later.

    >>> tells_first("Lyon", "Ghent", "Lyon; later you said Ghent."), tells_first("Lyon", "Ghent", "Lyon or Ghent.")
    (True, False)
    """
    return names(truth, answer) and not any(
        names(new, sentence) and not denied(new, sentence) and not _LATER.search(sentence)
        for sentence in sentences_of(answer)
    )


def keeps_back(withdrawn: str, answer: str) -> bool:
    """Return whether an answer says that it does not know, or was asked to forget, and does not name what was withdrawn.

    >>> keeps_back("Lyon", "You asked me to forget that."), keeps_back("Lyon", "You asked me to forget that it is Lyon.")
    (True, False)
    """
    says_so = bool(answer.strip()) and (abstains(answer) or _TAKEN_BACK.search(answer) is not None)
    return says_so and not names(withdrawn, answer)


def denied(value: str, sentence: str) -> bool:
    """Return whether a sentence says that it is not this value.

    >>> denied("a parrot", "He has a gecko, not a parrot."), denied("a gecko", "He has a gecko, not a parrot.")
    (True, False)
    """
    words = "|".join(word for word in re.findall(r"[^\W_]+", value) if content_of(word) <= content_of(value))
    return re.search(rf"{_NOT}(?:{words})", sentence, re.IGNORECASE) is not None
