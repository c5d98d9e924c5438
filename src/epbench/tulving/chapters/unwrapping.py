"""Remove what a model puts around a chapter: fences, a title, a preface, a closing remark.

The prompt asks for numbered paragraphs, `(1) …` to `(n) …`, and nothing else, but many models add something before the
first or after the last of them. Only whole lines outside the numbered paragraphs are removed, and only if everything on
that side is recognised. Anything else stays, for the exact checks to find.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST_TITLE = 12  # words

_NUMBERED = re.compile(r"\s*\(\d+\)")
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*")
_RULE = re.compile(r"\s*(?:[-*_=~]\s*){3,}")
_MARKED_TITLE = re.compile(
    r"\s*(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|\*[^*]+\*|(?:title|chapter|heading)\s*:.*|chapter\s+[\divxlc]+\b.*)\s*",
    re.IGNORECASE,
)
_SENTENCE_END = (".", "!", "?", "…", ":", ";", ",", '"', "”", "'", "’")
_MARKUP = r"[\s*_>#(\[-]*"  # no quotation mark, because direct speech belongs to the chapter
_PREFACE = re.compile(
    _MARKUP
    + r"(?:(?:sure(?: thing)?|certainly|of course|absolutely|ok|okay|alright|all right|great|understood|gladly|yes)\s*[,.!:–—-]|"
    r"here(?:['’]s| is| are| you go| it is)\b|below is\b|the following is\b|as (?:you )?(?:requested|instructed|asked)\b|"
    r"happy to\b|i(?:['’]ll| will|['’]ve| have)\b|(?:the )?(?:revised |rewritten |new )?chapter\W*$)",
    re.IGNORECASE,
)
_REMARK = re.compile(
    _MARKUP + r"(?:(?:please )?let me know\b|i hope (?:this|you|that|it)\b|i(?:['’]ve| have) \w+|feel free\b|"
    r"(?:if you(?:['’]d| would)|would you) (?:like|prefer|want)\b|if you need\b|is there anything\b|note\W*:|"
    r"this chapter\b|(?:end of (?:the )?chapter|the end)\W*$|word count\b|\d+ words\b)",
    re.IGNORECASE,
)


def unwrapped(candidate: str) -> str:
    """Return the numbered paragraphs of a candidate without what surrounds them.

    Args:
        candidate: A text as the model wrote it.

    Returns:
        The part of the text from its first to its last numbered line, unchanged. A side with anything but a wrapping
        stays as it is, and so does a text with only blank lines around the paragraphs, or without numbered lines.
    """
    lines = candidate.split("\n")
    numbered = [place for place, line in enumerate(lines) if _NUMBERED.match(line)]
    if not numbered:
        return candidate
    before, after = lines[: numbered[0]], lines[numbered[-1] + 1 :]
    if not any(line.strip() for line in before + after):
        return candidate
    fenced = _fences(before) and _fences(after)
    begin = numbered[0] if _is_front(before, bool(fenced)) else 0
    end = numbered[-1] + 1 if _is_back(after, bool(fenced)) else len(lines)
    return "\n".join(lines[begin:end])


def _fences(lines: Sequence[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if _FENCE.fullmatch(line)]


def _is_front(lines: Sequence[str], fenced: bool) -> bool:
    """Whether all lines before the first paragraph, or all inside its fence, are fences, titles and prefaces."""
    if fenced:
        lines = lines[_fences(lines)[-1] + 1 :]
    return all(
        not line.strip()
        or _FENCE.fullmatch(line)
        or _RULE.fullmatch(line)
        or _MARKED_TITLE.fullmatch(line)
        or _PREFACE.match(line)
        or _is_plain_title(line)
        for line in lines
    )


def _is_plain_title(line: str) -> bool:
    """Whether a line is short and does not end like a sentence."""
    return len(line.split()) <= LONGEST_TITLE and not line.rstrip().endswith(_SENTENCE_END)


def _is_back(lines: Sequence[str], fenced: bool) -> bool:
    """Whether the lines after the last paragraph are rules and fences, followed by a remark of any length."""
    if fenced:
        lines = lines[: _fences(lines)[0]]
    for line in lines:
        if _REMARK.match(line):
            return True
        if line.strip() and not _FENCE.fullmatch(line) and not _RULE.fullmatch(line):
            return False
    return True
