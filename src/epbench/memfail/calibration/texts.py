"""Faults in the text of one memory: what a system might have made of a fact when it stored it.

Each function takes a gold memory and returns the faulty text, or None where this fault cannot be planted with certainty.
They know the row only by the link and the detail of the gold memory, so they work on published rows and on our own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from epbench.draws import RandomStream
from epbench.memfail.dataset.load import GoldMemory
from epbench.memfail.dataset.word_rules import content_of, sentences_of, words_of

MOST_LEFT = 0.25  # share of the words of a dropped detail that may be left, because they stand elsewhere in the text

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FILLERS = frozenset(words_of("the a an my his her their its our your to"))
# What turns a statement around. A mere `not always` would weaken it and leave it half true.
_TURNS = (
    (re.compile(r"\bonly\b", re.IGNORECASE), "never"),
    (re.compile(r"\balways\b", re.IGNORECASE), "never"),
    (re.compile(r"\b(?:whenever|only when)\b", re.IGNORECASE), "except when"),
)
_PAIRS = (
    ("before", "after"),
    ("above", "below"),
    ("more than", "less than"),
    ("over", "under"),
    ("at least", "at most"),
)
_OPPOSITES = (*_PAIRS, *((other, one) for one, other in _PAIRS))


def without_detail(gold: GoldMemory) -> str | None:
    """The text without the sentences that carry the detail; the link stays, as a plain sentence."""
    own = own_words(gold)
    if not own:
        return None
    sentences = list(sentences_of(gold.text))
    while sentences and len(own & content_of(" ".join(sentences))) > MOST_LEFT * len(own):
        most = max(range(len(sentences)), key=lambda i: len(own & content_of(sentences[i])))
        del sentences[most]
    if len(gold.link) > 1:
        sentences.append(f"{' '.join(gold.link)}.")
    kept = " ".join(sentence.strip() for sentence in sentences)
    return kept if content_of(gold.link[0]) <= content_of(kept) else None


def own_words(gold: GoldMemory) -> frozenset[str]:
    """The words of the detail that stand in the text and not in the link: those that only the detail can have brought."""
    if not gold.detail:
        return frozenset()
    linked = frozenset(word for text in gold.link for word in content_of(text))
    return (content_of(" ".join(gold.detail)) & content_of(gold.text)) - linked


def negated(gold: GoldMemory, draw: RandomStream) -> str | None:
    """The text in which the sentence that states the fact says the opposite.

    Either a word is turned (`only` and `always` become `never`, `whenever` becomes `except when`), or a word of the detail
    (`before` becomes `after`, `above` becomes `below`), or a `never` stands before what is done, or the whole sentence is
    denied.
    """
    stated = statement(gold)
    if stated is None:
        return None
    ways = [
        stated[: found.start()] + (word.capitalize() if found[0][0].isupper() else word) + stated[found.end() :]
        for pattern, word in _TURNS
        if (found := pattern.search(stated))
    ]
    for one, other in _OPPOSITES:
        if re.search(rf"\b{one}\b", " ".join(gold.detail)) and (found := re.search(rf"\b{one}\b", stated)):
            ways.append(stated[: found.start()] + other + stated[found.end() :])
    if len(gold.link) > 1 and not gold.link[-1][:1].isupper() and (span := span_of(gold.link[-1], stated)):
        ways.append(f"{stated[: span[0]]}never {stated[span[0] :]}")
    ways.append("It is not true that " + _uncapitalised(stated, gold))
    return gold.text.replace(stated, draw.pick(ways), 1)


def statement(gold: GoldMemory) -> str | None:
    """The sentence of the text that holds most of the words of link and detail; None if none holds any of them."""
    linked = frozenset(word for text in gold.link[-1:] for word in content_of(text))
    own = own_words(gold)
    sought = own if own and len(gold.link) == 1 else own | linked  # a name alone states nothing
    best = max(sentences_of(gold.text), key=lambda sentence: len(sought & content_of(sentence)))
    return best if sought & content_of(best) else None


def with_other_numbers(gold: GoldMemory) -> str | None:
    """The text with another number in place of each number of the detail."""
    numbers = sorted(set(re.findall(r"\d+", " ".join(gold.detail))), key=len, reverse=True)
    text = gold.text
    for number in numbers:
        text = re.sub(rf"(?<![\d.,:]){number}(?!\d|[.,]\d)", str(int(number) + 3), text)
    return text if text != gold.text else None


def reversed_link(gold: GoldMemory) -> str | None:
    """The text in which the two ends of a link have changed places; None if one of them is a name or not literal."""
    if len(gold.link) != 2 or gold.link[0][:1].isupper():
        return None
    first, last = (span_of(end, gold.text) for end in gold.link)
    if first is None or last is None or max(first[0], last[0]) < min(first[1], last[1]):
        return None
    (a, b), (c, d) = sorted((first, last))
    text = gold.text
    turned = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
    return turned[:1].upper() + turned[1:]


def span_of(part: str, text: str) -> tuple[int, int] | None:
    """Where the words of a part stand in a text, one after another and in any form; None if they do not."""
    sought = [word for word in words_of(part) if word not in _FILLERS]
    found = [(words_of(match[0]), match.span()) for match in _WORD.finditer(text)]
    places = [(words[0], span) for words, span in found if words and words[0] not in _FILLERS]
    for i in range(len(places) - len(sought) + 1):
        if sought and [word for word, _ in places[i : i + len(sought)]] == sought:
            return places[i][1][0], places[i + len(sought) - 1][1][1]
    return None


def under_name(gold: GoldMemory, other: str) -> str | None:
    """The text as if it were about somebody else; None if the name is not in it."""
    name, text = gold.link[0], gold.text
    if name not in text:
        return None
    first = name.split()[0]
    return re.sub(rf"\b{re.escape(first)}\b", other.split()[0], text.replace(name, other))


def other_name(gold: GoldMemory, names: Sequence[str], draw: RandomStream) -> str | None:
    """A name from a list that shares no word with that of the gold memory; None if there is none."""
    own = set(words_of(gold.link[0]))
    strangers = [name for name in names if not own & set(words_of(name))]
    return draw.pick(strangers) if strangers else None


def _uncapitalised(sentence: str, gold: GoldMemory) -> str:
    """The sentence as it stands after other words; a name keeps its capital."""
    first = sentence.split()[0]
    return sentence if first == "I" or first in gold.link[0].split() else sentence[:1].lower() + sentence[1:]
