"""Tells whether what a model generated is an answer, without its reasoning and without repetitions.

A lost answer is a failure, never an abstention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from epbench.models.json_replies import is_whole_json
from epbench.models.protocol import Reply, Request


def as_answered(request: Request, reply: Reply, *, cut: bool, thought: bool = False) -> Reply:
    """Return the reply unchanged if it has an answer, else as a failure with the reason.

    A text that was cut off is an answer only if it is complete JSON, if the request keeps cut texts, if a label is
    wanted, which comes at the beginning, or if it goes in circles although free text was wanted: with greedy decoding,
    neither more tokens nor another try would make it say anything new. It then loses its repetitions.
    An empty text is no answer, unless the probabilities of the labels are known.

    `reply` is what came, as far as it is known, `cut` whether generation ended because the tokens ran out, and `thought` whether
    the model is known to have reasoned although the reply does not show it.
    """
    if not reply.text and reply.probabilities is None:
        reason = _why_empty(request, reply, cut, thought or bool(reply.reasoning))
        return replace(reply, failure=reason, ended="length" if cut else "empty")
    if not cut or reply.probabilities is not None:
        return reply
    if request.keep_cut or request.labels or is_whole_json(reply.text):
        return replace(reply, ended="length")
    if may_loop(request) and (first_round := text_of_first_round(reply.text)):
        return replace(reply, text=first_round, ended="loop")
    return replace(reply, failure=f"the answer was cut off: {_spent(request, reply)}", ended="length")


def may_loop(request: Request) -> bool:
    """Whether an answer that goes in circles is one: free text, decoded greedily."""
    free = not (request.labels or request.keep_cut) and request.schema is None
    return free and request.sampling.temperature == 0


def _why_empty(request: Request, reply: Reply, cut: bool, thought: bool) -> str:
    if not cut:
        return "the model gave no answer after its thinking" if thought else "the reply is empty"
    if not thought:
        return f"the reply is empty: {_spent(request, reply)}"
    if _stopped_early(request, reply):
        return f"the model was cut off while it was thinking: {_spent(request, reply)}"
    return f"the model used all {_token_limit(request)} for thinking and gave no answer"


def _spent(request: Request, reply: Reply) -> str:
    if _stopped_early(request, reply):  # without its number of tokens, so that equal reasons are counted together
        return f"the model's window or another limit ended it before the {_token_limit(request)} it may have"
    return f"it used all {_token_limit(request)} it may have"


def _stopped_early(request: Request, reply: Reply) -> bool:
    return 0 < reply.usage.completion < request.sampling.max_tokens


def _token_limit(request: Request) -> str:
    n = request.sampling.max_tokens
    return f"{n:,} token{'' if n == 1 else 's'}"


_ROUNDS = 4
_LONG_ENOUGH = 128  # words and other characters in all rounds together: about as many tokens
_UNIT = re.compile(r"\w+|\W")
_ENDS = frozenset("\n.!?。！？")
_LIST_NUMBER = "number of a line"


def text_of_first_round(text: str) -> str | None:
    """Return a text without its repetitions; None if it does not end in a loop.

    It does if its end is one passage at least four times, which together are at least 128 words, spaces and other
    characters. The last word does not count, as it may be a part of one, and neither do the numbers of a list, so that
    `8. Oslo`, `9. Oslo`, `10. Oslo` is a loop too. What is left ends between words, and with a line or a sentence if the
    passage has such an end, so that no name or date is cut.
    """
    units: list[str] = _UNIT.findall(text)
    end = _end_of_first_round(_without_list_numbers(units)[:-1])
    return None if end is None else "".join(units[:end]).rstrip()


def _without_list_numbers(units: Sequence[str]) -> list[str]:
    """Replace every number that begins a line and is followed by a full stop or a bracket."""
    before, after = ["\n", *units], [*units[1:], ""]  # one longer than it need be, so that there may be no units
    return [
        _LIST_NUMBER if unit.isdigit() and start == "\n" and end in (".", ")") else unit
        for start, unit, end in zip(before, units, after, strict=False)
    ]


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
    prompt has the opening one), or by channels: `<|channel|>analysis…<|channel|>final…`. Later tags belong to the
    answer. If reasoning has no end, it was cut off: the whole text is reasoning and the answer is empty.
    """
    if "<|channel|>" in text:
        return _split_channels(text)
    bare = _BARE_CHANNELS.fullmatch(text)
    if bare:
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
