"""What a rule-based reader can see in a story: its chapters, and in each the dates and the names.

No list of names is known in advance. A run of capitalised words is a name; what stands before it tells its sort:
`at Fort Greene Park` is a place, `the Pottery Class` an event, and what is neither is a person.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal, NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DATE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})\b")
HEADING = re.compile(r"^Chapter (\d+)(?:, Paragraph (\d+))?$", re.MULTILINE)

_LINK = r"(?:of the|of|de|del|da|do)"
_CAPITAL = r"(?:St\.|[A-Z][\w'’-]*)"
NAME = re.compile(rf"{_CAPITAL}(?: (?:{_LINK} )?{_CAPITAL})*")
_STARTS_SENTENCE = re.compile(r"(?:^|[.?!:\"”]\s+|\n|[\"“])$")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_PLACE_WORDS = frozenset(["at", "in", "across", "within", "throughout"])
_OPENERS = frozenset(
    [
        "at",
        "in",
        "across",
        "within",
        "throughout",
        "the",
        "a",
        "an",
        "this",
        "that",
        "of",
        "for",
        "with",
        "by",
        "when",
        "as",
        "while",
    ]
)
_EVENT_WORDS = frozenset(["the", "this", "that", "an", "a"])

Sort = Literal["place", "event", "person"]


@dataclass(frozen=True)
class Chapter:
    """One chapter, or the part of it that was retrieved."""

    number: int
    text: str

    @cached_property
    def dates(self) -> list[tuple[str, date]]:
        """Dates in the order of the text, as written and as a day."""
        return [(m[0], date(int(m[3]), MONTHS.index(m[1]) + 1, int(m[2]))) for m in DATE.finditer(self.text)]

    @cached_property
    def day(self) -> date | None:
        """When it happened: the only date that its text should hold."""
        return self.dates[0][1] if self.dates else None

    def holds(self, words: str) -> bool:
        """Whether the words stand there, as whole words, in any case."""
        return re.search(rf"(?<!\w){re.escape(words.lower())}(?!\w)", self.lowered) is not None

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()


@dataclass
class Story:
    """A text that was cut at its chapter headings, with all names found and sorted."""

    chapters: list[Chapter]
    sorts: dict[str, Sort] = field(default_factory=dict)
    found: dict[int, list[str]] = field(default_factory=dict)

    def names(self, chapter: Chapter, sort: Sort) -> list[str]:
        """Names of one sort in a chapter, in the order of the text, each once."""
        return [name for name in self.found[chapter.number] if self.sorts[name] == sort]

    def protagonist(self, chapter: Chapter) -> str | None:
        """Whom the chapter is about.

        The person whom most chapters know; among equals the one whose first name stands there alone most often,
        then the one named first.
        """
        people = self.names(chapter, "person")
        words = Counter(_WORD.findall(chapter.text))
        return max(people, key=lambda name: (self._spread[name], words[name.split()[0]]), default=None)

    @cached_property
    def _spread(self) -> Counter[str]:
        return Counter(name for names in self.found.values() for name in names)

    @cached_property
    def lowered_names(self) -> dict[str, str]:
        """Every name by its lower-case form."""
        return {name.lower(): name for name in self.sorts}


def read_story(text: str) -> Story:
    """Cut a text into chapters and find the names in them; pieces of one chapter are put together again."""
    pieces: dict[int, list[str]] = {}
    headings = list(HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        body = text[heading.end() : end]
        pieces.setdefault(int(heading[1]), []).append(body.split("\n===")[0].strip())
    story = Story([Chapter(number, "\n\n".join(bodies)) for number, bodies in sorted(pieces.items())])

    ordinary = {word for chapter in story.chapters for word in _WORD.findall(chapter.text) if word[0].islower()}
    found = {chapter.number: _find_names(DATE.sub("—", chapter.text), ordinary) for chapter in story.chapters}
    certain = {name.text for names in found.values() for name in names if not name.starts_sentence}
    before: dict[str, Counter[str]] = {}
    for number, names in found.items():
        names = [_without_first_word(name, certain) for name in names]
        for name in names:
            before.setdefault(name.text, Counter())[name.before] += 1
        story.found[number] = list(dict.fromkeys(name.text for name in names))
    story.sorts = {name: _sort(words) for name, words in before.items()}
    return story


class _Name(NamedTuple):
    """A name in a text, and the lower-cased word before it (empty after punctuation)."""

    text: str
    before: str
    starts_sentence: bool


def _find_names(text: str, ordinary: set[str]) -> list[_Name]:
    """Names of two words or more."""
    found = []
    for match in NAME.finditer(text):
        name = _Name(match[0], _word_before(text, match.start()), False)
        if _STARTS_SENTENCE.search(text[max(0, match.start() - 3) : match.start()]):
            name = name._replace(starts_sentence=True)
            if match[0].split(" ")[0].lower() in ordinary | _OPENERS:
                name = _drop_first_word(name)
        if " " in name.text:
            found.append(name._replace(text=re.sub(r"['’]s$", "", name.text)))
    return found


def _drop_first_word(name: _Name) -> _Name:
    """`Within Fort Greene Park` → `Fort Greene Park` after `within`; `Most of the Book Fair` → `Book Fair`."""
    match = re.match(rf"(\S+)(?: ({_LINK}))? (.*)", name.text)
    if match is None:
        return name._replace(text="")
    return _Name(match[3], (match[2] or match[1]).split()[-1].lower(), False)


def _without_first_word(name: _Name, certain: set[str]) -> _Name:
    """Drop the first word of a sentence where what follows it is a name elsewhere."""
    shorter = _drop_first_word(name)
    return shorter if name.starts_sentence and name.text not in certain and shorter.text in certain else name


def _word_before(text: str, at: int) -> str:
    match = re.search(r"([A-Za-z]+) $", text[max(0, at - 20) : at])
    return match[1].lower() if match else ""


def _sort(before: Counter[str]) -> Sort:
    n = before.total()
    if sum(before[word] for word in _PLACE_WORDS) * 2 > n:
        return "place"
    if sum(before[word] for word in _EVENT_WORDS) * 2 > n:
        return "event"
    return "person"
