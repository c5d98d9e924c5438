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
    "Before any {work}, rub the {tool} with {stuff} until it feels {state}.",
    "A {state} {tool} is best kept in a {vessel} lined with {stuff}.",
    "Mixed in a {vessel}, {stuff} and {stuff_2} turn {state} when they are left to stand.",
    "The handbook warns that {work} wears out the {tool} sooner than {work_2} does.",
    "Whoever begins with {work} should first learn how {stuff} behaves when it is {state}.",
    "In older workshops the {tool} hung beside the {tool_2}, and both were wiped with {stuff}.",
    "For {work}, a {state} grade of {stuff} is preferred, though many make do with {stuff_2}.",
    "Too much {stuff} makes the surface {state}, which {work} cannot put right.",
    "The rest of the section compares {work} with {work_2} and recommends a {tool} for either.",
    "A {vessel} of {stuff} lasts longer when the lid is kept {state}.",
    "If the {tool} slips, the usual reason is {state} {stuff} along its edge.",
    "There is little agreement on whether {work} should come before {work_2} or after it.",
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
        names = {
            name: one for kind, pair in chosen.items() for name, one in zip((kind, f"{kind}_2"), pair, strict=True)
        }
        sentence = stream.pick(_FRAMES).format(**names)
        words = _words(sentence)
        runs = (tuple(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1))
        if any(run in without for run in runs):
            dropped += 1
        else:
            dropped = 0
            yield sentence
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
