"""What each paragraph of a book says on date, location, main character and kind of event, directly or by reference.

Only the text is read, with the names of the universe (what a reader knows of the world) and the wording of references. What is
mentioned in passing is set aside first; what a kind of event is called, the book itself explains.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from epbench.tulving.chapters.checks import Vocabulary
from epbench.tulving.events.dates import MONTHS, WEEKDAYS, find_dates
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.banks import IN_LETTERS, NTH
from epbench.tulving.solving.frames import DENIALS, Frame, described_places, frames_of, landmarks, place_of, role, said

_SENTENCE_END = re.compile(r" (?:(?<=[.!?] )|(?<=[.!?][\"”] ))(?=[\"“A-Z0-9])")
_AFTER_THE = re.compile(r"\b[Tt]he ([\w'-]+)")

Place = tuple[int, int]
"""The numbers of a chapter and of a paragraph in it, from 1."""


class Anchor(NamedTuple):
    """How another chapter is named: by a group that is met in it, by what began with it, or by its event and its location."""

    group: str | None = None
    span: str | None = None
    content: str | None = None
    space: str | None = None


class Relation(NamedTuple):
    """A date by its distance from another chapter's."""

    anchor: Anchor  # the other chapter
    days: int | None = None  # how many days later it is; None with a weekday
    weekday: int = 0  # without a number of days, the nearest such day, 0 for Monday, on one side of the other date
    side: int = 1  # 1 for after, -1 for before
    nth: int = 1  # with a month, which of its days of this name it is, from 1
    # The month, from 1, that is the first of its name to begin after the other date; None for the nearest day
    month: int | None = None


class Claim(NamedTuple):
    """What a witness says: the date or the location of a chapter."""

    witness: str
    value: object


class Described(NamedTuple):
    """A location by two features."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a paragraph says.

    Of the kinds, `date`, `location` and `entity` are facts, and `named` is a kind of event in the words of the chapter, which
    `gloss` explains; `title` gives a title to a person, `office` an office from this day on, and `feature` something to a
    location; `met` says whom the main character met, `span` what began that day and how long it lasted; `rule` names the witness
    to believe; `retelling`, `correction` and `withdrawal` are on another chapter's date; `lost`, `found` and `barred` say what
    changed.
    """

    place: Place
    kind: str
    value: object  # the date, name, group or thing itself, a claim, a relation, an anchor, a description, or a pair of these


class Statements:
    """Reads paragraphs with the names of a universe."""

    def __init__(self, universe: Universe) -> None:
        self._vocabulary = Vocabulary(universe)
        self._frames = frames_of(universe)
        self._contents = {content.lower(): content for content in universe.contents}
        self._spaces = {space.lower(): space for space in universe.spaces}
        self._phrases: dict[str, list[str]] = {}  # by their second words
        self._meant = dict(self._contents)  # what phrases may mean, in lower case: a kind of event, or another phrase
        self._events: dict[str, str] = {}  # names and phrases for kinds of event, by their lower-case forms
        self._titles = re.compile(rf"\b[Tt]he (?:[A-Z][\w-]*|{role()} of [A-Z][\w-]*) [A-Z][\w-]*\b")

    def of_book(self, chapters: Sequence[tuple[int, str]]) -> list[Statement]:
        """Return what the chapters of a book say, given their numbers and texts."""
        told = [
            ((number, at), sentence, *self._fitting(sentence))
            for number, text in chapters
            for at, paragraph in enumerate(text.split("\n\n"), 1)
            for sentence in _SENTENCE_END.split(paragraph)
        ]
        explained = [match for _, _, matches, _ in told for kind, match in matches if kind == "gloss"]
        phrases = {
            words.removeprefix("the "): words for words in (_lowered(said(match, "phrase")) for match in explained)
        }
        self._meant = {words.lower(): phrase for words, phrase in phrases.items()} | self._contents
        glosses = [self._glossed(match) for match in explained]
        self._phrases, self._events = {}, dict(self._contents)
        for words in sorted({gloss[0] for gloss in glosses if gloss}, key=lambda words: (-len(words), words)):
            self._phrases.setdefault(words.split()[1].lower(), []).append(words)
            self._events[words.removeprefix("the ").lower()] = words
        return [statement for sentence in told for statement in self._of_sentence(*sentence)]

    def _fitting(self, sentence: str) -> tuple[list[tuple[str, re.Match[str]]], list[tuple[str, Frame]]]:
        """The frames that a sentence is, as matches, and those of the phrases that it may have."""
        matches, phrases = [], []
        for (how, label), frame in self._frames.fitting(sentence):
            if how == "within":
                phrases.append((label, frame))
            elif match := frame.regex.fullmatch(sentence):
                matches.append((label, match))
        return matches, phrases

    def _glossed(self, match: re.Match[str]) -> tuple[str, str] | None:
        meant = self._meant.get(said(match, "meaning").lower())
        return (_lowered(said(match, "phrase")), meant) if meant else None

    def _of_sentence(
        self,
        place: Place,
        sentence: str,
        matches: Sequence[tuple[str, re.Match[str]]],
        phrases: Sequence[tuple[str, Frame]],
    ) -> Iterator[Statement]:
        """What a sentence says, given its matches and the phrases that it may have."""
        told = sentence
        for kind, match in matches:
            if kind == "aside" or kind in DENIALS:
                return
            if kind in self._of_their_own:
                if (value := self._of_their_own[kind](self, match)) is not None:
                    yield Statement(place, _KINDS.get(kind, kind), value)
                    return
            else:
                told = said(match, kind)
                break
        yield from self._facts(place, told, phrases)

    def _entitled(self, match: re.Match[str]) -> tuple[str, str]:
        entity = said(match, "entity")
        return _lowered(said(match, "title")), _lowered(entity) if entity.startswith("The ") else entity

    def _on_date(self, match: re.Match[str]) -> tuple[Anchor, object] | None:
        """Another chapter, and the date that is said of it."""
        anchor = self._anchor(said(match, "anchor"))
        days = [day for _, day, _ in find_dates(said(match, "date"))]
        return (anchor[0], days[-1]) if anchor and days else None

    def _retold(self, match: re.Match[str]) -> tuple[Anchor, Claim] | None:
        told = self._on_date(match)
        return told and (told[0], Claim(said(match, "witness"), told[1]))

    def _withdrawn(self, match: re.Match[str]) -> Anchor | None:
        anchor = self._anchor(said(match, "anchor"))
        return anchor and anchor[0]

    def _counterclaim(self, match: re.Match[str]) -> Claim | None:
        space = self._last_space(said(match, "space"))
        return Claim(said(match, "witness"), space) if space else None

    def _featured(self, match: re.Match[str]) -> tuple[str | Anchor, str] | None:
        words = said(match, "space")
        met = next(_all_within((frame for _, frame in described_places().fitting(words)), words), None)
        space = Anchor(group=_lowered(said(met, "group"))) if met else self._last_space(words)
        return (space, _lowered(said(match, "feature"))) if space else None

    def _lasted(self, match: re.Match[str]) -> tuple[str, int]:
        return _lowered(said(match, "span")), IN_LETTERS.index(said(match, "n").lower())

    _of_their_own: Mapping[str, Callable[[Statements, re.Match[str]], object]] = {
        "title": _entitled,
        "office": _entitled,
        "feature": _featured,
        "gloss": _glossed,
        "meeting": lambda self, match: _lowered(said(match, "group")),
        "span": _lasted,
        **dict.fromkeys(("lost", "found"), lambda self, match: _lowered(said(match, "object"))),
        "barred": lambda self, match: True,
        "rule": lambda self, match: said(match, "trusted"),
        "counterclaim": _counterclaim,
        "retelling": _retold,
        "correction": _on_date,
        "withdrawal": _withdrawn,
    }
    """The sentences that say one thing and nothing else, and how each is read."""

    def _facts(self, place: Place, text: str, phrases: Sequence[tuple[str, Frame]]) -> Iterator[Statement]:
        rest, frames = text, defaultdict[str, list[Frame]](list)
        for part, frame in phrases:
            frames[part].append(frame)
        if claim := _first_within(frames["claim"], rest):
            words, witness = said(claim, "words"), said(claim, "witness")
            days, space = [day for _, day, _ in find_dates(words)], self._last_space(words)
            rest = rest.replace(claim[0], "—")
            if days or space:
                yield Statement(place, "date" if days else "location", Claim(witness, days[-1] if days else space))
        if dated := self._relation(rest, frames):
            rest = rest.replace(dated[1], "—")
            yield Statement(place, "date", dated[0])
        if meeting := _first_within(frames["where"], rest):
            rest = rest.replace(meeting[0], "—")
            yield Statement(place, "location", Anchor(group=_lowered(said(meeting, "group"))))
        if described := _first_within(frames["described"], rest):
            rest = rest.replace(described[0], "—")
            yield Statement(place, "location", Described(said(described, "first"), said(described, "second")))
        if acquainted := _first_within(frames["acquainted"], rest):
            rest = rest.replace(acquainted[0], "—")
            yield Statement(place, "entity", Anchor(group=_lowered(said(acquainted, "group"))))
        yield from self._explicit(place, rest)

    def _last_space(self, text: str) -> str | None:
        spaces = [mention.name for mention in self._vocabulary.names(text) if mention.fact == "location"]
        return spaces[-1] if spaces else None

    def _explicit(self, place: Place, text: str) -> Iterator[Statement]:
        for _, day, _ in find_dates(text):
            yield Statement(place, "date", day)
        for mention in self._vocabulary.names(text):
            kind = "named" if mention.fact == "content" else mention.fact
            yield Statement(place, kind, mention.name)
        for match in self._titles.finditer(text):
            yield Statement(place, "entity", _lowered(match[0]))
        for match in _AFTER_THE.finditer(text):
            if phrases := self._phrases.get(match[1].lower()):
                following = text[match.start(1) :]
                if words := next((words for words in phrases if _begins(following, words.removeprefix("the "))), None):
                    yield Statement(place, "named", words)

    def _relation(self, sentence: str, frames: Mapping[str, Sequence[Frame]]) -> tuple[Relation, str] | None:
        """The relation to another chapter, and its words."""
        if match := _first_within(frames["ended"], sentence):
            return Relation(Anchor(span=_lowered(said(match, "span")))), match[0]
        told = []
        for part in frames.keys() & _RELATIONS:
            for match in _all_within(frames[part], sentence):
                if anchored := self._anchor(said(match, "anchor")):
                    begins, ends = place_of(match, "anchor")
                    words = match[0] if ends < match.end() else sentence[match.start() : begins + anchored[1]]
                    told.append((len(words), part, match, anchored[0], words))
        if not told:
            return None
        _, part, match, anchor, words = max(told, key=lambda one: one[:2])  # `a Monday less than eight days after`
        return _relation(part, match, anchor), words

    def _anchor(self, text: str) -> tuple[Anchor, int] | None:
        """The chapter that the beginning of a text names, and the length of the words that name it."""
        for match in _all_within((frame for _, frame in landmarks().fitting(text)), text):
            if match.start() == 0:
                return Anchor(group=_lowered(said(match, "group"))), match.end()
        content, space = _first(text, self._events), _first(text, self._spaces)
        if content is None or space is None:
            return None
        return Anchor(content=content, space=space), text.lower().index(space.lower()) + len(space)


def _relation(part: str, match: re.Match[str], anchor: Anchor) -> Relation:
    """The relation of a phrase of one of the parts."""
    if part == "same":
        return Relation(anchor, 0)
    if part == "month":
        weekday, month = WEEKDAYS.index(said(match, "weekday")), MONTHS.index(said(match, "month")) + 1
        return Relation(anchor, weekday=weekday, nth=NTH.index(said(match, "nth")) + 1, month=month)
    side = 1 if said(match, "side") == "after" else -1
    if part == "weekday":
        return Relation(anchor, weekday=WEEKDAYS.index(said(match, "weekday")), side=side)
    n = 1 if part == "day" else IN_LETTERS.index(said(match, "n").lower())
    return Relation(anchor, n * (7 if part == "weeks" else 1), side=side)


def _first(text: str, names: Mapping[str, str]) -> str | None:
    """The name that stands first in a text; of several at one position, the longest."""
    lowered = text.lower()
    matches = [(at, -len(name), name) for name in names if (at := lowered.find(name)) >= 0]
    return names[min(matches)[2]] if matches else None


def _begins(text: str, words: str) -> bool:
    return text.startswith(words) and not text[len(words) : len(words) + 1].isalnum()


_RELATIONS = frozenset(["month", "days", "weeks", "weekday", "same", "day"])
_KINDS = {"meeting": "met", "counterclaim": "location"}
"""The kinds of statement that sentences make whose part of the bank has another name."""


def _first_within(frames: Sequence[Frame], text: str) -> re.Match[str] | None:
    return next(_all_within(frames, text), None) if frames else None


def _all_within(frames: Iterable[Frame], text: str) -> Iterator[re.Match[str]]:
    return (match for frame in frames if (match := frame.regex.search(text)))


def _lowered(words: str) -> str:
    return words[0].lower() + words[1:]
