"""Examples of following instructions, mixed in so that a model does not forget how that is done (Appendix F).

They have nothing to do with a benchmark. Those that are held out are never trained: what a model makes of them after each
epoch shows how much it has forgotten.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.finetuning.packing import Sample
from epbench.finetuning.texts.instruction_rows import Example, examples_of, find_source
from epbench.finetuning.texts.tokens import Learn, Message, SampleTokens
from epbench.journals.answers import fingerprint_of
from epbench.progress import Progress, no_progress

LEFT_OUT = ("experience", "stylized response", "joke", "trivia", "roleplay", "riddle", "greeting")
"""The categories of OpenHermes-2.5 that are left out, as in the paper."""

_MADE = "made by rules"


@dataclass(frozen=True, slots=True)
class Instructions:
    """Examples of following instructions.

    Attributes:
        samples: Those to train on.
        held_out: Those that are never trained.
        facts: Where they come from and what was left out, for the record of a run.
    """

    samples: Sequence[Sample]
    held_out: Sequence[Sample]
    facts: dict[str, Any]


def load_instructions(
    source: str,
    n: int = 3500,
    *,
    seed: int,
    tokens: SampleTokens,
    learn: Learn,
    n_held_out: int,
    progress: Progress = no_progress,
) -> Instructions:
    """Choose examples of a source.

    Rows of the categories in `LEFT_OUT` (in any case, with `_` as a blank) and rows without an answer are left out. Each of
    the others has a number: the SHA-256 of the JSON text of `[seed, messages]`, a list of objects with `role` and `content`.
    The rows are taken in ascending order of this number, so the choice depends neither on the order of the rows nor on the
    machine. Equal conversations have one number and count once. A row is passed over if it has more than
    `tokens.max_length` tokens, if it spells a special token, or if the chat template cannot write it. The first n that
    remain are trained, and the next ones are held out.

    Args:
        source: A file, a folder, or a dataset on the Hub; see `instruction_rows.find_source` and `examples_of`.
        n: The number of examples to train on.
        seed: Of the choice.
        tokens: Turns them into samples.
        learn: Which tokens are learned; see `SampleTokens.dialogue`.
        n_held_out: The number of examples that are held out.
        progress: Shows a progress bar.

    Returns:
        The examples. The facts count what was left out in the whole source (`categories_left_out`, `without_answer`,
        `repeated`), and what was passed over before enough were found (`too_long`, `not_written`).

    Raises:
        BadInput: The source cannot be had or read, a row is not an example, or there are fewer than `n + n_held_out`.
    """
    files, revision = find_source(source)
    facts: dict[str, Any] = {"source": source} | ({"revision": revision} if revision else {})
    return _choose(facts, lambda: examples_of(files, progress), n, seed, tokens, learn, n_held_out, progress)


def made_instructions(n: int, *, seed: int, tokens: SampleTokens, learn: Learn, n_held_out: int) -> Instructions:
    """Make examples by rules (`toy_instructions`), for runs that download nothing; see `load_instructions`.

    Raises:
        BadInput: Examples are longer than `tokens.max_length`, or cannot be written with the chat template.
    """
    made = [Example("", messages) for messages in toy_instructions(n + n_held_out, seed)]
    return _choose({"source": _MADE}, lambda: made, n, seed, tokens, learn, n_held_out, no_progress)


@dataclass
class _Counts:
    """What was found in a source and left out."""

    rows: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    without_answer: int = 0
    repeated: int = 0
    too_long: int = 0
    not_written: int = 0
    reason: str = ""

    def facts(self) -> dict[str, Any]:
        return {
            "rows": self.rows, "categories_left_out": dict(sorted(self.categories.items())),
            "without_answer": self.without_answer, "repeated": self.repeated, "too_long": self.too_long,
            "not_written": self.not_written,
        }  # fmt: skip


def _choose(
    facts: dict[str, Any],
    examples: Callable[[], Iterable[Example]],
    n: int,
    seed: int,
    tokens: SampleTokens,
    learn: Learn,
    n_held_out: int,
    progress: Progress,
) -> Instructions:
    """Choose examples; only some more than are wanted are held, and the source is read again if too many are passed over."""
    wanted = n + n_held_out
    held = 2 * wanted
    while True:
        counts = _Counts()
        first = heapq.nsmallest(held, _numbered(examples(), seed, counts), key=itemgetter(0))
        samples = _samples(first, wanted, tokens, learn, counts, progress)
        if len(samples) == wanted:
            break
        if len(first) < held:
            what = ", ".join(f"{name} {value}" for name, value in counts.facts().items())
            why = f"; {counts.reason}" if counts.reason else ""
            if counts.too_long:
                why = f"; an example may have {tokens.max_length:,} tokens{why}"
            raise BadInput(
                f"instructions {facts['source']!r}: expected {n:,} examples and {n_held_out:,} to hold out, found "
                f"{len(samples):,} in all ({what}{why})"
            )
        held *= 4
    facts |= {"n": n, "held_out": n_held_out, "seed": seed} | counts.facts()
    facts["fingerprint"] = fingerprint_of([sample.id for sample in samples])
    return Instructions(samples[:n], samples[n:], facts)


def _numbered(examples: Iterable[Example], seed: int, counts: _Counts) -> Iterator[tuple[bytes, list[Message]]]:
    """Yield each conversation that counts, once, with its number."""
    seen: set[bytes] = set()
    for category, messages in examples:
        counts.rows += 1
        if category and (plain := " ".join(category.casefold().replace("_", " ").split())) in LEFT_OUT:
            counts.categories[plain] += 1
        elif not messages:
            counts.without_answer += 1
        elif (number := hashlib.sha256(json.dumps([seed, messages]).encode()).digest()) in seen:
            counts.repeated += 1
        else:
            seen.add(number)
            yield number, messages


def _samples(
    numbered: Sequence[tuple[bytes, list[Message]]],
    wanted: int,
    tokens: SampleTokens,
    learn: Learn,
    counts: _Counts,
    progress: Progress,
) -> list[Sample]:
    """Return the first samples that can be had."""
    samples: list[Sample] = []
    for number, messages in progress(numbered, "instructions", len(numbered)):
        if len(samples) == wanted:
            break
        try:
            sample = tokens.dialogue(f"instruction/{number.hex()[:16]}", messages, learn)
        except BadInput as error:
            counts.not_written += 1
            counts.reason = counts.reason or str(error)
            continue
        if tokens.max_length is not None and len(sample.ids) > tokens.max_length:
            counts.too_long += 1
        else:
            samples.append(sample)
    return samples


_WORDS = (
    "anchor", "barley", "candle", "dune", "ember", "feather", "garden", "harbour", "island", "jacket", "kettle", "lantern",
    "meadow", "needle", "orchard", "pebble", "quarry", "ribbon", "saddle", "thistle", "umbrella", "valley", "willow", "yarn",
)  # fmt: skip


def toy_instructions(n: int, seed: int) -> list[list[Message]]:
    """Return n different conversations: tasks with words and numbers, and their right answers.

    One in three has a system message, and one in three a second task.

    Args:
        n: The number of conversations.
        seed: Of the draws; the first examples are the same for every n.
    """
    draw = RandomStream("toy instructions", seed)
    found: dict[str, list[Message]] = {}
    while len(found) < n:
        messages = [_turn("system", "You are a helpful assistant.")] if draw.index(3) == 0 else []
        for _ in range(1 + (draw.index(3) == 0)):
            task, answer = draw.pick(_TASKS)(draw)
            messages += [_turn("user", task), _turn("assistant", answer)]
        found.setdefault(str(messages), messages)
    return list(found.values())


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _copy(draw: RandomStream) -> tuple[str, str]:
    words = " ".join(draw.sample(_WORDS, 3))
    return f"Repeat these words: {words}", words


def _count(draw: RandomStream) -> tuple[str, str]:
    word = draw.pick(_WORDS) + draw.pick(_WORDS)
    return f"How many letters does {word} have?", str(len(word))


def _sort(draw: RandomStream) -> tuple[str, str]:
    words = draw.sample(_WORDS, 4)
    return f"Sort these words from A to Z: {', '.join(words)}", ", ".join(sorted(words))


def _add(draw: RandomStream) -> tuple[str, str]:
    one, other = draw.between(10, 999), draw.between(10, 999)
    return f"What is {one} plus {other}?", str(one + other)


def _last(draw: RandomStream) -> tuple[str, str]:
    words = draw.sample(_WORDS, 5)
    return f"Which is the last of these words: {', '.join(words)}?", words[-1]


_TASKS: tuple[Callable[[RandomStream], tuple[str, str]], ...] = (_copy, _count, _sort, _add, _last)
