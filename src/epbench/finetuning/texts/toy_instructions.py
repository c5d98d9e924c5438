"""Examples of following instructions made by rules, so that a run that downloads nothing has some."""

from __future__ import annotations

from collections.abc import Callable

from epbench.draws import RandomStream
from epbench.finetuning.texts.turns import Message

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
