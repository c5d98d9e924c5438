"""Read the chosen letter off the answer to a multiple choice, by rules, without a judge (paper: Appendix D.3.4).

Ways in which a choice is told, the surest first; of several told in one way the last counts, since models think aloud
and decide at the end. A letter that is a word of a sentence (the article in `A calm mind`) chooses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from epbench.models.json_replies import objects_in

LETTERS = "ABCDEFGHIJ"
KEYS = ("selected_choice", "answer", "choice")

_OPEN, _CLOSE = r"[\s*_`\"'“‘(\[]*", r"[*_`\"'”’)\]]*"
_TELLS = re.compile(
    r"\b(?:(?:answer|choice|option|letter)s?(?:\s+is)?|choose|chose|pick|select(?:ed)?|go(?:ing)? with|it is|it['’]s|"
    rf"correct one is)\s*[:=\-–—]?{_OPEN}([A-Za-z])\b(?!['’]\w)",
    re.IGNORECASE,
)
_ANSWER_LINE = re.compile(r"\banswer(?:\s+is)?\b\W*(.+)$", re.IGNORECASE | re.MULTILINE)
_BRACKETED = re.compile(r"(?:\(([A-Z])\)|\*\*\(?([A-Z])[.)]?\)?\*\*|\[([A-Z])\])")
_LINE = re.compile(rf"^{_OPEN}([A-Z])(?:{_CLOSE}\s*$|{_CLOSE}[.):]{_CLOSE}(?:\s+(.*))?$)", re.MULTILINE)


def letter_of(answer: str, choices: Sequence[str]) -> str | None:
    """The letter that an answer chooses.

    Args:
        answer: of the reader.
        choices: the options' texts, from A on; at most ten.

    Returns:
        `A`, `B`, …, or None where the answer makes no clear choice, which is a wrong answer and no failure.
    """
    for way in (_in_objects, _told, _bracketed, _on_lines, _last_line):
        found = list(way(answer, choices))
        if found:
            return found[-1]
    return None


def _in_objects(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """JSON objects: the whole answer, fenced, or within a text."""
    for content in objects_in(answer):
        values = {str(key).lower(): value for key, value in content.items()}
        value = next((values[key] for key in KEYS if isinstance(values.get(key), str)), "")
        letter = _value(value, choices)
        if letter:
            yield letter


def _told(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """`Answer: C`, `I choose (C)`, `Answer: water the plants`."""
    for match in _TELLS.finditer(answer):
        rest = answer[match.end(1) :].split("\n")[0]
        letter = _letter(match[1].upper(), choices)
        if letter and not _is_word(match[1], rest, choices[LETTERS.index(letter)]):
            yield letter
    for match in _ANSWER_LINE.finditer(answer):
        letter = _value(match[1], choices)
        if letter:
            yield letter


def _bracketed(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """`(C)` or `**C**`, unless all options are listed so."""
    found = [_letter(next(filter(None, match.groups())), choices) for match in _BRACKETED.finditer(answer)]
    yield from _unless_a_list(found, choices)


def _on_lines(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """Lines such as `C`, `C.`, `C) water the plants`, unless the options are repeated so."""
    yield from _unless_a_list([_letter(match[1], choices) for match in _LINE.finditer(answer)], choices)


def _last_line(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """The option's own text as the last line."""
    said = _plain(answer.strip().rpartition("\n")[2])
    yield from (letter for letter, choice in zip(LETTERS, choices, strict=False) if said == _plain(choice))


def _unless_a_list(letters: Sequence[str | None], choices: Sequence[str]) -> Iterator[str]:
    """The letters that choose: what comes after a copy of all options, or everything where there is no copy."""
    copied = set(letters[: len(choices)]) == set(LETTERS[: len(choices)])
    yield from filter(None, letters[len(choices) if copied else 0 :])


def _value(value: str, choices: Sequence[str]) -> str | None:
    """A letter alone, with its option's text, or that text alone."""
    said = _plain(value)
    for letter, choice in zip(LETTERS, choices, strict=False):
        if said in (letter.lower(), _plain(choice), _plain(f"{letter} {choice}")):
            return letter
    return None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _letter(letter: str, choices: Sequence[str]) -> str | None:
    return letter if letter in LETTERS[: len(choices)] else None


def _is_word(letter: str, rest: str, choice: str) -> bool:
    """Whether a letter goes on as a sentence: the article A, the pronoun I, or any small letter that is no choice."""
    if not re.match(r"\s+\w", rest) or _plain(rest) == _plain(choice):
        return False
    return letter not in "BCDEFGHJ" and not re.match(r"\s+(?:because|since|as)\b", rest)
