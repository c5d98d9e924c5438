"""The protocol of a reader: what it is asked and what it gives back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn.

    Attributes:
        max_tokens: of the answer, at least 1.
        temperature: 0 is greedy.
        seed: of the draw; without meaning at temperature 0. Not every endpoint keeps it.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. Requests with the same context should follow one another: it is read once.

    Attributes:
        id: of the question.
        system: what the model is told to be.
        context: the shared part of the prompt: instructions and the book, or what was retrieved of it.
        question: the part of the prompt that differs; it follows the context after a blank line.
        sampling: how the answer is drawn.
        repeat: number of this draw, from 0, where a question is asked several times.
        schema: JSON schema that the answer must follow, or None for free text.
        labels: answers whose probabilities are wanted, such as `("A", "B")`: nothing is generated but the first token.
            An endpoint may say more before it comes to the label, and generates up to `sampling.max_tokens`.
        answer_start: words that the answer begins with, such as `Answer: Segment`; they are no part of the reply.
            Endpoints cannot be made to begin so, and get the prompt without.
    """

    id: str
    system: str
    context: str
    question: str
    sampling: Sampling = field(default_factory=Sampling)
    repeat: int = 0
    schema: Mapping[str, Any] | None = None
    labels: tuple[str, ...] = ()
    answer_start: str = ""

    @property
    def user(self) -> str:
        """The whole user message, the shared part first."""
        return f"{self.context}\n\n{self.question}" if self.context else self.question

    def key(self, model: str) -> str:
        """Hash of all that the answer depends on; the journal's key."""
        drawn = (self.sampling.max_tokens, self.sampling.temperature, self.sampling.seed, self.repeat)
        parts = [model, self.id, self.system, _digest(self.context), self.question, drawn, self.schema, self.labels]
        if self.answer_start:  # only then, so that journals from before there was any keep their keys
            parts.append(self.answer_start)
        return _digest(json.dumps(parts, sort_keys=True))[:24]


@lru_cache(maxsize=64)  # one long context stands in many requests
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request.

    Attributes:
        prompt: of the whole prompt.
        cached: of these, how many were not computed anew because a prefix was shared.
        completion: generated.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a text, or the reason why none did. A failure is neither right nor wrong.

    Attributes:
        key: the request's key.
        id: the request's id.
        text: the answer, without any block of reasoning before it.
        reasoning: that block, if there was one.
        failure: why there is no answer; None if there is one.
        probabilities: of each wanted label, over the whole vocabulary (they sum to at most 1).
        usage: tokens.
    """

    key: str
    id: str
    text: str = ""
    reasoning: str = ""
    failure: str | None = None
    probabilities: Mapping[str, float] | None = None
    usage: Usage = Usage()


class Model(Protocol):
    """A reader: answers requests as fast as it can, shared contexts read once."""

    @property
    def name(self) -> str:
        """As on the command line: `lexical`, `hf:PATH`, `vllm:PATH`, `openai:NAME`."""
        ...

    def window(self) -> int | None:
        """Most tokens that prompt and answer may have together; None if unknown or without limit.

        Known before any weights are loaded.
        """
        ...

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """(tokens of the whole prompt, of these those of the part that requests of one context share).

        Exact where the tokenizer is at hand, else an estimate. No weights are loaded for it.
        """
        ...

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """One reply for each request, as soon as it is there, in any order; closing it ends what is open."""
        ...
