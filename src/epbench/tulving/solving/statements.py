"""What each paragraph of a book says on date, location, main character and kind of event, directly or by reference.

Only the text is read, with the names of the universe (what a reader knows of the world) and the wording of references. What is
mentioned in passing is set aside first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from epbench.tulving.chapters.checks import Found, Vocabulary
from epbench.tulving.events.dates import WEEKDAYS, find_dates
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.plot import MENTIONS, asides_bank
from epbench.tulving.levels.references import IN_LETTERS, patterns_of
from epbench.tulving.scenes.patterns import Pattern, Sentence, parse
from epbench.tulving.scenes.scene_files import load_scenery, paraphrases

_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”])) (?=[\"“A-Z])")
_SIDE_CHARACTER = re.compile(r"\b(?!The )[A-Z][\w’'-]* [A-Z][\w’'-]* $")
_SAID = ("account", "witness", "notes", "writes", "says", "tells", "believe", "otherwise", "ccording")
_NICKNAME = re.compile(r"\b[Tt]he [A-Z][\w-]* [A-Z]\w*\b")

Place = tuple[int, int]
"""The numbers of a chapter and of a paragraph in it, from 1."""


class Anchor(NamedTuple):
    """How another chapter is named: by a group that is met in it, or by its kind of event and its location."""

    group: str | None
    content: str | None = None
    space: str | None = None


class Relation(NamedTuple):
    """A date by its distance from another chapter's.

    Attributes:
        anchor: The other chapter.
        days: How many days later it is; None with a weekday.
        weekday: The nearest such day, 0 for Monday, on one side of the other date; None with a number of days.
        side: 1 for after, -1 for before.
    """

    anchor: Anchor
    days: int | None
    weekday: int | None
    side: int


class Claim(NamedTuple):
    """What a witness says on the location of a chapter."""

    witness: str
    space: str


Kind = Literal[
    "date", "location", "entity", "content", "named", "nickname", "met", "rule", "correction", "lost", "found", "barred"
]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a paragraph says.

    Attributes:
        place: The chapter and the paragraph.
        kind: What it is about. `named` is a kind of event by its name (`content` may also follow from what is done),
            `nickname` gives a name to a person, and `met` says whom the main character met; `rule` names the witness to
            believe, `correction` gives another chapter its date, and `lost`, `found` and `barred` say what changed.
        value: The date, name, group or thing itself, a claim, a relation, an anchor, a pair of nickname and person, or a pair
            of anchor and date.
    """

    place: Place
    kind: Kind
    value: object


class Statements:
    """Reads paragraphs with the names of a universe."""

    def __init__(self, universe: Universe) -> None:
        self._vocabulary = Vocabulary(universe)
        self._contents = {content.lower(): content for content in universe.contents}
        self._spaces = {space.lower(): space for space in universe.spaces}
        self._details: dict[str, list[tuple[str, str]]] = {}
        kinds = Counter(universe.listed.values())
        for content in universe.contents:
            if kinds[universe.listed[content]] == 1:  # or what happens does not tell which of them it is
                for detail in universe.details[content]:
                    lowered = detail[0].lower() + detail[1:]
                    self._details.setdefault(lowered.split()[0], []).append((lowered, content))
        scenery = load_scenery(universe)
        called = [
            (words, content) for content in universe.contents for words in paraphrases(content, universe, scenery)
        ]
        times_used = Counter(words for words, _ in called)
        self._paraphrases: dict[str, list[tuple[str, str]]] = {}
        for words, content in called:
            if times_used[words] == 1:
                self._paraphrases.setdefault(words.split()[1], []).append((words, content))

    def of_book(self, chapters: Sequence[tuple[int, str]]) -> list[Statement]:
        """Return what the chapters of a book say, given their numbers and texts."""
        return [
            statement
            for number, text in chapters
            for at, paragraph in enumerate(text.split("\n\n"), 1)
            for statement in self.of_paragraph((number, at), paragraph)
        ]

    def of_paragraph(self, place: Place, text: str) -> Iterator[Statement]:
        """Yield what a paragraph says."""
        for sentence in _SENTENCE_END.split(text):
            yield from self._of_sentence(place, sentence)

    def _of_sentence(self, place: Place, sentence: str) -> Iterator[Statement]:
        mentions = list(self._vocabulary.mentions(sentence))
        if self._is_aside(sentence, mentions):
            return
        rest = sentence
        if " of " in rest and (met := _search("meeting", rest, whole=True)):
            yield Statement(place, "met", _lowered(said(met, "group")))
            return
        if "the " in rest.lower() and (nickname := _search("nickname", rest, whole=True)):
            yield Statement(place, "nickname", (_lowered(said(nickname, "nickname")), said(nickname, "entity")))
            return
        if (changed := self._outcome(place, rest)) is not None:
            yield changed
            return
        if "account" in rest or "telling" in rest or "believed" in rest or "remembers" in rest:
            for pattern in sentences("claim"):
                if (match := pattern.search(rest)) and (space := self._last_space(said(match, "where"))):
                    rest = rest.replace(match[0], "—")
                    yield Statement(place, "location", Claim(said(match, "witness"), space))
        for relation, words in self._relations(rest):
            rest = rest.replace(words, "—")
            yield Statement(place, "date", relation)
        if " of " in rest and (meeting := _search("where", rest)):
            rest = rest.replace(meeting[0], "—")
            yield Statement(place, "location", Anchor(_lowered(said(meeting, "group"))))
        yield from self._explicit(place, rest, mentions if rest == sentence else None)

    def _outcome(self, place: Place, sentence: str) -> Statement | None:
        """What a sentence of its own says on the state of things, on the witnesses, or on another chapter's date."""
        if " with " in sentence:
            for kind in ("lost", "found"):
                if match := _search(kind, sentence, whole=True):
                    return Statement(place, kind, _lowered(said(match, "object")))  # type: ignore[arg-type]
        if _search("barred", sentence, whole=True):
            return Statement(place, "barred", True)
        if any(word in sentence for word in _SAID):
            if match := _search("rule", sentence, whole=True):
                return Statement(place, "rule", said(match, "trusted"))
            if (match := _search("counterclaim", sentence, whole=True)) and (
                space := self._last_space(said(match, "space"))
            ):
                return Statement(place, "location", Claim(said(match, "witness"), space))
        if match := _search("correction", sentence, whole=True):
            anchor = self._anchor(said(match, "anchor"))
            days = [day for _, day, _ in find_dates(sentence)]
            if anchor and days:
                return Statement(place, "correction", (anchor[0], days[-1]))
        return None

    def _last_space(self, text: str) -> str | None:
        spaces = [mention.name for mention in self._vocabulary.mentions(text) if mention.fact == "location"]
        return spaces[-1] if spaces else None

    def _is_aside(self, sentence: str, mentions: Sequence[Found]) -> bool:
        mentioned = dict.fromkeys("space" if mention.fact == "location" else mention.fact for mention in mentions)
        return any(pattern.fullmatch(sentence) for kind in mentioned for pattern in asides()[kind])

    def _explicit(self, place: Place, text: str, mentions: Sequence[Found] | None) -> Iterator[Statement]:
        for _, day, _ in find_dates(text):
            yield Statement(place, "date", day)
        for mention in self._vocabulary.mentions(text) if mentions is None else mentions:
            if mention.fact == "content":
                yield Statement(place, "named", mention.name)
                yield Statement(place, "content", mention.name)
            elif mention.fact != "date":
                yield Statement(place, mention.fact, mention.name)  # type: ignore[arg-type]
        for match in _NICKNAME.finditer(text):
            yield Statement(place, "entity", _lowered(match[0]))
        for match in re.finditer(r"\b[Tt]he ([\w'-]+)", text):
            for words, content in self._paraphrases.get(match[1], ()):
                if text[match.start() :].lower().startswith(words.lower()):
                    yield Statement(place, "content", content)
        for match in re.finditer(r"\b[a-z][\w'-]*", text):
            for detail, content in self._details.get(match[0], ()):
                if text.startswith(detail, match.start()) and not _SIDE_CHARACTER.search(text[: match.start()]):
                    yield Statement(place, "content", content)

    def _relations(self, sentence: str) -> Iterator[tuple[Relation, str]]:
        if not any(word in sentence for word in (" after ", " before ", "same day")):
            return
        for part in ("days", "weeks", "weekday", "same", "day"):
            for pattern in sentences(part):
                match = pattern.search(sentence)
                if match is None or (anchored := self._anchor(said(match, "anchor"))) is None:
                    continue
                anchor, length = anchored
                side = 0 if part == "same" else 1 if said(match, "side") == "after" else -1
                days: int | None = 0 if part == "same" else 1 if part == "day" else None
                if part in ("days", "weeks"):
                    days = IN_LETTERS.index(said(match, "n").lower()) * (7 if part == "weeks" else 1)
                weekday = WEEKDAYS.index(said(match, "weekday")) if part == "weekday" else None
                words = sentence[match.start() : match.start("anchor__0") + length]
                yield Relation(anchor, days, weekday, side), words
                return

    def _anchor(self, text: str) -> tuple[Anchor, int] | None:
        """The chapter that the beginning of a text names, and the length of the words that name it."""
        for pattern in sentences("landmark"):
            if match := pattern.match(text):
                return Anchor(_lowered(said(match, "group"))), match.end()
        content, space = _first(text, self._contents), _first(text, self._spaces)
        if content is None or space is None:
            return None
        return Anchor(None, content, space), text.lower().index(space.lower()) + len(space)


def _first(text: str, names: dict[str, str]) -> str | None:
    """The name that stands first in a text; of several at one position, the longest."""
    lowered = text.lower()
    matches = [(at, -len(name), name) for name in names if (at := lowered.find(name)) >= 0]
    return names[min(matches)[2]] if matches else None


def _search(part: str, text: str, *, whole: bool = False) -> re.Match[str] | None:
    for pattern in sentences(part):
        if match := pattern.fullmatch(text) if whole else pattern.search(text):
            return match
    return None


def _lowered(words: str) -> str:
    return words[0].lower() + words[1:]


_NAME = r"[A-Z][\w’'-]*"
_PERSON = rf"(?:the |The )?{_NAME}"
_SLOTS: Mapping[str, str] = {
    "hero": _PERSON,
    "who": rf"(?:{_PERSON}|she|he|She|He)",
    "him": "(?:her|him)",
    "his": "(?:her|his)",
    "himself": "(?:herself|himself)",
    "entity": rf"{_NAME} {_NAME}",
    "nickname": rf"[Tt]he {_NAME} {_NAME}",
    "group": rf"[Tt]he [a-z -]+ of {_NAME} {_NAME}",
    "date": r"[\w,-]+(?: [\w,-]+){0,6}?",
    "space": r"[A-Z][\w.’' -]*?",
    "content": r"[A-Z][\w’' -]*?",
    "n": rf"\b(?i:{'|'.join(sorted(IN_LETTERS, key=len, reverse=True))})",
    "side": "after|before",
    "weekday": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "anchor": ".+",
    "where": r"(?i:at|in|on) .+?",
    "object": r"[Tt]he [a-z -]+? with(?: a| two) [a-z -]+?",
    "witness": _NAME,
    "trusted": _NAME,
    "doubted": _NAME,
}


def expression(sentence: Sentence) -> str:
    """Return a regular expression for everything that a pattern can become; `said` finds what stands in a slot."""
    return _expression(parse(sentence.text), Counter())


def said(match: re.Match[str], slot: str) -> str:
    """Return the words in a slot, which may stand in several choices."""
    return next(words for group, words in match.groupdict().items() if words and group.partition("__")[0] == slot)


def _expression(pattern: Pattern, named: Counter[str]) -> str:
    parts = []
    for part in pattern:
        if isinstance(part, str):
            literal = re.sub(r"\\ +", " ", re.escape(part))
            literal = re.sub(r"\b([Aa])(?= |$)", r"\1n?", literal)
            parts.append(f"(?i:{literal})" if literal.strip() else literal)
        elif part[0] == "slot":
            slot = part[1]
            assert isinstance(slot, str)
            parts.append(f"(?P<{slot}__{named[slot]}>{_SLOTS[slot]})")
            named[slot] += 1
        else:
            parts.append("(?:" + "|".join(_expression(choice, named) for choice in part) + ")")  # type: ignore[arg-type]
    return "".join(parts)


@cache
def asides() -> Mapping[str, Sequence[re.Pattern[str]]]:
    """Return what asides look like as whole sentences, by what they mention."""
    return {
        mention: [re.compile(expression(entry.sentence)) for entry in asides_bank()[mention]] for mention in MENTIONS
    }


@cache
def sentences(part: str) -> Sequence[re.Pattern[str]]:
    """Return what the sentences or phrases of a part of the bank of references look like."""
    return [re.compile(expression(pattern)) for pattern in patterns_of(part)]
