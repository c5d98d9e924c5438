"""What is in a model's reply: an answer or none, without reasoning and repetitions, and the JSON objects in it.

A lost answer is a failure, never an abstention. This is the only place that parses JSON in replies; prose and fences around an
object do not matter. An object in which a key is repeated has two meanings, and must not be believed, so it says that of itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from epbench.errors import UnusableReply
from epbench.models.protocol import Reply, Request

WITHOUT_TEXT = ("empty", "length")
"""Ways in which a failed reply may have ended (see `Reply.ended`) if it was unusable rather than lost: ask once more."""


def as_answered(request: Request, reply: Reply, *, cut: bool, thought: bool = False) -> Reply:
    """Return the reply unchanged if it has an answer, else as a failure with the reason.

    A text that was cut off is an answer only if it is complete JSON, if the request keeps cut texts, if a label is
    wanted, which comes at the beginning, or if it goes in circles although free text was wanted: with greedy decoding,
    neither more tokens nor another try would make it say anything new. It then loses its repetitions.

    `cut` is whether generation ended because the tokens ran out, and `thought` whether the model is known to have reasoned
    although the reply does not show it.
    """
    most = request.sampling.max_tokens
    if not reply.text and reply.probabilities is None:
        reason = _why_empty(reply, most, cut, thought or bool(reply.reasoning))
        return replace(reply, failure=reason, ended="length" if cut else "empty")
    if not cut or reply.probabilities is not None:
        return reply
    if request.keep_cut or request.labels or is_whole_json(reply.text):
        return replace(reply, ended="length")
    if may_loop(request) and (first_round := text_of_first_round(reply.text)):
        return replace(reply, text=first_round, ended="loop")
    return replace(reply, failure=f"the answer was cut off: {_spent(reply, most)}", ended="length")


def may_loop(request: Request) -> bool:
    """Whether an answer that goes in circles is one: free text, decoded greedily."""
    free = not (request.labels or request.keep_cut) and request.schema is None
    return free and request.sampling.temperature == 0


def _why_empty(reply: Reply, most: int, cut: bool, thought: bool) -> str:
    if not cut:
        return "the model gave no answer after its thinking" if thought else "the reply is empty"
    if not thought:
        return f"the reply is empty: {_spent(reply, most)}"
    if 0 < reply.usage.completion < most:
        return f"the model was cut off while it was thinking: {_spent(reply, most)}"
    return f"the model used all {_tokens(most)} for thinking and gave no answer"


def _spent(reply: Reply, most: int) -> str:
    if 0 < reply.usage.completion < most:  # without its number of tokens, so that equal reasons are counted together
        return f"the model's window or another limit ended it before the {_tokens(most)} it may have"
    return f"it used all {_tokens(most)} it may have"


def _tokens(n: int) -> str:
    return f"{n:,} token{'' if n == 1 else 's'}"


_ROUNDS = 4
_LONG_ENOUGH = 128  # words and other characters in all rounds together: about as many tokens
_UNIT = re.compile(r"\w+|\W")
_ENDS = frozenset("\n.!?。！？")
_LIST_NUMBER = "number of a line"


def text_of_first_round(text: str) -> str | None:
    """Return a text without its repetitions; None if it does not end in a loop.

    It does if its end is one passage at least four times, which together are at least 128 words, spaces and other
    characters. The numbers of a list do not count, so that `8. Oslo`, `9. Oslo`, `10. Oslo` is a loop too. What is left ends
    between words, and with a line or a sentence if the passage has such an end, so that no name or date is cut.
    """
    units: list[str] = _UNIT.findall(text)
    without_numbers = [
        _LIST_NUMBER if unit.isdigit() and before == "\n" and after in (".", ")") else unit
        for before, unit, after in zip(["\n", *units], units, units[1:], strict=False)  # the last may be cut off
    ]
    end = _end_of_first_round(without_numbers)
    return None if end is None else "".join(units[:end]).rstrip()


def _end_of_first_round(sequence: Sequence[str]) -> int | None:
    """Return where a sequence has said all that it goes on to repeat until its end; None if it ends in no loop."""
    n = len(sequence)
    for length in range(1, n // _ROUNDS + 1):
        repeated = max(_ROUNDS, -(-_LONG_ENOUGH // length)) * length
        if repeated <= n and sequence[n - repeated : n - length] == sequence[n - repeated + length :]:
            start = n - repeated
            while start and sequence[start - 1] == sequence[start - 1 + length]:
                start -= 1
            end = start + length
            return next((i + 1 for i in range(end - 1, end - 1 + length) if sequence[i] in _ENDS), end)
    return None


_BLOCK = re.compile(r"\s*<(think|thinking)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"\s*<(think|thinking)>(.*)", re.DOTALL | re.IGNORECASE)
_LONE_END = re.compile(r"(.*?)</(think|thinking)>", re.DOTALL | re.IGNORECASE)
_ANY_TAG = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_CHANNEL_HEAD = re.compile(r"^[^<]*<\|message\|>")  # between the name of a channel and its text
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
# Channels that were decoded without their special tokens.
_BARE_CHANNELS = re.compile(r"\s*analysis(.*?)assistantfinal(.*)", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """Split what a model wrote into (reasoning, answer), both stripped.

    Reasoning is marked by `<think>…</think>` or `<thinking>…</thinking>` before the answer, by an end tag alone (if the
    prompt has the opening one), or by channels: `<|channel|>analysis…<|channel|>final…`. Without an end, the whole text is
    reasoning and the answer is empty.
    """
    if "<|channel|>" in text:
        return _split_channels(text)
    if bare := _BARE_CHANNELS.fullmatch(text):
        return bare[1].strip(), bare[2].strip()
    thoughts = []
    lone = _LONE_END.match(text)
    if lone and not _ANY_TAG.search(lone[1]):
        thoughts.append(lone[1])
        text = text[lone.end() :]
    while block := _BLOCK.match(text):
        thoughts.append(block[2])
        text = text[block.end() :]
    if cut_off := _OPEN.match(text):
        thoughts.append(cut_off[2])
        text = ""
    return "\n\n".join(t.strip() for t in thoughts if t.strip()), text.strip()


def _split_channels(text: str) -> tuple[str, str]:
    marks = list(_CHANNEL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    reasoning: list[str] = []
    final: list[str] = []
    for mark, end in zip(marks, ends, strict=True):
        message = _CHANNEL_END.split(_CHANNEL_HEAD.sub("", text[mark.end() : end]))[0].strip()
        (final if mark[1] == "final" else reasoning).append(message)
    return "\n\n".join(filter(None, reasoning)), "\n\n".join(filter(None, final))


_FENCED = re.compile(r"```\w*\s*(.*?)\s*(?:```)?", re.DOTALL)
_BLANKS = " \t\n\r\f\v"  # not all that Unicode calls white space: float refuses some of it
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class RepliedObject(dict[str, Any]):
    """A JSON object in a reply; those of `objects_in` also name a key that is repeated in an object inside them."""

    repeated: str | None = None  # a key that the object has more than once; None if there is no such key


def objects_in(text: str) -> Iterator[RepliedObject]:
    """Yield all outermost JSON objects in a text, from left to right.

    >>> list(objects_in('Let me see. ```{"choice": "C"}``` {no'))
    [{'choice': 'C'}]
    >>> [found.repeated for found in objects_in('{"choice": "C", "choice": "D"}')]
    ['choice']
    """
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, Any]]) -> RepliedObject:
        replied = RepliedObject(pairs)
        if len(replied) < len(pairs):
            keys = [key for key, _ in pairs]
            replied.repeated = next(key for key in keys if keys.count(key) > 1)
            repeated.append(replied.repeated)
        return replied

    decoder = json.JSONDecoder(object_pairs_hook=as_object)
    start = text.find("{")
    while start >= 0:
        repeated.clear()
        try:
            outermost, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            outermost.repeated = repeated[0] if repeated else None
            yield outermost
        start = text.find("{", end)


def all_objects_in(text: str) -> Iterator[RepliedObject]:
    """Yield all JSON objects in a text, each before the objects inside it.

    >>> list(all_objects_in('{"answers": [{"1": true}]}'))
    [{'answers': [{'1': True}]}, {'1': True}]
    """
    for outermost in objects_in(text):
        waiting: list[Any] = [outermost]
        while waiting:
            value = waiting.pop()
            if isinstance(value, RepliedObject):
                yield value
                waiting += reversed(value.values())
            elif isinstance(value, list):
                waiting += reversed(value)


def last_object_with(text: str, *keys: str) -> RepliedObject:
    """Return the last JSON object in a text with these keys; `UnusableReply` if there is none, or a key in it is repeated."""
    candidates = [candidate for candidate in objects_in(text) if all(key in candidate for key in keys)]
    if not candidates:
        raise UnusableReply(f"no JSON object with {' and '.join(keys)} was found")
    last = candidates[-1]
    if last.repeated is not None:
        raise UnusableReply(
            f"the object has {json.dumps(last.repeated)[:60]} more than once, each field is expected once"
        )
    return last


def number_of(value: Any) -> float | None:
    """Return a finite number, given as such or as decimal text (`1`, `"0.5"`, `" 1.0 "`); None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip(_BLANKS)):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Integers are finite, and `isfinite` cannot take very large ones.
    return value if isinstance(value, int) or math.isfinite(value) else None


def boolean_of(value: Any) -> bool | None:
    """Return a boolean, given as such or as the text `true` or `false` in any case; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def is_whole_json(text: str) -> bool:
    """Return whether the text is one complete JSON object or array, alone or in a code fence.

    >>> [is_whole_json(text) for text in ('{"choice": "C"}', '```json\\n[1]\\n```', '{"choice": ', 'Here: {}')]
    [True, True, False, False]
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        return isinstance(json.loads(fenced[1] if fenced else text), dict | list)
    except (ValueError, RecursionError):
        return False
