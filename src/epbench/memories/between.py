"""Unrelated text between what is remembered and the question, as delay and interference (SORT, Section D.5).

A model reads it after the book or the excerpt, and a memory system is told it in further conversations. It is made here, from
sentences of a handbook of crafts: the same text for the same length and the same questions, on any machine. A sentence that
has an answer to a question is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.journals.journal import read_journal
from epbench.memories.session import STORED, Conversation
from epbench.models.protocol import Model, Request

HEAD = "Here is another text, which has nothing to do with the text before it."
"""Stands above the text where a model reads it."""
WORDS = 100  # words of a conversation, at least; it ends with a sentence
AFTER = timedelta(hours=1)  # the simulated time from one conversation to the next
_ID = "between "
_MOST_DROPPED = 10_000  # sentences in a row

_FRAMES = (
    "Before any {work[0]}, rub the {tool[0]} with {stuff[0]} until it feels {state[0]}.",
    "A {state[0]} {tool[0]} is best kept in a {vessel[0]} lined with {stuff[0]}.",
    "Mixed in a {vessel[0]}, {stuff[0]} and {stuff[1]} turn {state[0]} when they are left to stand.",
    "The handbook warns that {work[0]} wears out the {tool[0]} sooner than {work[1]} does.",
    "Whoever begins with {work[0]} should first learn how {stuff[0]} behaves when it is {state[0]}.",
    "In older workshops the {tool[0]} hung beside the {tool[1]}, and both were wiped with {stuff[0]}.",
    "For {work[0]}, a {state[0]} grade of {stuff[0]} is preferred, though many make do with {stuff[1]}.",
    "Too much {stuff[0]} makes the surface {state[0]}, which {work[0]} cannot put right.",
    "The rest of the section compares {work[0]} with {work[1]} and recommends a {tool[0]} for either.",
    "A {vessel[0]} of {stuff[0]} lasts longer when the lid is kept {state[0]}.",
    "If the {tool[0]} slips, the usual reason is {state[0]} {stuff[0]} along its edge.",
    "There is little agreement on whether {work[0]} should come before {work[1]} or after it.",
)
_WORDS = {
    "work": "planing glazing weaving tanning turning carding engraving soldering veneering thatching bookbinding gilding",
    "tool": "chisel rasp mallet trowel spokeshave burnisher plane gouge clamp scraper brush shuttle bobbin drawknife",
    "stuff": "beeswax chalk sawdust resin lanolin tallow lime pumice shellac flax glue sand turpentine graphite borax",
    "state": "smooth dry brittle supple tacky coarse dull firm waxy porous matt sticky rough damp flaky",
    "vessel": "crock tin basin jar trough crate pail drum",
}


def unrelated(n_tokens: int, model: Model, answers: Iterable[str] = ()) -> list[str]:
    """Return sentences that together have about `n_tokens` tokens and not more; `BadInput` if there is none.

    The model counts them, exactly or by its estimate; its weights are not loaded. No sentence has one of the `answers` in it, as
    whole words, in upper or lower case.
    """
    if n_tokens == 0:
        return []
    frame = model.count_tokens(Request("", "", "", ""))[0]

    def tokens(sentences: Sequence[str]) -> int:
        return model.count_tokens(Request("", "", " ".join(sentences), ""))[0] - frame

    endless, sentences = _sentences({tuple(_words(answer)) for answer in answers}), list[str]()
    while tokens(sentences) <= n_tokens:
        sentences += islice(endless, max(64, len(sentences)))
    n = bisect_right(range(len(sentences) + 1), n_tokens, key=lambda n: tokens(sentences[:n])) - 1
    if n < 1:
        raise BadInput(f"between: expected tokens for at least one sentence, got {n_tokens}")
    return sentences[:n]


def _sentences(without: set[tuple[str, ...]]) -> Iterator[str]:
    stream, lengths, dropped = RandomStream("unrelated text"), {len(phrase) for phrase in without} - {0}, 0
    while dropped < _MOST_DROPPED:
        chosen = {kind: stream.sample(words.split(), 2) for kind, words in _WORDS.items()}
        sentence = stream.pick(_FRAMES).format(**chosen)
        words = _words(sentence)
        runs = (tuple(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1))
        if without.isdisjoint(runs):
            dropped = 0
            yield sentence
        else:
            dropped += 1
    raise BadInput("between: every sentence of the unrelated text has an answer to a question in it")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def read_after(context: str, sentences: Sequence[str]) -> str:
    """Return a context that is followed by unrelated text; without sentences, or without a context, the context alone."""
    return f"{context}\n\n{HEAD}\n\n{' '.join(sentences)}" if context and sentences else context


def told_after(conversations: Sequence[Conversation], sentences: Sequence[str]) -> list[Conversation]:
    """Return the conversations, followed in each store by the sentences in further ones, which hold nothing that is asked for."""
    texts: list[str] = []
    for sentence in sentences:
        if texts and len(texts[-1].split()) < WORDS:
            texts[-1] += f" {sentence}"
        else:
            texts.append(sentence)
    turns = sorted((turn["timestamp"], one.store) for one in conversations for turn in one.turns)
    times = {store: datetime.fromisoformat(last) for last, store in turns}
    return [*conversations] + [
        Conversation(
            f"{_ID}{i}", store, (), ({"role": "user", "content": text, "timestamp": (time + i * AFTER).isoformat()},)
        )
        for store, time in times.items()
        for i, text in enumerate(texts, 1)
    ]


def told_after_in(folder: Path) -> list[Conversation]:
    """Return the further conversations of a run, as its journal has them: without their turns."""
    records = read_journal(folder / STORED).values()
    return [
        Conversation(record["conversation"], record["store"], (), ())
        for record in records
        if record.get("conversation", "").startswith(_ID)
    ]
