"""Regular expressions for everything that a sentence or a phrase with slots can become."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Generic, TypeVar

from epbench.tulving.events.dates import MONTHS, WEEKDAYS
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.banks import (
    CONTRASTS,
    NTH,
    NUMBER_IN_LETTERS,
    asides_name,
    patterns_of,
    references_bank,
    sentences_in,
)
from epbench.tulving.scenes.patterns import Part, Pattern, Sentence
from epbench.tulving.scenes.scene_files import TONES

_NAME = r"[A-Z][\w’'-]*"
_WORD = re.compile(r"[a-z]+")


@cache
def role() -> str:
    """Return what kinship and offices look like: `baker's godchild`, `treasurer`."""
    bank = references_bank()
    kin = rf"(?:{'|'.join(bank['trades'])})['’]s (?:{'|'.join(bank['kin'])})"
    return rf"(?:{kin}|{'|'.join(bank['offices'])})"


@cache
def _slots() -> Mapping[str, str]:
    """What may stand in each slot."""
    roles = role()
    makers = "|".join(sorted({words.split()[1] for words in references_bank()["groups"] if " " in words}))
    features = "|".join(sorted(references_bank()["features"], key=len, reverse=True))
    heroes = "|".join(references_bank()["heroes"])
    person = rf"(?:[Tt]he (?:{roles}|{heroes})|(?:[Tt]he )?{_NAME})"
    group = rf"[Tt]he {_NAME} {_NAME} [a-z-]+(?: (?:{makers}))?"
    title = rf"[Tt]he (?:{_NAME}|{roles} of {_NAME}) {_NAME}"
    return {
        "hero": person,
        "who": rf"(?:{person}|[Ss]he|[Hh]e)",
        "him": "(?:her|him)",
        "his": "(?:her|his)",
        "himself": "(?:herself|himself)",
        "entity": rf"(?:{title}|{_NAME} {_NAME})",
        "title": title,
        "group": group,
        "span": rf"[Tt]he {_NAME} {_NAME} [a-z]+",
        "date": r"[\w,-]+(?: [\w,-]+){0,6}?",
        "space": r"(?:[A-Z0-9][\w.,’' -]*?|[Tt]he (?:very )?(?:place|spot|site|scene) .+?)",
        "content": r"[A-Z0-9][\w’' -]*?",
        "phrase": r"[Tt]he [\w’', -]+?",
        "meaning": r"\w[\w’', -]*?",
        **dict.fromkeys(("feature", "first", "second"), rf"(?i:{features})"),
        "n": rf"\b(?i:{NUMBER_IN_LETTERS})",
        "nth": "|".join(NTH),
        "month": "|".join(MONTHS),
        "side": "after|before",
        "weekday": "|".join(WEEKDAYS),
        "anchor": ".+",
        "words": r"(?i:at|in|on|aboard|near) .+?",
        "object": r"[Tt]he [a-z -]+? with(?: a| two) [a-z -]+?",
        "witness": _NAME,
        "trusted": _NAME,
        "doubted": _NAME,
        **dict.fromkeys((*CONTRASTS.values(), "instead"), ".+?"),
        # `the person who had met the Marrow Lane florists`, in full, for the words around it may also be `had` or `by`
        **dict.fromkeys(("name", "other"), rf"(?:[Tt]he [a-z ]+ {group}|.+?)"),
    }


class Frame:
    """A sentence or phrase of a bank, as it is found in a text."""

    def __init__(self, pattern: Sentence) -> None:
        """Note what the pattern needs; it is compiled once a text may have it."""
        self._pattern = pattern.pattern
        self.needs = list(_needs(self._pattern))
        """Sets of words in small letters, of each of which a text of the pattern has at least one."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """What a text is, or has in it, that can become of the sentence or phrase."""
        return re.compile(_expression(self._pattern, Counter()))


def _needs(parsed: Pattern) -> Iterator[frozenset[str]]:
    """The words of each literal, one by one, and for each choice the longest words of its alternatives."""
    for at, part in enumerate(parsed):
        if isinstance(part, str):
            yield from map(frozenset, zip(_whole_words(part, at > 0, at < len(parsed) - 1)))
        elif part[0] != "slot":
            before = at > 0 and not _ends_word(parsed[at - 1], -1)
            after = at < len(parsed) - 1 and not _ends_word(parsed[at + 1], 0)
            words = [_whole_words(choice[0], before, after) if len(choice) == 1 else [] for choice in part]
            if all(words):
                yield frozenset(max(one, key=len) for one in words)


def _ends_word(part: Part, at: int) -> bool:
    return isinstance(part, str) and not part[at].isalpha()


def _whole_words(part: Part, before: bool, after: bool) -> list[str]:
    """The words of a literal without `a` and `an`, and without those that what stands before or after could make longer."""
    text = f"{'_' * before}{part if isinstance(part, str) else ''}{'_' * after}".lower()
    return [word for word in re.findall(r"(?<!\w)[a-z]+(?!\w)", text) if word not in ("a", "an")]


Label = TypeVar("Label")
_ANY = frozenset([""])
"""What every text has among its words."""


class Frames(Generic[Label]):
    """Frames by their two rarest words, so that few of them are tried on a text."""

    def __init__(self, frames: Iterable[tuple[Label, Frame]]) -> None:
        """Sort the frames; each has a label."""
        listed = list(frames)
        n = Counter(word for _, frame in listed for words in frame.needs for word in words)
        self._by_word: dict[str, list[tuple[int, Label, Frame, frozenset[str]]]] = defaultdict(list)
        for order, (label, frame) in enumerate(listed):
            needs = sorted(frame.needs, key=lambda words: sum(n[word] for word in words))
            rarest, next_one = (*needs, _ANY, _ANY)[:2]
            for word in rarest:
                self._by_word[word].append((order, label, frame, next_one))
        self._words = frozenset(self._by_word)

    def fitting(self, text: str) -> Iterator[tuple[Label, Frame]]:
        """Yield the frames that a text may have, in their order."""
        words = {"", *_WORD.findall(text.lower())}
        rare = words & self._words
        found = {entry[0]: entry for word in rare for entry in self._by_word[word] if not entry[3].isdisjoint(words)}
        for order in sorted(found):
            yield found[order][1:3]


def said(match: re.Match[str], slot: str) -> str:
    """Return the words in a slot, which may stand in several choices."""
    return match[_group(match, slot)]


def place_of(match: re.Match[str], slot: str) -> tuple[int, int]:
    """Return where the words in a slot begin and end."""
    return match.span(_group(match, slot))


def _group(match: re.Match[str], slot: str) -> str:
    return next(group for group, words in match.groupdict().items() if words and group.partition("__")[0] == slot)


def _expression(pattern: Pattern, named: Counter[str]) -> str:
    parts = []
    for before, part in zip(((), *pattern), pattern, strict=False):
        if isinstance(part, str):
            literal = re.sub(r"\\ +", " ", re.escape(part))
            literal = re.sub(r"\b([Aa])(?= |$)", r"\1n?", literal)
            if not isinstance(before, str) and () in before and literal.startswith(" "):  # one goes of two
                literal = f" ?{literal[1:]}"
            parts.append(f"(?i:{literal})" if literal.strip() else literal)
        elif part[0] == "slot":
            slot = part[1]
            assert isinstance(slot, str)
            parts.append(f"(?P<{slot}__{named[slot]}>{_slots()[slot]})")
            named[slot] += 1
        else:
            parts.append("(?:" + "|".join(_expression(choice, named) for choice in part) + ")")  # type: ignore[arg-type]
    return "".join(parts)


DENIALS = ("not_title", "not_gloss", "not_meeting", "not_acquainted", "not_span", "not_feature")
"""The parts of the bank whose sentences say what is not so, and nothing else."""
OF_THEIR_OWN = (
    "title", "office", "feature", "meeting", "span", "lost", "found", "barred", "rule", "counterclaim", "retelling", "correction",
    "withdrawal", "gloss", *DENIALS,
)  # fmt: skip
"""The parts of the bank whose sentences say one thing and nothing else."""


PHRASES = ("claim", "where", "described", "acquainted", "ended", "month", "days", "weeks", "weekday", "same", "day")
"""The parts of the bank whose phrases tell a fact."""


def frames_of(universe: Universe) -> Frames[tuple[str, str]]:
    """Return what the sentences of the banks, and the phrases within sentences, look like in the books of a universe.

    The label is `whole` and `aside`, or the part of the bank, or the slot of what is so in a sentence that also tells what is
    not; or `within` and the part of a phrase.
    """
    return _frames_of(asides_name(universe), TONES[universe.kind])


@cache
def _frames_of(asides: str, tone: str) -> Frames[tuple[str, str]]:
    contrasts = sentences_in(f"contrasts_{tone}")
    sentences = [
        *(("aside", Frame(sentence)) for bank in sentences_in(asides).values() for sentence in bank),
        *((part, frame) for part in OF_THEIR_OWN for frame in _of_part(part)),
        *(
            (slot, Frame(sentence))
            for part, slot in CONTRASTS.items()
            if part != "name"
            for sentence in contrasts[part]
        ),
        *(("name", Frame(Sentence(sentence.text.replace("{instead}", "{other}")))) for sentence in contrasts["name"]),
    ]
    phrases = [(part, frame) for part in PHRASES for frame in _of_part(part)]
    return Frames(
        ((how, label), frame) for how, frames in (("whole", sentences), ("within", phrases)) for label, frame in frames
    )


@cache
def _of_part(part: str) -> list[Frame]:
    return [Frame(pattern) for pattern in patterns_of(part)]


@cache
def described_places() -> Frames[str]:
    """Return what phrases look like that name a location by who was met there."""
    return Frames(("place", frame) for frame in _of_part("place"))


@cache
def landmarks() -> Frames[str]:
    """Return what phrases look like that name another chapter by who was met in it."""
    return Frames(("landmark", frame) for frame in _of_part("landmark"))
