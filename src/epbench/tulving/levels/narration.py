"""Telling a scene: sentences in the order of the event, with first names and pronouns where a reader can follow them.

A sentence is written with marks for the main character. When all sentences of a paragraph are in their order, a mark
becomes a pronoun if the sentence before was about the main character and nobody else has come in, or else the first name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from epbench.draws import RandomStream
from epbench.tulving.scenes.patterns import TRIES, Spread, capitalised
from epbench.tulving.scenes.people import Pronouns
from epbench.tulving.scenes.scene_files import PlaceKind, Scene, Told

WHO, HIM, HIS, HIMSELF = "\x02", "\x03", "\x04", "\x05"
_MARKS = {"who": WHO, "him": HIM, "his": HIS, "himself": HIMSELF}

PRONOUN = 0.85
"""How often a pronoun is used where it is clear; now and then a name returns, as people write."""


class Teller:
    """Writes the sentences of one chapter, none of them twice."""

    def __init__(
        self,
        scene: Scene,
        place: PlaceKind,
        banks: Mapping[str, Sequence[Told]],
        spread: Spread,
        draws: RandomStream,
        *,
        detail: str,
    ) -> None:
        """Prepare the sentences.

        Args:
            scene: How the event goes.
            place: What the space is like.
            banks: Further sentences, by what they tell.
            spread: What the book has told so far.
            draws: The draws of this chapter.
            detail: What the main character does, which no other sentence may say by chance.
        """
        self._detail = detail.lower()
        self._people, self._spread, self._draws = scene.people, spread, draws
        parts = {"begin": scene.begin, "middle": scene.middle, "end": scene.end, "place": place.air, **banks}
        self._all = {part: [one for one in told if one.fits(place.indoors)] for part, told in parts.items()}
        self._waiting = {part: _shuffled(told, draws) for part, told in self._all.items()}
        self._things, self._features = _cycle(scene.things, draws), _cycle(place.features, draws)

    def tell(self, part: str, known: Mapping[str, str] | None = None) -> str | None:
        """Return the next sentence of a part, with marks for the main character.

        A sentence whose words are too frequent in the book is written in other words, or passed over.

        Returns:
            None if all sentences of the part are told.
        """
        for told in self._waiting[part]:
            for _ in range(TRIES):
                sentence = self._write(told, known or {})
                by_chance = part != "detail" and self._detail in sentence.lower()
                if not by_chance and self._spread.allows(sentence):
                    self._spread.add(sentence)
                    return sentence
        return None

    def must(self, part: str, known: Mapping[str, str] | None = None) -> str:
        """Return a sentence of a part that the chapter cannot do without, even if its words are frequent."""
        sentence = self.tell(part, known)
        if sentence is None:  # those passed over may do with other words
            self._waiting[part] = _shuffled(self._all[part], self._draws)
            sentence = self.tell(part, known)
        if sentence is None:
            sentence = self._write(self._draws.pick(self._all[part]), known or {})
            self._spread.add(sentence)
        return sentence

    def _write(self, told: Told, known: Mapping[str, str]) -> str:
        def fill(slot: str) -> str:
            if slot in _MARKS:
                return _MARKS[slot]
            if slot == "thing":
                return next(self._things)
            if slot == "feature":
                return next(self._features)
            return self._people if slot == "people" else known[slot]

        return told.sentence.write(self._draws, fill)


def _shuffled(sentences: Sequence[Told], draws: RandomStream) -> Iterator[Told]:
    """The sentences in random order; each draw is made only when a sentence is needed."""
    pool = list(sentences)
    while pool:
        at = draws.index(len(pool))
        pool[at], pool[-1] = pool[-1], pool[at]
        yield pool.pop()


def _cycle(items: Sequence[str], draws: RandomStream) -> Iterator[str]:
    while True:
        yield from draws.sample(items, len(items))


def resolve(sentences: Sequence[str], first_name: str, words: Pronouns, other: str, draws: RandomStream) -> str:
    """Return a paragraph: the sentences with names and pronouns in place of the marks.

    Args:
        sentences: The sentences in their order.
        first_name: The first name of the main character.
        words: Their pronouns.
        other: What every mark of a side character begins with.
        draws: The draws of this chapter.
    """
    told, clear = [], False
    for sentence in sentences:
        someone_else = other in sentence
        if WHO in sentence:
            pronoun = clear and not someone_else and draws.unit() < PRONOUN
            sentence = capitalised(_named(sentence, first_name, words, first_is_pronoun=pronoun))
            clear = not someone_else
        else:
            clear = False
        told.append(sentence)
    return " ".join(told)


_OBJECT = re.compile(
    r"\b(?:of|to|under|in|into|inside|behind|between|from|at|on|by|with|without|against|around|near|beside|past|over|about|upon"
    r"|above|below|toward|towards|after|like|for|saw|gave|struck|let|made|left|took|told|asked|reached|met|followed|worried) $"
)
"""What stands before a mark that is an object; in other places it is the subject of its clause."""


def _named(sentence: str, first_name: str, words: Pronouns, *, first_is_pronoun: bool) -> str:
    """A sentence with the name, or a pronoun in its right form, in place of each mark."""
    before, *rest = sentence.split(WHO)
    for number, after in enumerate(rest):
        possessive = after.startswith(("'s", "’s"))
        subject = _OBJECT.search(before) is None and not possessive
        if number == 0 and not (first_is_pronoun and subject):
            before += first_name + after
        elif subject:
            before += words.subject + after
        else:
            before += words.possessive + after[2:] if possessive else words.object + after
    return before.replace(HIM, words.object).replace(HIS, words.possessive).replace(HIMSELF, words.reflexive)
