"""What an answer says, read by rules: the letter of a multiple choice, and the values of a question of `revision`.

A choice needs no judge (paper: Appendix D.3.4). The readings are tried from the most to the least certain one. Of several
choices found by one reading the last counts, since models think aloud and decide at the end. A letter that is a word of a
sentence (the article in `A calm mind`) is not a choice.

In `revision`, naming every value answers nothing. So an answer must name the value that is asked for, and may name the other
one only as what it is: as the former value, or as the one that came later. What was withdrawn may not be named at all, not even
to say that it was withdrawn. Values are literal, and no two of a row share a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from epbench.memfail.dataset.word_rules import abstains, content_of, sentences_of
from epbench.models.replies import objects_in

LETTERS = "ABCDEFGHIJ"
_KEYS = ("selected_choice", "answer", "choice")
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
        value = next((values[key] for key in _KEYS if isinstance(values.get(key), str)), "")
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


_NAMED = 0.5  # share of the words of a value that names it
_NOT = r"\b(?:not|never|no longer|rather than|instead of|n['’]t)\s+(?:\w+\s+){0,3}?"
# In a sentence that has both values, any word that tells them apart in time; in another, one that calls a value former.
_CHANGED = re.compile(
    r"\b(?:now|but|from|was|were|used to|previously|formerly|originally|initially|first|earlier|before|wrong|mistaken|"
    r"correct\w*|chang\w*|updat\w*|replac\w*|switch\w*|moved|until|old|former|then|later|since|any ?more)\b",
    re.IGNORECASE,
)
_FORMER = re.compile(
    r"\b(?:used to|previously|formerly|originally|initially|at first|first (?:said|told|mentioned)|(?:said|told \w+) first|"
    r"earlier|until|wrong(?:ly)?|mistaken(?:ly)?|old|former|outdated|any ?more|corrected|before (?:that|you|the))\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:later|then|now|afterwards|since|currently|today|corrected|correction|changed|updated|revised|replaced)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:forg[eo]t\w*|withdr[ae]wn?|disregard\w*|let go of|(?:no longer|not) (?:know|have|hold|keep|remember)|"
    r"(?:was|were|been|have|had) (?:deleted|removed|erased|dropped|struck))\b",
    re.IGNORECASE,
)


def names(value: str, text: str) -> bool:
    """Return whether a text names a value: with half of its words that carry meaning, in any form."""
    words = content_of(value)
    return len(words & content_of(text)) >= _NAMED * len(words)


def tells_present(truth: str, old: str, answer: str) -> bool:
    """Return whether an answer gives the present value, and the old one, if there is one, at most as a former one.

    >>> tells_present("Ghent", "Lyon", "She lives in Ghent, not Lyon."), tells_present("Ghent", "Lyon", "Lyon. Ghent.")
    (True, False)
    """
    return names(truth, answer) and not (old and tells_old(truth, old, answer))


def tells_old(truth: str, old: str, answer: str) -> bool:
    """Return whether an answer gives the old value as one that still holds.

    >>> tells_old("Ghent", "Lyon", "She lives in Lyon."), tells_old("Ghent", "Lyon", "It was Lyon, and is Ghent now.")
    (True, False)
    """
    return any(
        names(old, sentence)
        and not denied(old, sentence)
        and not (_CHANGED if names(truth, sentence) else _FORMER).search(sentence)
        for sentence in sentences_of(answer)
    )


def tells_first(truth: str, new: str, answer: str) -> bool:
    """Return whether an answer gives the value that was said first, and the new one at most as what came later.

    >>> tells_first("Lyon", "Ghent", "Lyon; later you said Ghent."), tells_first("Lyon", "Ghent", "Lyon or Ghent.")
    (True, False)
    """
    return names(truth, answer) and not any(
        names(new, sentence) and not denied(new, sentence) and not _LATER.search(sentence)
        for sentence in sentences_of(answer)
    )


def keeps_back(withdrawn: str, answer: str) -> bool:
    """Return whether an answer says that it does not know, or was asked to forget, and does not name what was withdrawn.

    >>> keeps_back("Lyon", "You asked me to forget that."), keeps_back("Lyon", "You asked me to forget that it is Lyon.")
    (True, False)
    >>> keeps_back("Lyon", "She lives in Porto."), keeps_back("Lyon", "")
    (False, False)
    """
    says_so = bool(answer.strip()) and (abstains(answer) or _TAKEN_BACK.search(answer) is not None)
    return says_so and not names(withdrawn, answer)


def denied(value: str, sentence: str) -> bool:
    """Return whether a sentence says that it is not this value.

    >>> denied("a parrot", "He has a gecko, not a parrot."), denied("a gecko", "He has a gecko, not a parrot.")
    (True, False)
    """
    words = "|".join(word for word in re.findall(r"[^\W_]+", value) if content_of(word) <= content_of(value))
    return re.search(rf"{_NOT}(?:{words})", sentence, re.IGNORECASE) is not None
