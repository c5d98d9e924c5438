"""The embedded reader: answers who, what, when and where from a story by rules, without a model.

It sees what a model would see, the context and the question, and answers in plain text. It is a floor that needs no
network, key or GPU, and a baseline: a score that it reaches needs no understanding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from datetime import date
from functools import lru_cache
from typing import Literal

from epbench.models.protocol import Reply, Request
from epbench.tulving.reader.story import DATE, NAME, Chapter, Story, read_story

_QUESTION = re.compile(r"Question:\s*(.+)$", re.MULTILINE)  # the line that asks, where a prompt says more

NOTHING = "The text does not say anything about that."

QuestionView = Literal["when", "where", "who", "what", "who else", "everything"]

# What the answer should leave out: dropped before looking for what is asked.
_LEFT_OUT = re.compile(r"(,? without [^.?!,]*|,? rather than [^.?!]*|,? leaving aside [^.?!]*|Without [^,]*,)")
_LATEST = re.compile(r"most recent|last time|last known|the last kind|latest (?:date|location|place|event)", re.I)
_ORDERED = re.compile(r"chronological (?:list|order)|ordered from|earliest to latest", re.I)
_CUES: tuple[tuple[QuestionView, re.Pattern[str]], ...] = (
    ("everything", re.compile(r"full detail|comprehensive|all relevant details|everything that happened", re.I)),
    ("who else", re.compile(r"who else|besides|other people|other persons", re.I)),
    ("what", re.compile(r"\b(?:describe|kinds? of event|key events|activities|doing)\b", re.I)),
    ("when", re.compile(r"\b(?:dates?|when|days?)\b", re.I)),
    ("where", re.compile(r"\b(?:locations?|places?|where)\b(?! and time)", re.I)),
    ("who", re.compile(r"\b(?:who|protagonists?|main characters?|people|persons?)\b", re.I)),
)


class LexicalReader:
    """Rule-based reader of stories in chapters."""

    name = identity = "lexical"

    def window(self) -> int | None:
        """None: rules read a text of any length."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Words of the prompt, and of its shared part."""
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`; a context is read once for all questions that follow one another on it."""
        for request in requests:
            question = _QUESTION.search(request.question)
            asked = question[1] if question else request.question
            yield Reply(request.key(self.identity), request.id, answer_question(_story(request.context), asked))


@lru_cache(maxsize=4)
def _story(context: str) -> Story:
    return read_story(context)


def answer_question(story: Story, question: str) -> str:
    """Find the chapters that hold everything that the question names, and tell what it asks of them."""
    named, unknown = _named(story, question)
    asked = _asked(_without_names(question, named))
    chapters = [] if unknown or not named else [c for c in story.chapters if all(c.holds(name) for name in named)]
    if _LATEST.search(question):
        chapters = sorted((c for c in chapters if c.day), key=_day)[-1:]
    elif _ORDERED.search(question):
        chapters = sorted((c for c in chapters if c.day), key=_day)
    items = [item for chapter in chapters for item in _TELL[asked](story, chapter)]
    if asked == "everything":
        return "\n\n".join(items) or NOTHING
    return "\n".join(f"- {item}" for item in dict.fromkeys(items)) or NOTHING


def _named(story: Story, question: str) -> tuple[list[str], list[str]]:
    """Dates and names in the question: those that the story knows, and those that it does not."""
    named = [match[0] for match in DATE.finditer(question)]
    unknown: list[str] = []
    undated = DATE.sub("—", question)
    for match in NAME.finditer(undated):
        words = match[0].split(" ")
        if undated[: match.start()].rstrip()[-1:] in ("", ".", "?"):
            words = words[1:]  # a sentence begins with a capital anyway
        known, rest = _split_names(story, re.sub(r"['’]s$", "", " ".join(words)).split())
        named += known
        unknown += rest
    return named, unknown


def _split_names(story: Story, words: list[str]) -> tuple[list[str], list[str]]:
    """Cut a run of capitalised words at the longest names that the story knows."""
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


def _asked(question: str) -> QuestionView:
    """Sort of the answer, from the clearest words first; else that of the last sentence, the first may set the scene."""
    for sort, words in _CUES[:3]:
        if words.search(question):
            return sort
    for sentence in reversed(re.split(r"(?<=[.?!]) ", question)):
        places = [(match.start(), sort) for sort, words in _CUES[3:] if (match := words.search(sentence))]
        if places:
            return min(places)[1]
    return "what"  # what happened, unless another word of the question is more exact


def _day(chapter: Chapter) -> date:
    assert chapter.day is not None
    return chapter.day


def _who(story: Story, chapter: Chapter) -> list[str]:
    name = story.protagonist(chapter)
    return [name] if name else []


def _who_else(story: Story, chapter: Chapter) -> list[str]:
    return [name for name in story.names(chapter, "person") if name != story.protagonist(chapter)]


_TELL: dict[QuestionView, Callable[[Story, Chapter], list[str]]] = {
    "when": lambda story, chapter: [written for written, _ in chapter.dates],
    "where": lambda story, chapter: story.names(chapter, "place"),
    "who": _who,
    "who else": _who_else,
    "what": lambda story, chapter: story.names(chapter, "event"),
    "everything": lambda story, chapter: [chapter.text],
}
