"""A writer without a model: it composes chapters from banks of sentences with slots, seeded and exact.

A bank (`data/styles/*.json`) has sentences by kind, and fillers by slot. A chapter uses two banks: that of its style
(`thriller.json`: ambience, hero, other, thought, turn, closing), and that of the facts (`facts_novel.json`: date, place,
name, detail, event), the only one that may say when, where and who. The universe's kind chooses the bank of the facts:
`facts_novel.json` for novels, `facts_emergency.json` for news and science fiction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache

from epbench.draws import RandomStream
from epbench.files.packaged import packaged
from epbench.tulving.chapters.chapter import Description, RuleWriter, Task, shuffled
from epbench.tulving.events.universe import Layout, Universe
from epbench.tulving.levels.plan import SIDE_CHARACTER_WEIGHTS, SIDE_CHARACTERS

_BANKS = packaged("epbench.tulving", "styles")

# The length to reach, in words; with the sentence that reaches it, chapters have about 425 words (530 tokens).
WORDS_PER_CHAPTER = 130
WORDS_PER_PARAGRAPH = 45

FILLING = ("ambience", "hero", "thought", "turn", "hero", "ambience", "other")
EVENT_MENTION = 0.4
CLOSING = 0.5


class Bank:
    """Sentences by kind, each split into literals and slots, and the fillers of each slot."""

    def __init__(self, name: str) -> None:
        content = json.loads((_BANKS / f"{name}.json").read_text("utf-8"))
        self.words: dict[str, list[str]] = content["words"]
        self.frames: dict[str, list[list[str]]] = {
            kind: [re.split(r"{(\w+)}", sentence) for sentence in sentences]
            for kind, sentences in content["sentences"].items()
        }

    def fill(self, frame: Sequence[str], known: dict[str, str], draws: RandomStream) -> str:
        """Return the sentence with known values in their slots, and a random filler in every other slot."""
        parts = list(frame)
        for i in range(1, len(frame), 2):
            parts[i] = known.get(frame[i]) or draws.pick(self.words[frame[i]])
        sentence = "".join(parts)
        return sentence[0].upper() + sentence[1:]


_bank = cache(Bank)


class TemplateWriter(RuleWriter):
    """Composes chapters from the banks; the same seed gives the same chapters on any machine."""

    description = Description(
        made="composed from banks of sentences by the template writer, without a language model",
        limits="The prose is composed from templates. It is plainer and less varied than a model's, so facts are easier to "
        "find than in a novel; a rule-based reader that sees the whole book finds nearly all of them.",
    )

    def __init__(self, universe: Universe, *, seed: int = 0) -> None:
        """Prepare the writer for the events of a universe; BadInput if there is no bank for one of its styles."""
        known = sorted(path.stem for path in _BANKS.glob("*.json") if not path.stem.startswith("facts_"))
        super().__init__(universe, seed, known, "the template writer has no sentences in this style")
        self._facts = _bank("facts_novel" if universe.kind == "novel" else "facts_emergency")

    def write(self, task: Task) -> str:
        """Return the text of one candidate."""
        event, layout = task.event, task.layout
        draws = RandomStream("template writer", self._seed, task.number, task.attempt)
        known = {"date": event.day, "place": event.space, "entity": event.entity, "hero": event.first_name}
        known |= {"deed": event.detail_in_sentence, "event": event.content}
        sentences = _Sentences(_bank(layout.style), self._facts, known, draws)
        paragraphs = [
            [sentences.fact(kind) for kind in _facts_of(paragraph, layout, draws)]
            for paragraph in range(1, layout.n_paragraphs + 1)
        ]
        words = WORDS_PER_CHAPTER // layout.n_paragraphs + WORDS_PER_PARAGRAPH
        for others, paragraph in zip(_deal(sentences.others(), layout.n_paragraphs, draws), paragraphs, strict=True):
            _fill(paragraph, words, others, sentences, draws)
        return "\n\n".join(f"({i}) {' '.join(paragraph)}" for i, paragraph in enumerate(paragraphs, 1))


class _Sentences:
    """The sentences of one chapter, drawn from both banks without repeating a frame."""

    def __init__(self, style: Bank, facts: Bank, known: dict[str, str], draws: RandomStream) -> None:
        self._style, self._facts, self._known, self._draws = style, facts, known, draws
        self._frames = {kind: shuffled(frames, draws) for kind, frames in style.frames.items()}
        self._fact_frames = {kind: shuffled(frames, draws) for kind, frames in facts.frames.items()}
        self._n_others = draws.weighted(SIDE_CHARACTERS, SIDE_CHARACTER_WEIGHTS)

    def fact(self, kind: str) -> str:
        return self._facts.fill(next(self._fact_frames[kind]), self._known, self._draws)

    def filling(self, kind: str) -> str:
        return self._styled(kind, f"$entity_{self._draws.between(1, self._n_others)}")

    def others(self) -> list[str]:
        """A first appearance for every side character of the chapter, in order of their numbers."""
        return [self._styled("other", f"$entity_{i}") for i in range(1, self._n_others + 1)]

    def _styled(self, kind: str, other: str) -> str:
        """A sentence in the style, which may name the people present, but no other fact."""
        people = {"hero": self._known["hero"], "other": other}
        return self._style.fill(next(self._frames[kind]), people, self._draws)


def _facts_of(paragraph: int, layout: Layout, draws: RandomStream) -> list[str]:
    """The kinds of fact sentences of a paragraph: those of the layout, and now and then the name of the event."""
    planned = {"date": layout.time, "place": layout.space, "name": layout.entity, "detail": layout.content}
    kinds = [kind for kind, where in planned.items() if where == paragraph]
    if layout.content == paragraph or draws.unit() < EVENT_MENTION:
        kinds.append("event")
    return draws.sample(kinds, len(kinds))


def _deal(sentences: list[str], n: int, draws: RandomStream) -> list[list[str]]:
    """Spread the sentences over n paragraphs at random, keeping their order."""
    where = sorted(draws.index(n) for _ in sentences)
    return [[sentence for sentence, at in zip(sentences, where, strict=True) if at == i] for i in range(n)]


def _fill(paragraph: list[str], words: int, others: list[str], sentences: _Sentences, draws: RandomStream) -> None:
    """Extend a paragraph to its length: side characters among the facts, then filling sentences at random positions."""
    for sentence in others:
        paragraph.insert(draws.between(0, len(paragraph)), sentence)
    n_words = sum(sentence.count(" ") + 1 for sentence in paragraph)
    while n_words < words - 8:
        at = draws.between(0, len(paragraph))
        paragraph.insert(at, sentences.filling(draws.pick(FILLING)))
        n_words += paragraph[at].count(" ") + 1
    if draws.unit() < CLOSING:
        paragraph.append(sentences.filling("closing"))
