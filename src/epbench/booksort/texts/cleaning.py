"""From a raw text to its continuous narrative, with a record of everything that was taken out (Appendix B).

A raw text is blocks of lines between blank lines. A block is a paragraph, a heading, a scene break or a footnote;
captions of illustrations, run-in sub-headings, footnote markers and italics are taken out of blocks. Whatever is not
recognised stays: a rule works on whole lines or whole marks, never inside a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from epbench.errors import BadInput

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
    r"(?=.*[A-Z])[A-ZÀ-ÖØ-Þ\d ’'.,:;&()—–-]{2,80}",  # capitals only; in quotes or with ! it is a cry
    r"(?i:the end|finis)\.?",
)
"""What a heading looks like where no table says it: a whole block, of one line or several."""

_DRAWING = re.compile(r"^[ \t]*\[Illustration:[ \t]*\n.*?^\][ \t]*$", re.M | re.S)  # may hold brackets of its own
_BRACKETS = re.compile(r"\[(?:\w+ )?(?P<kind>Illustration|Footnote|Transcriber)\b(?:[^][]|\[[^][]*\])*\]")
_FOOTNOTE = re.compile(r"\[(?:\d+|\*+|†+)\]\s")
_MARKER = re.compile(r"\[(?:\d+|\*+|†+)\]")
_BREAK = re.compile(r"[*·•─—–=~#.+\-_\s]+")
_ITALICS = re.compile(r"(?<!_)_([^_]+)_(?!_)")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Dr|Prof|St)\.$")
_LOOSE_ITALIC = re.compile(r"(?<![\w_])_(?!_)|(?<!_)_(?![\w_])")


@dataclass(frozen=True)
class Rules:
    """What must be told of a book because general rules cannot know it.

    Attributes:
        start: first line of the narrative, headings included; that after the licence if empty.
        end: first line after the narrative; that before the licence's second part if empty.
        headings: patterns of blocks that are headings, full match with blanks made one.
        sub_headings: headings that stand at the beginning of a paragraph, in order.
        labels: patterns of blocks that are labels of figures.
        page_breaks: blank lines also stand where a page ended, inside sentences.
    """

    start: str = ""
    end: str = ""
    headings: Sequence[str] = GENERAL_HEADINGS
    sub_headings: Sequence[str] = ()
    labels: Sequence[str] = ()
    page_breaks: bool = False


class Removed(NamedTuple):
    """Something that was taken out; `kind` is in the vocabulary of the card."""

    kind: str
    text: str


class Cleaned(NamedTuple):
    """The narrative as paragraphs (blanks made one), and what was taken out, in order."""

    paragraphs: list[str]
    removed: list[Removed]


def gutenberg_title(raw: str) -> str:
    """Title by the header or the START line of a Project Gutenberg text; empty if there is none."""
    start = _START.search(raw)
    named = re.search(r"^Title: *(\S.*)$", raw[: start.start()], re.M) if start else None
    return (named[1] if named else start["title"] if start else "").strip()


def split_at_markers(raw: str) -> tuple[str, str, str]:
    """A text up to the START line of Project Gutenberg, between the lines, and from the END line on; empty without."""
    start = found.end() if (found := _START.search(raw)) else 0
    end = found.start() if (found := _END.search(raw, start)) else len(raw)
    return raw[:start], raw[start:end], raw[end:]


def clean(raw: str, rules: Rules, where: str) -> Cleaned:
    """The narrative of a text.

    Args:
        raw: the file's text, lines ended by a line feed.
        rules: what is known of the book.
        where: file, for errors.

    Raises:
        BadInput: the first or last line of the narrative, or a sub-heading, is not where the rules say.
    """
    removed: list[Removed] = []
    text = _narrative(raw, rules, where, removed)
    text = _cut_sub_headings(text, rules.sub_headings, where, removed)
    text = _cut_brackets(text, removed)
    paragraphs: list[str] = []
    headings = re.compile("|".join(f"(?:{pattern})" for pattern in rules.headings))
    labels = re.compile("|".join(rules.labels) or r"(?!)")
    for block in _blocks(text):
        if _BREAK.fullmatch(block):
            removed.append(Removed("scene break", block))
        elif _FOOTNOTE.match(block):
            removed.append(Removed("footnote", block))
        elif headings.fullmatch(block):
            removed.append(Removed("heading", block))
        elif labels.fullmatch(block):
            removed.append(Removed("illustration", block))
        elif paragraph := _plain(block, removed):
            if paragraphs and _goes_on(paragraphs[-1], paragraph, page_breaks=rules.page_breaks):
                paragraphs[-1] += f" {paragraph}"
            else:
                paragraphs.append(paragraph)
    return Cleaned(paragraphs, removed)


def _narrative(raw: str, rules: Rules, where: str, removed: list[Removed]) -> str:
    """The part between the licence, and between the first and last line of the narrative."""
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
    found = re.search(rf"^[ \t]*{re.escape(line)}[ \t]*$", text, re.M)
    if not found:
        raise BadInput(f"{where}: the line {line!r} is expected and is not there; is it another edition of the book?")
    return text[: found.start()], text[found.start() :]


def _cut_sub_headings(text: str, headings: Sequence[str], where: str, removed: list[Removed]) -> str:
    pattern = re.compile(rf"^(?:{'|'.join(map(re.escape, headings)) or '(?!)'})(?=\s)", re.M)
    found = Counter(pattern.findall(text))
    for heading in headings:
        if found[heading] != 1:
            raise BadInput(
                f"{where}: the sub-heading {heading!r} stands there {found[heading]} times, once is expected"
            )
    removed.extend(Removed("sub-heading", heading) for heading in headings)
    return pattern.sub("\n", text)


def _cut_brackets(text: str, removed: list[Removed]) -> str:
    """Captions, drawings and notes in brackets, which may go over several blocks."""

    def cut(found: re.Match[str]) -> str:
        kind = found.groupdict().get("kind", "Illustration")
        removed.append(Removed({"Transcriber": "transcriber's note"}.get(kind, kind.lower()), found[0]))
        return ""

    return _BRACKETS.sub(cut, _DRAWING.sub(cut, text))


def _blocks(text: str) -> list[str]:
    """Blocks with blanks made one. A line that long is a paragraph itself: such a text was never broken into lines."""
    unwrapped = max(map(len, text.splitlines()), default=0) > 200
    blocks = text.splitlines() if unwrapped else re.split(r"\n\s*\n", text)
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _plain(block: str, removed: list[Removed]) -> str:
    """A paragraph without footnote markers and marks of italics; the words in italics stay."""
    if "[" in block:
        removed.extend(Removed("footnote marker", marker) for marker in _MARKER.findall(block))
        block = _MARKER.sub("", block)
    if "_" in block:
        block = _LOOSE_ITALIC.sub("", _ITALICS.sub(r"\1", block))
    return " ".join(block.split())


def _goes_on(paragraph: str, following: str, *, page_breaks: bool) -> bool:
    """Is the blank line between them the end of a page or the place of a picture, not of a paragraph?"""
    ended = paragraph.rstrip("”’\"')]»")[-1:] in set(".?!…:—–") and not _TITLE.search(paragraph)
    return not ended and (page_breaks or following[0].islower())
