"""Conversations as a tokenizer writes and reads them: where messages and tokens stand, and the marks between messages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.models.protocol import whole

Message = Mapping[str, str]
"""A turn of a conversation: its `role` (system, user or assistant) and its `content`."""

Span = tuple[int, int]
"""The index of a first character, and the index after the last one."""

_PLACE = re.compile("\ue000(\\d+)\ue001")  # stands for a message; a template treats it like any other word


def check_turns(messages: Sequence[Message]) -> None:
    """Check that a conversation begins with the user, perhaps after the system, and ends with an answer.

    Raises:
        BadInput: It does not, or an answer is blank.
    """
    roles = [message["role"] for message in messages]
    turns = roles[roles[:1] == ["system"] :]
    if not set(turns) <= {"user", "assistant"} or turns[:1] != ["user"] or turns[-1] != "assistant":
        found = ", ".join(roles[:8]) or "nothing"
        raise BadInput(f"expected the roles user, assistant, …, assistant, perhaps after system, found {found}")
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and not message["content"].strip():
            raise BadInput(f"message {number}: expected an answer, found {shown(message['content'])}")


def written_turns(prompts: PromptTokens, messages: Sequence[Message]) -> tuple[str, list[Span]]:
    """Write a conversation, and find each message in what was written.

    The conversation is written a second time with other words for the messages. So it is known what the template adds, and
    a message is found even if the same words occur elsewhere. White space at the ends of a message may be missing.

    Returns:
        The text, and where each message begins and ends in it.

    Raises:
        BadInput: The chat template fails, or what it writes is more than the messages and words of its own.
    """
    text = prompts.conversation(messages)
    frame = prompts.conversation([{**message, "content": f"\ue000{i}\ue001"} for i, message in enumerate(messages)])
    first, *rest = _PLACE.split(frame)
    numbers, pieces = list(map(int, rest[::2])), rest[1::2]
    spans: dict[int, Span] = {}
    place = len(first)
    for number, piece in zip(numbers, pieces, strict=True):
        content = whole(messages[number]["content"])
        forms = content, content.strip(), content.lstrip(), content.rstrip()
        form = next((form for form in forms if text.startswith(form + piece, place)), None)
        if form is None or number in spans:
            raise BadInput(f"message {number}: the chat template changes it ({shown(content)})")
        spans[number] = place, place + len(form)
        place += len(form) + len(piece)
    missing = sorted(set(range(len(messages))) - set(spans))
    if missing or place != len(text) or not text.startswith(first):
        raise BadInput(
            f"message {missing[0] if missing else len(messages) - 1}: the chat template does not write all of it"
        )
    return text, [spans[number] for number in range(len(messages))]


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text.

    Attributes:
        text: The text.
        ids: The id of each token.
        starts: For each token, the index of its first character.
        ends: For each token, the index after its last character.
        marks: The ids of the marks that were added to the vocabulary of pieces of words, such as special tokens.
    """

    text: str
    ids: list[int]
    starts: Sequence[int]
    ends: Sequence[int]
    marks: Container[int]

    def within(self, span: Span) -> range:
        """Return the positions of the tokens that have a character of the span."""
        return range(bisect_right(self.ends, span[0]), bisect_left(self.starts, span[1]))

    def mark_behind(self, place: int) -> int | None:
        """Return the position of the mark at or behind a character, with at most white space between, if there is one."""
        behind = range(bisect_left(self.starts, place), len(self.ids))
        first = next(filter(self._shows, behind), None)
        return first if first is not None and self.ids[first] in self.marks else None

    def last(self) -> int | None:
        """Return the position of the last token that is more than white space, if there is one."""
        return next(filter(self._shows, reversed(range(len(self.ids)))), None)

    def _shows(self, i: int) -> bool:
        return bool(self.text[self.starts[i] : self.ends[i]].strip())


def tokenised(tokenizer: Any, text: str) -> Tokens:
    """Return the tokens of a text that holds its own special tokens."""
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    starts, ends = zip(*encoded["offset_mapping"], strict=True) if encoded["input_ids"] else ((), ())
    return Tokens(text, list(encoded["input_ids"]), starts, ends, tokenizer.added_tokens_decoder)


def marks_of(tokenizer: Any, written: Iterable[int]) -> re.Pattern[str]:
    """Return a pattern of the marks that a tokenizer reads as one token each, wherever they stand.

    Args:
        tokenizer: The tokenizer of transformers.
        written: The ids of a conversation. Some templates write marks that the tokenizer does not call special.
    """
    added, ids = tokenizer.added_tokens_decoder, set(written)
    marks = {token.content for id_, token in added.items() if token.special or id_ in ids}
    longest_first = sorted(filter(str.strip, marks), key=lambda mark: (-len(mark), mark))
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def check_spelling(marks: re.Pattern[str], messages: Sequence[Message]) -> None:
    """Check that no message spells a mark: as a token it would end the turn or the text, whatever was meant by it.

    Raises:
        BadInput: A message does.
    """
    for number, message in enumerate(messages):
        if found := marks.search(message["content"]):
            raise BadInput(
                f"message {number} ({message['role']}), character {found.start()}: expected plain text, found "
                f"{shown(found[0])}, which is a special token of this model"
            )
