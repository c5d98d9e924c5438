"""Read the chosen letter in the answer to a multiple choice, by rules, without a judge (paper: Appendix D.3.4).

The readings are tried from the most to the least certain one. Of several choices found by one reading the last counts,
since models think aloud and decide at the end. A letter that is a word of a sentence (the article in `A calm mind`) is
not a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from epbench.models.json_replies import objects_in

LETTERS = "ABCDEFGHIJ"
KEYS = ("selected_choice", "answer", "choice")

_OPEN, _CLOSE = r"[\s*_`\"'“‘(\[]*", r"[*_`\"'”’)\]]*"
_SAYS = re.compile(
    r"\b(?:(?:answer|choice|option|letter)s?(?:\s+is)?|choose|chose|pick|select(?:ed)?|go(?:ing)? with|it is|it['’]s|"
    rf"correct one is)\s*[:=\-–—]?{_OPEN}([A-Za-z])\b(?!['’]\w)",
    re.IGNORECASE,
)
_ANSWER_LINE = re.compile(r"\banswer(?:\s+is)?\b\W*(.+)$", re.IGNORECASE | re.MULTILINE)
_BRACKETED = re.compile(r"(?:\(([A-Z])\)|\*\*\(?([A-Z])[.)]?\)?\*\*|\[([A-Z])\])")
_LINE = re.compile(rf"^{_OPEN}([A-Z])(?:{_CLOSE}\s*$|{_CLOSE}[.):]{_CLOSE}(?:\s+(.*))?$)", re.MULTILINE)


def letter_of(answer: str, choices: Sequence[str]) -> str | None:
    """Return the letter that an answer chooses among at most ten options, from A on.

    None if the answer makes no clear choice, which is a wrong answer and not a failure.
    """
    for reading in (_in_objects, _in_words, _bracketed, _on_lines, _last_line):
        if letters := list(reading(answer, choices)):
            return letters[-1]
    return None


def _in_objects(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """JSON objects: as the whole answer, in a code fence, or within a text."""
    for content in objects_in(answer):
        values = {str(key).lower(): value for key, value in content.items()}
        value = next((values[key] for key in KEYS if isinstance(values.get(key), str)), "")
        if letter := _value(value, choices):
            yield letter


def _in_words(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """`Answer: C`, `I choose (C)`, `Answer: water the plants`."""
    for match in _SAYS.finditer(answer):
        rest = answer[match.end(1) :].split("\n")[0]
        letter = _letter(match[1].upper(), choices)
        if letter and not _is_word(match[1], rest, choices[LETTERS.index(letter)]):
            yield letter
    yield from filter(None, (_value(match[1], choices) for match in _ANSWER_LINE.finditer(answer)))


def _bracketed(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """`(C)` or `**C**`, unless all options are listed like this."""
    letters = [_letter(next(filter(None, match.groups())), choices) for match in _BRACKETED.finditer(answer)]
    yield from _unless_a_list(letters, choices)


def _on_lines(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """Lines such as `C`, `C.`, `C) water the plants`, unless all options are listed like this."""
    yield from _unless_a_list([_letter(match[1], choices) for match in _LINE.finditer(answer)], choices)


def _last_line(answer: str, choices: Sequence[str]) -> Iterator[str]:
    """The option's own text as the last line."""
    last_line = _plain(answer.strip().rpartition("\n")[2])
    yield from (letter for letter, choice in zip(LETTERS, choices, strict=False) if last_line == _plain(choice))


def _unless_a_list(letters: Sequence[str | None], choices: Sequence[str]) -> Iterator[str]:
    """The letters that are choices: those after a copy of all options, or all where there is no copy."""
    copied = set(letters[: len(choices)]) == set(LETTERS[: len(choices)])
    yield from filter(None, letters[len(choices) if copied else 0 :])


def _value(value: str, choices: Sequence[str]) -> str | None:
    """The letter of a value that is a letter, an option's text, or both."""
    plain = _plain(value)
    for letter, choice in zip(LETTERS, choices, strict=False):
        if plain in (letter.lower(), _plain(choice), _plain(f"{letter} {choice}")):
            return letter
    return None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _letter(letter: str, choices: Sequence[str]) -> str | None:
    return letter if letter in LETTERS[: len(choices)] else None


def _is_word(letter: str, rest: str, choice: str) -> bool:
    """Whether a letter is a word of a sentence: the article A, the pronoun I, or any small letter that is not a choice."""
    if not re.match(r"\s+\w", rest) or _plain(rest) == _plain(choice):
        return False
    return letter not in "BCDEFGHJ" and not re.match(r"\s+(?:because|since|as)\b", rest)
