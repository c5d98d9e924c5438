"""How texts are compared: which words of one stand in another, whatever their endings, and which texts are too alike.

Texts are too alike by MinHash over word trigrams (paper: Appendix B.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from epbench.memfail.dataset.word_rules import content_of, normalised, sentences, words_of

ENOUGH = 0.75
"""The share of the words that carry meaning that must come back where a text has to keep another one."""
HALF = 0.5
"""The share from which a sentence counts as naming something."""

_DECISIVE = frozenset(words_of("not no never without before after until unless"))
_NAME = re.compile(r"\b[A-Z][\w'’-]+")


def share(part: str, text: str, besides: str = "") -> float:
    """Return the share of the content words of `part` that stand in `text`, leaving out those of `besides`."""
    wanted = (content_of(part) - set(words_of(besides))) or content_of(part)
    return len(wanted & set(words_of(text))) / len(wanted) if wanted else 1.0


def keeps(part: str, text: str, enough: float = ENOUGH) -> bool:
    """Return whether a text keeps a phrase: enough content words, all numbers, and all words that turn the meaning round.

    >>> keeps("after 5 pm", "She does so after 5 pm."), keeps("after 5 pm", "She does so before 5 pm.")
    (True, False)
    """
    return needed(part) <= set(words_of(text)) and share(part, text) >= enough


def needed(part: str) -> set[str]:
    """Return the words of a phrase that no text may lose, without endings: numbers, and words such as `not`."""
    return {word for word in words_of(part) if word.isdigit() or word in _DECISIVE}


def missing(part: str, text: str) -> str:
    """Return the words with a meaning that a text lacks of a phrase, as a message shows them."""
    present, wanted = set(words_of(text)), content_of(part) | needed(part)
    lost = [word for word in normalised(part).split() if wanted & set(words_of(word)) - present]
    return ", ".join(map(repr, lost)) or "none"


def literally_in(part: str, text: str) -> bool:
    """Return whether a phrase stands in a text letter by letter, without case."""
    return part.strip().lower() in text.lower()


def names_in(text: str) -> set[str]:
    """Return the words with a capital that do not begin the text; `I` is none."""
    return set(_NAME.findall(text.strip()[1:]))


def quoted(text: str) -> str:
    """Return a text as a message quotes it, with at most 80 characters."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def stand_in(label: str, n: int) -> str:
    """Return n words that no other label has, where only the length of a text counts."""
    return " ".join(f"{label}w{i}" for i in range(n))


def wrong_length(essay: str, low: int, high: int) -> str | None:
    """Return what is wrong with the number of sentences of an essay."""
    n = len(sentences(essay))
    return None if low <= n <= high else f"the essay has {n} sentences, expected {low} to {high}"


PERMUTATIONS = 128
ESSAY, QUESTION, PERSONA, FACT = 0.8, 0.7, 0.7, 0.7
"""The Jaccard index from which two texts are alike: conditional essays, coexisting questions, persona essays, chain facts."""


class Duplicates:
    """Keeps the first of several texts that are alike, from a Jaccard index of `threshold` on.

    As in the reference, a hit of the index counts as it is: it is not checked again with the exact Jaccard index.
    """

    def __init__(self, threshold: float) -> None:
        from datasketch import MinHashLSH

        self._index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self._kept = 0

    def like(self, texts: Sequence[str], label: str) -> str | None:
        """Return the label of a kept text that one of these is like; if there is none, keep these and return None.

        Texts that are kept together are compared with one another, too.
        """
        from datasketch import MinHash

        added: list[tuple[int, str]] = []
        for text in texts:
            sketch = MinHash(num_perm=PERMUTATIONS)
            for shingle in shingles(text):
                sketch.update(shingle.encode())
            if matches := self._index.query(sketch):
                for key in added:
                    self._index.remove(key)
                return str(sorted(matches)[0][1])
            key = (self._kept, label)
            self._index.insert(key, sketch)
            added.append(key)
            self._kept += 1
        return None


def shingles(text: str) -> set[str]:
    """Return the word trigrams of a text in lower case; a text of fewer than three words is one shingle.

    >>> sorted(shingles("Tea at five, always"))
    ['at five, always', 'tea at five,']
    """
    words = text.lower().split()
    if len(words) < 3:
        return {" ".join(words)}
    return {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
