"""Find the words at which sentences begin, because excerpts and segments start there (Section 4.1).

The rule would rather miss a start than invent one: a segment that begins inside a sentence would be a worse test. So it
knows abbreviations and initials, unlike the simple splitters of MemFail, which cut short texts and need no positions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

from epbench.files.packaged import packaged

_LISTS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(packaged("epbench.booksort", "sentences.toml").read_text("utf-8")).items()
}
_OPENING = "“‘\"'«([{—–-―¿¡*_"
_CLOSING = "”’\"'»)]}*_"
_ENDS = ".?!…"
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+(?:[^\W\d_]\.?)?")  # J. J.R. a.m. i.e.
_ROMAN = re.compile(r"[ivxlc]+", re.I)


def sentence_starts(paragraphs: Sequence[str]) -> list[int]:
    """Return the indices of the words that begin a sentence, in ascending order, counted over all paragraphs.

    A sentence ends at `.` `?` `!` or `…`, with any closing quotes and brackets, if the next word can begin a sentence: it
    has a letter or digit and is not in lower case. The full stop of an abbreviation, initial, decimal or numbered section
    does not end a sentence, nor does a semicolon. A quoted question does not end the sentence that continues with its
    speaker. A paragraph begins a sentence unless it starts in lower case.
    """
    starts: list[int] = []
    first = 0
    for paragraph in paragraphs:
        words = paragraph.split()
        starts.extend(first + i for i in _starts_in(words))
        first += len(words)
    return starts


def _starts_in(words: Sequence[str]) -> list[int]:
    starts = []
    ended = True  # whether the previous sentence has ended
    for i, word in enumerate(words):
        if ended and any(map(str.isalnum, word)):
            if not word.lstrip(_OPENING + _ENDS)[:1].islower():
                starts.append(i)
            ended = False
        core = word.rstrip(_CLOSING)
        if core and core[-1] in _ENDS and not (core[-1] == "." and _shortened(core, words, i, starts[-1:] == [i])):
            ended = not _speaker_follows(core, word, words, i)
    return starts


def _shortened(core: str, words: Sequence[str], i: int, begins: bool) -> bool:
    """Whether the full stop of word i, without closing quotes `core`, is of an abbreviation, an initial or a number."""
    stem = core.lstrip(_OPENING)
    bare = stem[:-1].lower()
    following = words[i + 1].strip(_OPENING + _CLOSING + _ENDS + ",;:") if i + 1 < len(words) else ""
    if bare in _LISTS["titles"]:
        return True
    if bare in _LISTS["before_numbers"]:
        return following[:1].isdigit() or (following != "I" and bool(_ROMAN.fullmatch(following)))
    if bare.isdigit() or (len(bare) > 1 and _ROMAN.fullmatch(bare)):
        return begins and len(bare) < 4  # "2. The law", but not "It was 2. The"
    if stem == "I.":  # the pronoun, unless there is another initial next to it
        beside = [words[j] for j in (i - 1, i + 1) if 0 <= j < len(words)]
        return any(_INITIALS.fullmatch(word.strip(_OPENING)) for word in beside)
    return bool(_INITIALS.fullmatch(stem))


def _speaker_follows(core: str, word: str, words: Sequence[str], i: int) -> bool:
    """Whether a speaker, one to three capitalised words and a verb, follows a quoted question: “What?” Miss Russell asked."""
    if core[-1] == "." or len(word) == len(core):
        return False
    for name in range(1, 4):
        if i + name + 1 >= len(words) or not words[i + name][:1].isupper():
            return False
        if words[i + name + 1].rstrip(".,;:!?—-").lower() in _LISTS["speaking"]:
            return True
    return False
