"""Reduce a raw text to its continuous narrative (Appendix B), and find the words at which its sentences begin (Section 4.1).

A raw text consists of blocks of lines, separated by blank lines. A block is a paragraph, a heading, a scene break or a
footnote. Captions of illustrations, run-in sub-headings, footnote markers and marks of italics are removed from blocks.
Anything that is not recognised stays: a rule works on whole lines or whole marks, never inside a word. Everything that is
removed is recorded.

Excerpts and segments start where sentences begin. The rule would rather miss a start than invent one: a segment that begins
inside a sentence would be a worse test. So it knows abbreviations and initials, unlike the simple splitters of MemFail, which
cut short texts and need no positions.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from epbench.errors import BadInput
from epbench.files.packaged import packaged

_START = re.compile(r"^\*\*\* ?START OF TH[EIS]+ PROJECT GUTENBERG EBOOK(?P<title>[^\n]*?)\*\*\*[ \t]*$", re.M | re.I)
_END = re.compile(r"^\*\*\* ?END OF TH[EIS]+ PROJECT GUTENBERG EBOOK[^\n]*\*\*\*[ \t]*$", re.M | re.I)
_ONE = "one|two|three|four|five|six|seven|eight|nine"
_TEEN = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_ORDINAL = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last"
_NUMBER = rf"(?:[ivxlc]+|\d+|{_ONE}|{_TEEN}|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ](?:{_ONE}))?|the (?:{_ORDINAL}))"
_KIND = r"(?:chapter|book|part|volume|section|canto|stave|letter|act|scene)"
_TITLE_WORD = r"(?:[A-ZÀ-ÖØ-Þ][\w’']*|of|the|and|a|an|in|to|with|for|on)"
GENERAL_HEADINGS = (
    rf"(?i:{_KIND} {_NUMBER})[.:]?(?:(?: ?[—–-] ?| ){_TITLE_WORD}){{0,12}}",
    r"(?i:prologue|epilogue|prelude|interlude|preface|foreword|afterword|introduction|conclusion|contents)\.?",
    r"(?:[IVXLC]+|\d{1,3})\.?",
    r"(?=.*[A-Z])[A-ZÀ-ÖØ-Þ\d ’'.,:;&()—–-]{2,80}",  # capitals only; with quotes or ! it would be a shout
    r"(?i:the end|finis)\.?",
)
"""Patterns of headings for books that have no rules of their own. A heading is a whole block of one or more lines."""

_DRAWING = re.compile(r"^[ \t]*\[Illustration:[ \t]*\n.*?^\][ \t]*$", re.M | re.S)  # may contain brackets
_BRACKETS = re.compile(r"\[(?:\w+ )?(?P<kind>Illustration|Footnote|Transcriber)\b(?:[^][]|\[[^][]*\])*\]")
_FOOTNOTE = re.compile(r"\[(?:\d+|\*+|†+)\]\s")
_MARKER = re.compile(r"\[(?:\d+|\*+|†+)\]")
_BREAK = re.compile(r"[*·•─—–=~#.+\-_\s]+")
_ITALICS = re.compile(r"(?<!_)_([^_]+)_(?!_)")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Dr|Prof|St)\.$")
_LOOSE_ITALIC = re.compile(r"(?<![\w_])_(?!_)|(?<!_)_(?![\w_])")


@dataclass(frozen=True)
class Rules:
    """What general rules cannot know about a book."""

    # First line of the narrative, headings included. If empty, the narrative begins after the licence.
    start: str = ""
    # First line after the narrative. If empty, the narrative ends before the second part of the licence.
    end: str = ""
    # Patterns of headings, which must match a whole block with single blanks.
    headings: Sequence[str] = GENERAL_HEADINGS
    sub_headings: Sequence[str] = ()  # headings at the beginning of a paragraph, in order
    labels: Sequence[str] = ()  # patterns of blocks that are labels of figures
    page_breaks: bool = False  # whether blank lines also mark the ends of pages, inside sentences


class Removed(NamedTuple):
    """A removed piece of text; `kind` is the word that the card uses for it."""

    kind: str
    text: str


def gutenberg_title(raw: str) -> str:
    """Return the title in the header or the START line of a Project Gutenberg text, or an empty string."""
    start = _START.search(raw)
    named = re.search(r"^Title: *(\S.*)$", raw[: start.start()], re.M) if start else None
    return (named[1] if named else start["title"] if start else "").strip()


def split_at_markers(raw: str) -> tuple[str, str, str]:
    """Split a text before, between and from the START and END lines of Project Gutenberg; without them the ends are empty."""
    start = match.end() if (match := _START.search(raw)) else 0
    end = match.start() if (match := _END.search(raw, start)) else len(raw)
    return raw[:start], raw[start:end], raw[end:]


def clean(raw: str, rules: Rules, where: str) -> tuple[list[str], list[Removed]]:
    """Return the narrative of a text, whose lines end in a line feed, as paragraphs with single blanks, and what was removed.

    BadInput if the first or last line of the narrative, or a sub-heading, is not where the rules say.
    """
    removed: list[Removed] = []
    text = _narrative(raw, rules, where, removed)
    text = _cut_sub_headings(text, rules.sub_headings, where, removed)
    text = _cut_brackets(text, removed)
    paragraphs: list[str] = []
    headings = re.compile("|".join(f"(?:{pattern})" for pattern in rules.headings))
    labels = re.compile("|".join(rules.labels) or r"(?!)")
    kinds = {"scene break": _BREAK.fullmatch, "footnote": _FOOTNOTE.match}
    kinds |= {"heading": headings.fullmatch, "illustration": labels.fullmatch}
    for block in _blocks(text):
        if kind := next((kind for kind, is_one in kinds.items() if is_one(block)), None):
            removed.append(Removed(kind, block))
        elif paragraph := _plain(block, removed):
            if paragraphs and _continues(paragraphs[-1], paragraph, page_breaks=rules.page_breaks):
                paragraphs[-1] += f" {paragraph}"
            else:
                paragraphs.append(paragraph)
    return paragraphs, removed


def _narrative(raw: str, rules: Rules, where: str, removed: list[Removed]) -> str:
    """Remove the licence, and what comes before the first and after the last line of the narrative."""
    before, text, after = split_at_markers(raw)
    removed.append(Removed("licence", before))
    if rules.start:
        front, text = _split_at(text, rules.start, where)
        removed.append(Removed("front matter", front))
    if rules.end:
        text, back = _split_at(text, rules.end, where)
        removed.append(Removed("back matter", back))
    removed.append(Removed("licence", after))
    removed[:] = [item for item in removed if item.text.strip()]
    return text


def _split_at(text: str, line: str, where: str) -> tuple[str, str]:
    match = re.search(rf"^[ \t]*{re.escape(line)}[ \t]*$", text, re.M)
    if not match:
        raise BadInput(f"{where}: expected the line {line!r}, got none; is it another edition of the book?")
    return text[: match.start()], text[match.start() :]


def _cut_sub_headings(text: str, headings: Sequence[str], where: str, removed: list[Removed]) -> str:
    pattern = re.compile(rf"^(?:{'|'.join(map(re.escape, headings)) or '(?!)'})(?=\s)", re.M)
    counts = Counter(pattern.findall(text))
    for heading in headings:
        if counts[heading] != 1:
            raise BadInput(f"{where}: expected the sub-heading {heading!r} once, got it {counts[heading]} times")
    removed.extend(Removed("sub-heading", heading) for heading in headings)
    return pattern.sub("\n", text)


def _cut_brackets(text: str, removed: list[Removed]) -> str:
    """Remove captions, drawings and notes in brackets, which may span several blocks."""

    def cut(found: re.Match[str]) -> str:
        kind = found.groupdict().get("kind", "Illustration")
        removed.append(Removed({"Transcriber": "transcriber's note"}.get(kind, kind.lower()), found[0]))
        return ""

    return _BRACKETS.sub(cut, _DRAWING.sub(cut, text))


def _blocks(text: str) -> list[str]:
    """Split a text into blocks with single blanks; one with very long lines was never broken into lines: each is a block."""
    unwrapped = max(map(len, text.splitlines()), default=0) > 200
    blocks = text.splitlines() if unwrapped else re.split(r"\n\s*\n", text)
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _plain(block: str, removed: list[Removed]) -> str:
    """Remove footnote markers and marks of italics from a paragraph; the words in italics stay."""
    removed.extend(Removed("footnote marker", marker) for marker in _MARKER.findall(block))
    plain = _LOOSE_ITALIC.sub("", _ITALICS.sub(r"\1", _MARKER.sub("", block)))
    return " ".join(plain.split())


def _continues(paragraph: str, following: str, *, page_breaks: bool) -> bool:
    """Return whether a page or an illustration, not a paragraph, ends at the blank line between the two."""
    ended = paragraph.rstrip("”’\"')]»")[-1:] in set(".?!…:—–") and not _TITLE.search(paragraph)
    return not ended and (page_breaks or following[0].islower())


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
