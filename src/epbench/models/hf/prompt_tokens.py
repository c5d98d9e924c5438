"""From a request to the token ids of its prompt, exactly, and fast if many requests share a long context."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from epbench.errors import BadInput, reason_of
from epbench.files.text import shown, whole
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.hf.chat_templates import render
from epbench.models.hf.checkpoint import label_ids
from epbench.models.protocol import Request

log = logging.getLogger(__name__)

_OVERLAP = 600  # characters before the first difference that are tokenised again
_OPENED = re.compile(r"<(think(?:ing)?)>\s*$")
_CHANNELS = "<|start|>assistant"  # the end of a template whose answers name their channel
_MOST_ADDED, _MOST_TIMES = 100_000, 4  # characters that a chat template may add, and how often it may repeat the prompt
_RUN = 16  # equal tokens in a row show that both tokenisations agree from there on


class _Reading(NamedTuple):
    text: str
    ids: list[int]
    starts: list[int]  # the position of the character at which each token begins


class PromptTokens:
    """Prompts as one tokenizer writes them.

    With a chat template, the prompt is a system message, a user message and the head of the answer, and the template
    alone says which special tokens there are. Without a template it is plain text: the token that begins every text of this
    tokenizer, if there is one, then system, a blank line, user, and a line that says "Answer:". A request's `answer_start`
    ends the prompt: a block of reasoning that the template opens is closed before it, and of several channels it is the last.

    Attributes:
        tokenizer: The tokenizer of transformers. What controls say is told to its chat template.
        begin: The token ids that begin every text and that no text here spells; none if there is a chat template.
    """

    def __init__(self, tokenizer: Any, controls: Controls = AS_IT_IS) -> None:
        self.tokenizer, self._controls = tokenizer, controls
        self._name = getattr(tokenizer, "name_or_path", "")
        first = [] if tokenizer.chat_template else tokenizer("a")["input_ids"][:1]
        self.begin = list(first) if first and first[0] == tokenizer.bos_token_id else []  # never what ends a text
        self._last: tuple[tuple[str, str], _Reading] | None = None
        self._shared: tuple[tuple[str, str], int] | None = None
        self._ids_of = lru_cache(maxsize=None)(partial(label_ids, tokenizer))
        self._space_after = lru_cache(maxsize=None)(self._find_space)
        self._opening = lru_cache(maxsize=1024)(self._find_opening)  # more questions than are answered at one time

    def text(self, request: Request) -> str:
        """Write the prompt as text."""
        request = self._controls.with_system(request)
        if self.tokenizer.chat_template:
            messages = [{"role": "system", "content": request.system}] if request.system else []
            asked = self._templated(self._with_system([*messages, {"role": "user", "content": request.user}]))
            start = answer_head(asked) + request.answer_start if request.answer_start else ""
        else:
            asked = whole("\n\n".join(filter(None, (request.system, request.user)))) + "\n"
            opening = request.answer_start.removeprefix("Answer:").strip()
            start = f"Answer: {opening}" if opening else "Answer:"
        if start and request.labels:
            start += self._space_after(start, request.labels[0])
        return asked + start

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Write messages with the answers among them, as `text` writes a prompt, and no head of a further answer.

        Without a chat template, each answer ends with the token that ends a text, if the tokenizer has one. Only the first
        message may be the system's; the user's follows it. `BadInput` if the chat template fails, or exceeds its limits.
        """
        if self.tokenizer.chat_template:
            return self._templated(self._with_system(messages), answer_follows=False)
        text = ""
        for message in messages:
            if message["role"] == "assistant":
                text += f"\nAnswer: {message['content']}{self.tokenizer.eos_token or ''}"
            else:
                text += ("\n\n" if text else "") + message["content"]
        return whole(text)

    def _with_system(self, messages: Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
        """Return messages that the template takes: if it has no place for the system's, the first user message has it."""
        if len(messages) < 2 or messages[0]["role"] != "system" or not self._refuses_system:
            return messages
        system, first, *others = messages
        return [{"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}, *others]

    def opening(self, request: Request) -> str:
        """Return the tag of a block of reasoning that is open when the answer begins; "" if there is none."""
        if not self.tokenizer.chat_template:
            return ""
        # It is asked for again with every few tokens of a reply.
        return self._opening(request.system, request.question, request.answer_start, request.labels)

    def _find_opening(self, system: str, question: str, answer_start: str, labels: tuple[str, ...]) -> str:
        end = _OPENED.search(self.text(Request("", system, "", question, labels=labels, answer_start=answer_start)))
        return end[0] if end else ""

    def ids(self, request: Request) -> list[int]:
        """Return the token ids of the prompt, which are those of tokenising the whole text.

        Of all requests with one context, only the first is tokenised as a whole. Of the others only the end is, if it can be
        joined where a run of tokens is the same in both.
        """
        text, about = self.text(request), (request.system, request.context)
        if not getattr(self.tokenizer, "is_fast", False):
            return self.begin + list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        if self._last and self._last[0] == about:
            joined = self._joined(self._last[1], text)
            if joined is not None:
                return self.begin + joined
        reading = self._read(text)
        self._last = about, reading
        return self.begin + reading.ids

    def label_ids(self, labels: Sequence[str]) -> Mapping[str, list[int]]:
        """Return the ids of the tokens that spell each label alone or after a space; see `checkpoint.label_ids`."""
        return {label: self._ids_of(label) for label in labels}

    def located(self, request: Request, parts: Sequence[str]) -> tuple[list[int], list[list[int]]]:
        """Return the token ids of the prompt, and the positions of the tokens of some parts of it, given in their order.

        A token belongs to a part if it has a character of it, without the white space around it. `BadInput` if a part is empty
        or not in the prompt, or the tokenizer does not say which characters a token stands for.
        """
        if not getattr(self.tokenizer, "is_fast", False):
            raise BadInput(f"model {self._name}: expected a fast tokenizer, which says where each token is in the text")
        text, before = self.text(request), len(self.begin)
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        positions: list[list[int]] = []
        behind = 0
        for number, part in enumerate(map(whole, parts)):
            words = part.strip()  # as chat templates remove white space at the ends of a message
            start = text.find(words, behind) if words else -1
            if start < 0:
                raise BadInput(
                    f"part {number} of a text: expected it behind character {behind} of {len(text)}, got {shown(part)}"
                )
            behind = start + len(words)
            offsets = enumerate(encoded["offset_mapping"], before)  # a token for no text has an empty span
            positions.append([i for i, (first, stop) in offsets if max(first, start) < min(stop, behind)])
        return self.begin + list(encoded["input_ids"]), positions

    def shared(self, request: Request) -> int:
        """Return the number of tokens at the head of the prompt that do not depend on the question."""
        about = request.system, request.context
        if not self._shared or self._shared[0] != about:
            others = [self.ids(replace(request, question=question)) for question in ("Who?", "4 of them", "\u00e9")]
            self._shared = about, common_prefix(others)
        return self._shared[1]

    def without_specials(self, text: str) -> str:
        """Remove special tokens and surrounding space from a decoded text."""
        for token in self.tokenizer.added_tokens_decoder.values():
            if token.special:
                text = text.replace(token.content, "")
        return text.strip()

    def length(self, text: str) -> int:
        """Return the number of tokens in a text that is no prompt."""
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _read(self, text: str) -> _Reading:
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return _Reading(text, list(encoded["input_ids"]), [start for start, _ in encoded["offset_mapping"]])

    def _joined(self, known: _Reading, text: str) -> list[int] | None:
        same = _common_length(known.text, text)
        first = bisect_left(known.starts, same - _OVERLAP)
        if first == 0 or first >= len(known.starts):
            return None
        offset = known.starts[first]
        tail = self._read(text[offset:])
        starts = [start + offset for start in tail.starts]
        # The first tokens of the tail may differ, because a tokenizer may mark the beginning of a text.
        for j in range(1, len(starts) - _RUN):
            i = bisect_left(known.starts, starts[j], lo=first)
            if i + _RUN >= len(known.starts) or known.starts[i + _RUN] > same - _OVERLAP // 2:
                return None
            run = slice(i, i + _RUN), slice(j, j + _RUN)
            if known.ids[run[0]] == tail.ids[run[1]] and known.starts[run[0]] == starts[run[1]]:
                return known.ids[:i] + tail.ids[j:]
        return None

    def _find_space(self, start: str, label: str) -> str:
        """Return the space between the start of an answer and its label if it is a token of its own; else ""."""
        # With such a tokenizer the next token is the space, whatever the answer, and no label has a probability without it.
        texts = f"{start} ", f"{start} {label}"
        spaced, whole = (list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts)
        return " " if whole[: len(spaced)] == spaced else ""

    def _templated(self, messages: Sequence[Mapping[str, str]], *, answer_follows: bool = True) -> str:
        """Write messages with the chat template, and the head of an answer if one follows."""
        cleaned = [{"role": message["role"], "content": whole(message["content"])} for message in messages]
        most = _MOST_ADDED + _MOST_TIMES * sum(len(message["content"]) for message in cleaned)
        try:
            values = self._controls.template_values
            return render(self.tokenizer, cleaned, answer_follows=answer_follows, most=most, values=values)
        except Exception as error:  # tokenizers and templates may raise anything
            raise BadInput(
                f"model {self._name}: its chat template cannot write the prompt ({reason_of(error)})"
            ) from error

    @cached_property
    def _refuses_system(self) -> bool:
        """Whether the template has no place for a system message, so that it raises or leaves the text out."""
        system = "a system message"
        try:
            text = self._templated([{"role": "system", "content": system}, {"role": "user", "content": "a question"}])
        except Exception as error:  # templates may raise anything
            log.info("system text goes into the user message: the chat template refuses it (%s)", error)
            return True
        if system not in text:
            log.info("system text goes into the user message: the chat template leaves it out")
        return system not in text


def answer_head(prompt: str) -> str:
    """Return what has to come between a templated prompt and the start of the answer itself.

    It closes a block of reasoning that the prompt opens, or opens the last channel of an answer in channels; else "".
    """
    if opened := _OPENED.search(prompt):
        return f"\n</{opened[1]}>\n\n"
    return "<|channel|>final<|message|>" if prompt.endswith(_CHANNELS) else ""


def common_prefix(prompts: Sequence[Sequence[int]]) -> int:
    """Return the number of equal tokens at the head of all prompts."""
    first = prompts[0]
    shared = len(first)
    for other in prompts[1:]:
        shared = min(shared, len(other))
        if first[:shared] != other[:shared]:
            shared = _common_length(first[:shared], other[:shared])
    return shared


def _common_length(first: Any, second: Any) -> int:
    """Return the length of the common head of two strings or lists, by bisection; slices compare at the speed of C."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
