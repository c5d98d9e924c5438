"""What rules can find in a text: its words without endings, and what it answers: yes or no, a letter, or nothing.

Then comes what the validation report counts in texts: sentences, explicit connectives, and overlap. At the end stands which
words of a text stand in another one, by which the texts that a model writes are checked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from epbench.models.replies import objects_in

# Words that carry no detail. `not`, `without`, `before` and `after` are left out, since they reverse a condition.
_SMALL_WORDS = """
a an the and or but of in on at to for from by with as is are was were be been being am do does did has have had will
would can could shall should may might must i me my mine we us our you your he him his she her hers it its they them their
theirs this that these those there here when whenever while if only just so than then very too also what which who whom
whose how s t d ll m re ve"""
_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ier", "ed", "es", "er", "ie", "ly", "s", "y", "e")

# A memory may note facts in clauses and lines without capitals, so semicolons, line breaks and any punctuation before a
# blank end a sentence. The statistics of essays have a stricter rule; to change this one would change verdicts.
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')\]’”]*\s+|\n+")
_QUESTION_END = re.compile(r"\?[\"')\]’”*_\s]*$")

_AFTER_DECISION = r"(?=\s*(?:[.,;:!*–—\-)\"'’”]|$|\n|\s(?:because|since|as|he|she|it|they|i|you|we|that)\b))"
_DECISION = re.compile(rf"(?:^|[\s*_(\"'“‘:–—\-])(yes|no){_AFTER_DECISION}", re.IGNORECASE)
# How questions about likelihood are answered in a whole sentence.
_LEANS = re.compile(
    r"\b(?:(?:un)?likely|(?:im)?probable|probably|expect|"
    r"(?:is|was|be|isn['’]t) (?:not )?(?:a|such a|one of th(?:e|ose)) moments?)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:()]|\b(?:because|since|as|which|although|though|but|while|so|unless|until)\b", re.IGNORECASE
)
_OPEN = re.compile(r"\b(?:whether|if|how)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|never|less|hardly|unlikely|improbable)\b|n['’]t\b", re.IGNORECASE)
_ANSWER_MARK = re.compile(r"\banswer\b\W*(?:is\b)?", re.IGNORECASE)

_UNKNOWN = "know|aware|sure|mention(?:ed)?|sa(?:y|id)|tell|told|find|found|recall|remember|contain|include|provide|familiar|given"
_ABSTAINS = re.compile(
    r"\b(?:no (?:\w+ )?(?:information|info|mention|records?|knowledge|details?|data|memor(?:y|ies)|idea)|"
    r"nothing (?:about|known|(?:is|was) (?:known|said|mentioned|stored))|know nothing|unable to|unknown|unsure|"
    r"(?:cannot|can not|can['’]?t|could not|couldn['’]t) (?:say|tell|answer|determine|know|find|help|confirm|recall|be)|"
    rf"not (?:{_UNKNOWN}|stated|specified|recorded|stored|available|enough|have)|"
    rf"(?:do|does|did|is|are|was|were|have|has)n['’]t (?:{_UNKNOWN}|stated|have|any))\b",
    re.IGNORECASE,
)


WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@lru_cache(maxsize=1 << 16)
def words_of(text: str) -> tuple[str, ...]:
    """The words without case, punctuation and endings: those of `Riding my bikes` and `ride my bike` are the same.

    >>> words_of("Beanies — when it's RAINING!")
    ('bean', 'when', 'it', 'rain')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = re.sub(r"['’]s\b", "", folded)
    return tuple(_stem(word) for word in re.findall(r"[^\W_]+", folded))


def _stem(word: str) -> str:
    """Cut off an English ending, so that the forms of most regular words become the same; nothing more is needed."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


@lru_cache(maxsize=1 << 16)
def content_of(text: str) -> frozenset[str]:
    """The words that carry meaning, without endings; all words if a text has none that do."""
    words = frozenset(words_of(text)) - SMALL_STEMS
    return words or frozenset(words_of(text))


SMALL_STEMS = frozenset(map(_stem, _SMALL_WORDS.split()))


@lru_cache(maxsize=1 << 14)
def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text."""
    return tuple(piece for piece in _SENTENCE_END.split(text) if piece.strip())


def without_questions(text: str, stored: str) -> str:
    """A text without its questions, which state nothing; those that stand in what was stored are kept.

    >>> without_questions("Ada sings. Would she sing now?", "Ada sings.")
    'Ada sings.'
    """
    if "?" not in text:
        return text
    return " ".join(part for part in sentences_of(text) if not _QUESTION_END.search(part) or part in stored)


def stands_in(text: str, longer: str) -> bool:
    """Whether the words of a text occur in a longer one, one after another.

    >>> stands_in("tote bag", "He carries tote bags."), stands_in("tote bag", "a bag and a tote")
    (True, False)
    """
    return f" {' '.join(words_of(text))} " in f" {' '.join(words_of(longer))} "


def decision_of(answer: str) -> Literal["yes", "no"] | None:
    """The first yes or no that is a decision, after the last `Answer:` if there is one; None if there is no decision.

    The `no` of `no memory says so` is not a decision. Without yes or no, what is called likely or expected decides.

    >>> decision_of("No — she only sings at dawn."), decision_of("There is no hint. Answer: **Yes**"), decision_of("No idea")
    ('no', 'yes', None)
    """
    marks = list(_ANSWER_MARK.finditer(answer))
    for part in ([answer[marks[-1].end() :]] if marks else []) + [answer]:
        if match := _DECISION.search(part):
            return "yes" if match[1].lower() == "yes" else "no"
    clauses = (
        clause
        for sentence in sentences_of(answer)
        if not _QUESTION_END.search(sentence)
        for clause in _CLAUSE_END.split(sentence)
    )
    for clause in clauses:
        if (leans := _LEANS.search(clause)) and not _OPEN.search(clause[: leans.start()]) and not abstains(clause):
            return "no" if len(_NEGATION.findall(clause)) % 2 else "yes"
    return None


def abstains(answer: str) -> bool:
    """Whether an answer says somewhere that it does not know; an empty one does."""
    return not answer.strip() or _ABSTAINS.search(answer) is not None


LETTERS = "ABCDEFGHIJ"
_KEYS = ("selected_choice", "answer", "choice")
_OPENED, _CLOSED = r"[\s*_`\"'“‘(\[]*", r"[*_`\"'”’)\]]*"
_SAYS = re.compile(
    r"\b(?:(?:answer|choice|option|letter)s?(?:\s+is)?|choose|chose|pick|select(?:ed)?|go(?:ing)? with|it is|it['’]s|"
    rf"correct one is)\s*[:=\-–—]?{_OPENED}([A-Za-z])\b(?!['’]\w)",
    re.IGNORECASE,
)
_ANSWER_LINE = re.compile(r"\banswer(?:\s+is)?\b\W*(.+)$", re.IGNORECASE | re.MULTILINE)
_BRACKETED = re.compile(r"(?:\(([A-Z])\)|\*\*\(?([A-Z])[.)]?\)?\*\*|\[([A-Z])\])")
_LINE = re.compile(rf"^{_OPENED}([A-Z])(?:{_CLOSED}\s*$|{_CLOSED}[.):]{_CLOSED}(?:\s+.*)?$)", re.MULTILINE)


def letter_of(answer: str, choices: Sequence[str]) -> str | None:
    """Return the letter that an answer chooses among at most ten options, from A on; None if it makes no clear choice.

    A choice needs no judge (paper: Appendix D.3.4). The readings are tried from the most to the least certain one. Of several
    choices found by one reading the last counts, since models think aloud and decide at the end. A letter that is a word of a
    sentence (the article in `A calm mind`) is not a choice.
    """
    letters = tuple(LETTERS[: len(choices)])
    for reading in (_in_objects, _in_words, _bracketed, _on_lines, _last_line):
        if chosen := [letter for letter in reading(answer, choices) if letter in letters]:
            return chosen[-1]
    return None


def _in_objects(answer: str, choices: Sequence[str]) -> Iterator[str | None]:
    """JSON objects: as the whole answer, in a code fence, or within a text."""
    for content in objects_in(answer):
        values = {str(key).lower(): value for key, value in content.items()}
        yield _value(next((values[key] for key in _KEYS if isinstance(values.get(key), str)), ""), choices)


def _in_words(answer: str, choices: Sequence[str]) -> Iterator[str | None]:
    """`Answer: C`, `I choose (C)`, `Answer: water the plants`."""
    for match in _SAYS.finditer(answer):
        rest, place = answer[match.end(1) :].split("\n")[0], LETTERS.find(match[1].upper())
        if 0 <= place < len(choices) and not _is_word(match[1], rest, choices[place]):
            yield LETTERS[place]
    yield from (_value(found, choices) for found in _ANSWER_LINE.findall(answer))


def _bracketed(answer: str, choices: Sequence[str]) -> Sequence[str]:
    """`(C)` or `**C**`, unless all options are listed like this."""
    return _unless_a_list(["".join(groups) for groups in _BRACKETED.findall(answer)], choices)


def _on_lines(answer: str, choices: Sequence[str]) -> Sequence[str]:
    """Lines such as `C`, `C.`, `C) water the plants`, unless all options are listed like this."""
    return _unless_a_list(_LINE.findall(answer), choices)


def _last_line(answer: str, choices: Sequence[str]) -> Sequence[str]:
    """The option's own text as the last line."""
    last_line = _plain(answer.strip().rpartition("\n")[2])
    return [letter for letter, choice in zip(LETTERS, choices, strict=False) if last_line == _plain(choice)]


def _unless_a_list(letters: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """The letters that are choices: those after a copy of all options, or all where there is no copy."""
    copied = set(letters[: len(choices)]) == set(LETTERS[: len(choices)])
    return letters[len(choices) if copied else 0 :]


def _value(value: str, choices: Sequence[str]) -> str | None:
    """The letter of a value that is a letter, an option's text, or both."""
    plain = _plain(value)
    for letter, choice in zip(LETTERS, choices, strict=False):
        if plain in (letter.lower(), _plain(choice), _plain(f"{letter} {choice}")):
            return letter
    return None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _is_word(letter: str, rest: str, choice: str) -> bool:
    """Whether a letter is a word of a sentence: the article A, the pronoun I, or any small letter that is not a choice."""
    if not re.match(r"\s+\w", rest) or _plain(rest) == _plain(choice):
        return False
    return letter not in "BCDEFGHJ" and not re.match(r"\s+(?:because|since|as)\b", rest)


NEAR_DUPLICATE = 0.7  # the Jaccard index of word trigrams that makes two texts duplicates (Appendix B.1)

# The judge's rule (`sentences_of`) also ends sentences at semicolons and line breaks, and before lower case: it compares
# facts. Here sentences are counted as a reader sees them, so a new one must begin with a capital letter or a digit.
_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-ZÀ-Þ0-9])")
# Appendix B.3. Longer ones come first, so that "only if" is not counted as "if".
_CONNECTIVES = re.compile(
    r"\b(but only if|only if|only when|only after|except when|whenever|unless|(?<!as )if)\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Split an essay into sentences, at punctuation followed by a capital letter or a digit."""
    return [sentence for sentence in _END.split(text.strip()) if sentence]


def connectives(text: str) -> list[str]:
    """Return the explicit conditional connectives, which a Hard essay must not have; `as if` does not count."""
    return [connective.lower() for connective in _CONNECTIVES.findall(text)]


def normalised(text: str) -> str:
    """Return the words in lower case, without punctuation."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def stands_literally_in(part: str, text: str) -> bool:
    """Return whether the words of `part` appear in `text` with their endings, in this order and without a gap."""
    return f" {normalised(part)} " in f" {normalised(text)} "


def overlaps(texts: Sequence[str]) -> tuple[float, int]:
    """Return the largest Jaccard index, 0 to 1, of the word trigrams of two texts, and how many pairs are near duplicates."""
    import numpy as np
    from scipy.sparse import csr_array

    words_by_text = [text.lower().split() for text in texts]
    trigrams = [set(zip(words, words[1:], words[2:], strict=False)) for words in words_by_text]
    numbers: dict[tuple[str, ...], int] = {}
    columns = [numbers.setdefault(trigram, len(numbers)) for of_text in trigrams for trigram in of_text]
    sizes = np.array([len(of_text) for of_text in trigrams])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(texts), len(numbers)))
    largest, near = 0.0, 0
    for start in range(0, len(texts), 500):  # block by block, to limit the memory
        shared = (counts[start : start + 500] @ counts.T).toarray()
        joined = sizes[start : start + 500, None] + sizes[None, :] - shared
        later = np.arange(len(texts))[None, :] > np.arange(start, start + len(shared))[:, None]
        index = np.where(later, shared / np.maximum(joined, 1), 0.0)
        largest, near = max(largest, float(index.max())), near + int((index >= NEAR_DUPLICATE).sum())
    return largest, near


ENOUGH = 0.75  # share of the words that carry meaning that must come back where a text has to keep another one
HALF = 0.5  # the share from which a sentence counts as naming something

_DECISIVE = frozenset(words_of("not no never without before after until unless"))


def share(part: str, text: str, besides: str = "") -> float:
    """Return the share of the content words of `part` that stand in `text`, leaving out those of `besides`."""
    wanted = (content_of(part) - set(words_of(besides))) or content_of(part)
    return len(wanted & set(words_of(text))) / len(wanted) if wanted else 1.0


def keeps(part: str, text: str, enough: float = ENOUGH) -> bool:
    """Return whether a text keeps a phrase: enough content words, all numbers, and all words that turn the meaning round.

    >>> keeps("after 5 pm", "She does so after 5 pm."), keeps("after 5 pm", "She does so before 5 pm.")
    (True, False)
    """
    return _needed(part) <= set(words_of(text)) and share(part, text) >= enough


def _needed(part: str) -> set[str]:
    """Return the words of a phrase that no text may lose, without endings: numbers, and words such as `not`."""
    return {word for word in words_of(part) if word.isdigit() or word in _DECISIVE}


def missing(part: str, text: str) -> str:
    """Return the words with a meaning that a text lacks of a phrase, as a message shows them."""
    present, wanted = set(words_of(text)), content_of(part) | _needed(part)
    lost = [word for word in normalised(part).split() if wanted & set(words_of(word)) - present]
    return ", ".join(map(repr, lost)) or "none"


def literally_in(part: str, text: str) -> bool:
    """Return whether a phrase stands in a text letter by letter, without case."""
    return part.strip().lower() in text.lower()
