"""The rule-based reader: it answers who, what, when and where from a story, without a model.

It sees what a model would see, the context and the question, and answers in plain text. It needs no network, key or GPU
and serves as a floor: a score that it reaches takes no understanding.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Literal

from epbench.models.protocol import Request, RuleBasedReader
from epbench.tulving.reader.story import DATE, NAME, Chapter, Story, read_story

_QUESTION = re.compile(r"Question:\s*(.+)$", re.MULTILINE)  # the line with the question, if a prompt says more

NOTHING = "The text does not say anything about that."

Sought = Literal["when", "where", "who", "what", "who else", "everything"]
"""What a question asks for."""

# Parts of a question that say what the answer should leave out.
_LEFT_OUT = re.compile(r"(,? without [^.?!,]*|,? rather than [^.?!]*|,? leaving aside [^.?!]*|Without [^,]*,)")
_LATEST = re.compile(r"most recent|last time|last known|the last kind|latest (?:date|location|place|event)", re.I)
_ORDERED = re.compile(r"chronological (?:list|order)|ordered from|earliest to latest", re.I)
# Words that decide wherever they occur in a question; earlier entries go first.
_CLEAR_CUES: tuple[tuple[Sought, re.Pattern[str]], ...] = (
    ("everything", re.compile(r"full detail|comprehensive|all relevant details|everything that happened", re.I)),
    ("who else", re.compile(r"who else|besides|other people|other persons", re.I)),
    ("what", re.compile(r"\b(?:describe|kinds? of event|key events|activities|doing)\b", re.I)),
)
# Words that decide by position: the last sentence with such a word counts, and the first such word in it.
_OTHER_CUES: tuple[tuple[Sought, re.Pattern[str]], ...] = (
    ("when", re.compile(r"\b(?:dates?|when|days?)\b", re.I)),
    ("where", re.compile(r"\b(?:locations?|places?|where)\b(?! and time)", re.I)),
    ("who", re.compile(r"\b(?:who|protagonists?|main characters?|people|persons?)\b", re.I)),
)


class LexicalReader(RuleBasedReader):
    """A rule-based reader of stories in chapters."""

    name = "lexical"

    def answer_to(self, request: Request) -> str:
        """Answer from the context; it is read once for all questions about it that follow one another."""
        question = _QUESTION.search(request.question)
        return answer_question(_story(request.context), question[1] if question else request.question)


@lru_cache(maxsize=4)
def _story(context: str) -> Story:
    return read_story(context)


def answer_question(story: Story, question: str) -> str:
    """Find the chapters that contain everything that the question names, and answer from these."""
    named, unknown = _named(story, question)
    sought = _sought(_without_names(question, named))
    chapters = [] if unknown or not named else [c for c in story.chapters if all(c.holds(name) for name in named)]
    if _LATEST.search(question):
        chapters = sorted((c for c in chapters if c.day), key=_day)[-1:]
    elif _ORDERED.search(question):
        chapters = sorted((c for c in chapters if c.day), key=_day)
    items = [item for chapter in chapters for item in _ANSWERS[sought](story, chapter)]
    if sought == "everything":
        return "\n\n".join(items) or NOTHING
    return "\n".join(f"- {item}" for item in dict.fromkeys(items)) or NOTHING


def _named(story: Story, question: str) -> tuple[list[str], list[str]]:
    """Return the dates and names in the question: those that the story has, and those that it does not have."""
    named = [match[0] for match in DATE.finditer(question)]
    unknown: list[str] = []
    undated = DATE.sub("—", question)
    for match in NAME.finditer(undated):
        words = match[0].split(" ")
        if undated[: match.start()].rstrip()[-1:] in ("", ".", "?"):
            words = words[1:]  # the first word of a sentence is capitalised anyway
        known, rest = _split_names(story, re.sub(r"['’]s$", "", " ".join(words)).split())
        named += known
        unknown += rest
    return named, unknown


def _split_names(story: Story, words: list[str]) -> tuple[list[str], list[str]]:
    """Split a run of capitalised words into the longest names that the story has and the remaining words."""
    for size in range(len(words), 1, -1):
        for start in range(len(words) - size + 1):
            name = " ".join(words[start : start + size])
            if name.lower() in story.lowered_names or (size > 1 and any(c.holds(name) for c in story.chapters)):
                before = _split_names(story, words[:start])
                after = _split_names(story, words[start + size :])
                return [*before[0], name, *after[0]], [*before[1], *after[1]]
    rest = [word for word in words if word[0].isupper()]
    return [], [" ".join(rest)] if rest else []


def _without_names(question: str, named: list[str]) -> str:
    for name in named:
        question = question.replace(name, "—")
    return _LEFT_OUT.sub("", question)


def _sought(question: str) -> Sought:
    """Find out what is asked for: by the clearest words first, else by the last sentence that has any such word."""
    for sought, words in _CLEAR_CUES:
        if words.search(question):
            return sought
    for sentence in reversed(re.split(r"(?<=[.?!]) ", question)):
        found = [(match.start(), sought) for sought, words in _OTHER_CUES if (match := words.search(sentence))]
        if found:
            return min(found)[1]
    return "what"


def _day(chapter: Chapter) -> date:
    assert chapter.day is not None
    return chapter.day


def _who(story: Story, chapter: Chapter) -> list[str]:
    name = story.protagonist(chapter)
    return [name] if name else []


def _who_else(story: Story, chapter: Chapter) -> list[str]:
    return [name for name in story.names(chapter, "entity") if name != story.protagonist(chapter)]


_ANSWERS: dict[Sought, Callable[[Story, Chapter], list[str]]] = {
    "when": lambda story, chapter: [written for written, _ in chapter.dates],
    "where": lambda story, chapter: story.names(chapter, "space"),
    "who": _who,
    "who else": _who_else,
    "what": lambda story, chapter: story.names(chapter, "content"),
    "everything": lambda story, chapter: [chapter.text],
}
