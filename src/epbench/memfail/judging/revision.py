"""What an answer to a question of `revision` is worth, by rules: what holds now, what was said first, and what was forgotten.

Naming every value answers nothing. So an answer must name the value that is asked for, and may name the other one only as
what it is: as the former value, or as the one that came later. What was withdrawn may not be named at all, not even to say
that it was withdrawn. Values are literal, and no two of a row share a word.
"""

from __future__ import annotations

import re

from epbench.memfail.dataset.word_rules import abstains, content_of, sentences_of

NAMED = 0.5  # share of the words of a value that names it

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
    return len(words & content_of(text)) >= NAMED * len(words)


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
