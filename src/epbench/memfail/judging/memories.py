"""The memories of a store as a judge needs them: found by their words, so that no check reads the whole store.

A store of n memories is judged about some n facts. Reading every memory for every fact takes n² steps; the index makes it
about n, because the rarest word of a fact is in few memories.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from epbench.memfail.dataset.word_rules import content_of, has_small


class Memories(tuple[str, ...]):
    """All memories of a store, with what many checks share: a hash, and an index by word. Equal to a plain tuple of them."""

    _whole: Memories | None = None
    _out = frozenset[int]()

    def without(self, *places: int) -> Memories:
        """The same memories but some, by their places from 0; the index is that of the whole store."""
        out = frozenset(places)
        rest = Memories(memory for place, memory in enumerate(self) if place not in out)
        rest._whole, rest._out = self, out
        return rest

    @cached_property
    def digest(self) -> str:
        """Hash of the texts in their order."""
        whole = self if self._whole is None else self._whole
        texts = [text for place, text in enumerate(whole._as_json) if place not in self._out]
        return hashlib.sha256(f"[{', '.join(texts)}]".encode()).hexdigest()

    def place_of(self, text: str) -> int:
        """The first place of a memory that is there."""
        return self._places[text]

    def number_with(self, word: str) -> int:
        """How many memories have a word among those that carry meaning."""
        if self._whole is None:
            return len(self._places_by_word.get(word, ()))
        return self._whole.number_with(word) - sum(word in content_of(self._whole[place]) for place in self._out)

    def with_any(self, words: Iterable[str]) -> list[str]:
        """The memories that have one of these words, in their order."""
        whole = self if self._whole is None else self._whole
        places = {place for word in words for place in whole._places_by_word.get(word, ())}
        return [whole[place] for place in sorted(places - self._out)]

    def candidates(self, groups: Iterable[frozenset[str]], share: float) -> Sequence[str]:
        """The memories that may have that share of the words of every group: all that do, in their order, and some others."""
        rarest = []  # of each group so many words that a memory without any of them has less than the share
        for words in (words for words in groups if words and not has_small(words)):
            by_number = sorted(words, key=lambda word: (self.number_with(word), word))
            rarest.append(by_number[: int(len(words) * (1 - share)) + 1])
        return self.with_any(min(rarest, key=lambda some: sum(map(self.number_with, some)))) if rarest else self

    @cached_property
    def shown(self) -> dict[str, str]:
        """What prompts make of all memories, by the frame around them."""
        return {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {text: place for place, text in reversed(list(enumerate(self)))}

    @cached_property
    def _as_json(self) -> list[str]:
        return [json.dumps(text) for text in self]

    @cached_property
    def _places_by_word(self) -> Mapping[str, Sequence[int]]:
        """The places of the memories that have each word."""
        having: dict[str, list[int]] = defaultdict(list)
        for place, memory in enumerate(self):
            for word in content_of(memory):
                having[word].append(place)
        return dict(having)


def memories_of(texts: tuple[str, ...]) -> Memories:
    """These memories with what checks share, which is made once for equal texts."""
    return texts if isinstance(texts, Memories) else _shared(texts)


_shared = lru_cache(maxsize=256)(Memories)
