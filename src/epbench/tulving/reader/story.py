"""What a rule-based reader can see in a story: its chapters, and in each the dates and the names.

No names are known in advance. A run of capitalised words is a name, and the word before it says of what: `at Fort Greene
Park` is a space, `the Pottery Class` is a content, and anything else is an entity.
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
_SPACE_WORDS = frozenset(["at", "in", "across", "within", "throughout"])
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
_CONTENT_WORDS = frozenset(["the", "this", "that", "an", "a"])

Kind = Literal["space", "content", "entity"]
"""What a name stands for: where something happened, what happened, or who was there."""


@dataclass(frozen=True)
class Chapter:
    """A chapter, or as much of it as the text has."""

    number: int
    text: str

    @cached_property
    def dates(self) -> list[tuple[str, date]]:
        """The dates in the order of the text, each as written and as a date."""
        return [(m[0], date(int(m[3]), MONTHS.index(m[1]) + 1, int(m[2]))) for m in DATE.finditer(self.text)]

    @cached_property
    def day(self) -> date | None:
        """When the event happened: the first date, and usually the only one."""
        return self.dates[0][1] if self.dates else None

    def holds(self, words: str) -> bool:
        """Whether the chapter has these words, as whole words, in upper or lower case."""
        return re.search(rf"(?<!\w){re.escape(words.lower())}(?!\w)", self.lowered) is not None

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()


@dataclass
class Story:
    """A text split at its chapter headings, with the names in it.

    Attributes:
        chapters: in ascending order.
        kinds: by name, what it stands for.
        found: by number of the chapter, its names in the order of the text, each once.
    """

    chapters: list[Chapter]
    kinds: dict[str, Kind] = field(default_factory=dict)
    found: dict[int, list[str]] = field(default_factory=dict)

    def names(self, chapter: Chapter, kind: Kind) -> list[str]:
        """Return the names of one kind in a chapter, in the order of the text, each once."""
        return [name for name in self.found[chapter.number] if self.kinds[name] == kind]

    def protagonist(self, chapter: Chapter) -> str | None:
        """Return the entity that the chapter is about; None if it names nobody.

        This is the entity that is named in the most chapters. Of several, it is the one whose first name occurs most
        often in this chapter, then the one that is named first.
        """
        entities = self.names(chapter, "entity")
        words = Counter(_WORD.findall(chapter.text))
        return max(entities, key=lambda name: (self._spread[name], words[name.split()[0]]), default=None)

    @cached_property
    def _spread(self) -> Counter[str]:
        return Counter(name for names in self.found.values() for name in names)

    @cached_property
    def lowered_names(self) -> dict[str, str]:
        """Every name, by its lower-case form."""
        return {name.lower(): name for name in self.kinds}


def read_story(text: str) -> Story:
    """Split a text into chapters and find the names in them. Paragraphs of one chapter are joined."""
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
    story.kinds = {name: _kind(words) for name, words in before.items()}
    return story


class _Name(NamedTuple):
    """A name in a text, the lower-cased word before it ("" after punctuation), and whether it starts a sentence."""

    text: str
    before: str
    starts_sentence: bool


def _find_names(text: str, ordinary: set[str]) -> list[_Name]:
    """Find names of at least two words."""
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
    """Drop the first word of a sentence if what follows it is a name elsewhere."""
    shorter = _drop_first_word(name)
    return shorter if name.starts_sentence and name.text not in certain and shorter.text in certain else name


def _word_before(text: str, at: int) -> str:
    match = re.search(r"([A-Za-z]+) $", text[max(0, at - 20) : at])
    return match[1].lower() if match else ""


def _kind(before: Counter[str]) -> Kind:
    n = before.total()
    if sum(before[word] for word in _SPACE_WORDS) * 2 > n:
        return "space"
    if sum(before[word] for word in _CONTENT_WORDS) * 2 > n:
        return "content"
    return "entity"
