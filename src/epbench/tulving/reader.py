"""The readers that follow rules and need no model; scores that they reach take no understanding.

`LexicalReader` answers who, what, when and where from a story. It sees what a model would see, the context and the question,
and answers in plain text. `EverythingReader` reads nothing and names every item of the book.

No names are known in advance. A run of capitalised words is a name, and the word before it says of what: `at Fort Greene
Park` is a space, `the Pottery Class` is a content, and anything else is an entity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from epbench.metric_folders import formulas
from epbench.models.protocol import Request, RuleBasedReader
from epbench.tulving.events.dates import MONTHS

DATE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})\b")
HEADING = re.compile(r"^Chapter (\d+)(?:, Paragraph \d+)?$", re.MULTILINE)

_LINK = r"(?:of the|of|de|del|da|do)"
_CAPITAL = r"(?:St\.|[A-Z][\w'’-]*)"
NAME = re.compile(rf"{_CAPITAL}(?: (?:{_LINK} )?{_CAPITAL})*")
_STARTS_SENTENCE = re.compile(r"(?:^|[.?!:\"”]\s+|\n|[\"“])$")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_SPACE_WORDS = frozenset(["at", "in", "across", "within", "throughout"])
_OPENERS = _SPACE_WORDS | frozenset(
    ["the", "a", "an", "this", "that", "of", "for", "with", "by", "when", "as", "while"]
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
        sought = words.lower()  # most chapters do not have them at all, which takes no regular expression to see
        return sought in self.lowered and re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", self.lowered) is not None

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def words(self) -> Counter[str]:
        return Counter(_WORD.findall(self.text))


@dataclass
class Story:
    """A text split at its chapter headings, with the names in it."""

    chapters: list[Chapter]  # in ascending order
    kinds: dict[str, Kind]  # by name, what it stands for
    found: dict[int, list[str]]  # by number of the chapter, its names in the order of the text, each once

    def names(self, chapter: Chapter, kind: Kind) -> list[str]:
        """Return the names of one kind in a chapter, in the order of the text, each once."""
        return [name for name in self.found[chapter.number] if self.kinds[name] == kind]

    def protagonist(self, chapter: Chapter) -> str | None:
        """Return the entity that the chapter is about, the one named in the most chapters; None if it names nobody.

        Of several, it is the one whose first name occurs most often in this chapter, then the one that is named first.
        """
        entities = self.names(chapter, "entity")
        return max(entities, key=lambda name: (self._spread[name], chapter.words[name.split()[0]]), default=None)

    @cached_property
    def _spread(self) -> Counter[str]:
        return Counter(name for names in self.found.values() for name in names)

    @cached_property
    def lowered_names(self) -> dict[str, str]:
        return {name.lower(): name for name in self.kinds}


def read_story(text: str) -> Story:
    """Split a text into chapters and find the names in them. Paragraphs of one chapter are joined."""
    pieces: dict[int, list[str]] = {}
    _, *parts = HEADING.split(text)
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        pieces.setdefault(int(number), []).append(body.split("\n===")[0].strip())
    read = {number: [_read_piece(body) for body in bodies] for number, bodies in sorted(pieces.items())}
    ordinary = _OPENERS.union(*(piece.ordinary for several in read.values() for piece in several))
    by_chapter = {n: [name for piece in several for name in _names(piece, ordinary)] for n, several in read.items()}
    certain = {name.text for names in by_chapter.values() for name in names if not name.starts_sentence}
    before: dict[str, Counter[str]] = {}
    found: dict[int, list[str]] = {}
    for n, names in by_chapter.items():
        names = [_without_first_word(name, certain) for name in names]
        for name in names:
            before.setdefault(name.text, Counter())[name.before] += 1
        found[n] = list(dict.fromkeys(name.text for name in names))
    chapters = [Chapter(n, "\n\n".join(pieces[n])) for n in read]
    return Story(chapters, {name: _kind(words) for name, words in before.items()}, found)


class _Name(NamedTuple):
    """A name in a text, the lower-cased word before it ("" after punctuation), and whether it starts a sentence."""

    text: str
    before: str
    starts_sentence: bool


class _Piece(NamedTuple):
    ordinary: frozenset[str]  # its words that begin with a small letter
    # Its runs of two or more capitalised words. One that starts a sentence comes with its first word in lower case, and
    # with what is left of it without that word, in case the word has its capital letter only from its place.
    names: tuple[tuple[_Name, str, _Name | None], ...]


@lru_cache(maxsize=8192)
def _read_piece(body: str) -> _Piece:
    """Read a part of a chapter once, in however many contexts it is found."""
    undated = DATE.sub("—", body)
    names = []
    for match in NAME.finditer(undated):
        start = match.start()
        starts_sentence = _STARTS_SENTENCE.search(undated[max(0, start - 3) : start]) is not None
        if " " in match[0]:
            name = _Name(match[0], _word_before(undated, start), starts_sentence)
            rest = _without_possessive(_drop_first_word(name)) if starts_sentence else None
            names.append((_without_possessive(name), name.text.split(" ")[0].lower(), rest))
    return _Piece(frozenset(word for word in _WORD.findall(body) if word[0].islower()), tuple(names))


def _names(piece: _Piece, ordinary: frozenset[str]) -> Iterator[_Name]:
    """The names of at least two words, without a first word that is only capitalised because a sentence starts."""
    for name, first, rest in piece.names:
        if rest is None or first not in ordinary:
            yield name
        elif " " in rest.text:
            yield rest


def _without_possessive(name: _Name) -> _Name:
    return name._replace(text=re.sub(r"['’]s$", "", name.text))


def _drop_first_word(name: _Name) -> _Name:
    """`Within Fort Greene Park` → `Fort Greene Park` after `within`; `Most of the Book Fair` → `Book Fair`."""
    match = re.match(rf"(\S+)(?: ({_LINK}))? (.*)", name.text)
    if match is None:
        return name._replace(text="")
    return _Name(match[3], (match[2] or match[1]).split()[-1].lower(), False)


def _without_first_word(name: _Name, certain: set[str]) -> _Name:
    """Drop the first word of a sentence if what follows it is a name elsewhere."""
    if not name.starts_sentence or name.text in certain:
        return name
    shorter = _drop_first_word(name)
    return shorter if shorter.text in certain else name


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


_story = lru_cache(maxsize=4)(read_story)


def answer_question(story: Story, question: str) -> str:
    """Find the chapters that contain everything that the question names, and answer from these."""
    named, unknown = _named(story, question)
    sought = _sought(_without_names(question, named))
    chapters = [] if unknown or not named else [c for c in story.chapters if all(c.holds(name) for name in named)]
    latest = _LATEST.search(question)
    if latest or _ORDERED.search(question):
        chapters = sorted((c for c in chapters if c.day), key=lambda c: c.day or date.max)[-1 if latest else 0 :]
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
        matches = [(match.start(), sought) for sought, words in _OTHER_CUES if (match := words.search(sentence))]
        if matches:
            return min(matches)[1]
    return "what"


_ANSWERS: dict[Sought, Callable[[Story, Chapter], list[str]]] = {
    "when": lambda story, chapter: [written for written, _ in chapter.dates],
    "where": lambda story, chapter: story.names(chapter, "space"),
    "who": lambda story, chapter: [name for name in [story.protagonist(chapter)] if name],
    "who else": lambda story, chapter: [
        name for name in story.names(chapter, "entity") if name != story.protagonist(chapter)
    ],
    "what": lambda story, chapter: story.names(chapter, "content"),
    "everything": lambda story, chapter: [chapter.text],
}


# The baseline `everything`

EVERYTHING = "everything"
"""The memory whose reader names every item of the book that was asked for, whatever the question.

It needs no memory of any event. The paper's lenient F1 counts at most as many items as there are true ones, so this answer
is right wherever something has happened: what a memory scores below it, it could have had by naming everything. Harsh F1
counts all that it names.
"""

ACCOUNT = "full_details"
"""The trace whose items are the texts of chapters; its questions are answered with all names of the other traces."""


def names_by_trace(questions: Iterable[Mapping[str, Any]], items: str = "answer") -> dict[str, list[str]]:
    """Collect what is true in answer to any of some questions, which the field `items` has, by what they ask for.

    Each name comes once, dates from the earliest to the latest, others by alphabet; `ACCOUNT` has those of all other traces.
    """
    by_trace: dict[str, set[str]] = {}
    for question in questions:
        by_trace.setdefault(question["trace"], set()).update(question[items])
    normalise = formulas("episodic_f1").normalise
    names = {trace: sorted(of_trace, key=lambda name: (normalise(name), name)) for trace, of_trace in by_trace.items()}
    others = [listed for trace, listed in names.items() if trace != ACCOUNT]
    return names | {ACCOUNT: list(dict.fromkeys(chain(*others)))}


class EverythingReader(RuleBasedReader):
    """Answers each question with all names of what it asks for in any row of the dataset, and reads nothing."""

    name = "rules"

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._trace_of = {row["id"]: row["trace"] for row in rows}
        names_of = names_by_trace(rows)
        self._answers = {trace: "\n".join(f"- {name}" for name in names) for trace, names in names_of.items()}

    def answer_to(self, request: Request) -> str:
        return self._answers[self._trace_of[request.id]] or "Everything."
