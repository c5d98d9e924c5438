"""Takes the reasoning off the front of an answer."""

from __future__ import annotations

import re

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
        said = _CHANNEL_END.split(_CHANNEL_HEAD.sub("", text[mark.end() : end]))[0].strip()
        (final if mark[1] == "final" else reasoning).append(said)
    return "\n\n".join(filter(None, reasoning)), "\n\n".join(filter(None, final))
