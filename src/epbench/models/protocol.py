"""The protocol of a reader: what it is asked and what it gives back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

Ended = Literal["stop", "length", "refusal", "content_filter", "empty"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_FINGERPRINT = re.compile(r"(?<=.)@[0-9a-f]{12,64}$")


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
        keep_cut: a text that ran out of tokens is wanted all the same, because whoever asked judges it by checks of
            their own. The answer does not depend on it, so it is not part of the key.
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
    keep_cut: bool = False

    @property
    def user(self) -> str:
        """The whole user message, the shared part first."""
        return f"{self.context}\n\n{self.question}" if self.context else self.question

    def key(self, model: str) -> str:
        """Hash of all that the answer depends on; the journal's key.

        Args:
            model: the model's `identity`.
        """
        drawn = (self.sampling.max_tokens, self.sampling.temperature, self.sampling.seed, self.repeat)
        parts = [model, self.id, self.system, _digest(self.context), self.question, drawn, self.schema, self.labels]
        if self.answer_start:  # only then, so that journals from before there was any keep their keys
            parts.append(self.answer_start)
        return _digest(json.dumps(parts, sort_keys=True))[:24]


@lru_cache(maxsize=64)  # one long context stands in many requests
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def whole(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot hold; what is sent must be so."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


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
        text: the answer, without any block of reasoning before it; of a failed reply, the part of an answer that came.
        reasoning: that block, if there was one.
        failure: why there is no answer; None if there is one.
        probabilities: of each wanted label, over the whole vocabulary (they sum to at most 1).
        usage: tokens.
        ended: why generation ended where that was not the usual end: `length` (the tokens ran out), `refusal`,
            `content_filter` or `empty`.
        served: the name that an endpoint gives the model that answered, where it is not the name that was asked for.
    """

    key: str
    id: str
    text: str = ""
    reasoning: str = ""
    failure: str | None = None
    probabilities: Mapping[str, float] | None = None
    usage: Usage = Usage()
    ended: Ended = "stop"
    served: str = ""


class Model(Protocol):
    """A reader: answers requests as fast as it can, shared contexts read once."""

    @property
    def name(self) -> str:
        """The name by which the user chose it, such as `lexical`, `hf:PATH`, `vllm:PATH` or `openai:NAME`."""
        ...

    @property
    def identity(self) -> str:
        """The name, and for weights on this machine their fingerprint, as `hf:PATH@1f0c3a…`.

        Journal keys are made of it. The first use reads the files of the weights, but loads nothing.
        """
        ...

    @property
    def costs_nothing(self) -> bool:
        """Whether it answers by rules, so that a run needs no estimate of its cost and texts may have any length."""
        ...

    @property
    def continues_prompts(self) -> bool:
        """Whether an answer continues the prompt, so that it begins as `Request.answer_start` says.

        The label is then the first token of the answer. An endpoint writes its answers itself and may say more before
        it comes to the label.
        """
        ...

    def window(self) -> int | None:
        """Return how many tokens prompt and answer may have together; None if this is unknown or unlimited.

        This is known before any weights are loaded.
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


@runtime_checkable
class KeepsReplies(Protocol):
    """What a model has in addition whose replies come in another thread than that of the reader."""

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """As `Model.answer`; each reply is given to `keep` first, in the thread in which it came, at that moment.

        One call of `keep` ends before the next begins. What it raises ends the generator with that error.
        """
        ...


def weights_of(model: Model) -> dict[str, str]:
    """What a run's identity says of the model's weights: `{"weights": fingerprint}`, or nothing where none is known."""
    fingerprint = model.identity.removeprefix(model.name).removeprefix("@")
    return {"weights": fingerprint} if fingerprint else {}


def name_of(identity: str) -> str:
    """The name in a model's `identity`, as the command line takes it.

    >>> name_of("hf:models/tiny@1f0c3a9b2d4e")
    'hf:models/tiny'
    """
    return _FINGERPRINT.sub("", identity) if identity.startswith(("hf:", "vllm:")) else identity
