"""The protocol of a language model: requests, replies, and what every model offers."""

from __future__ import annotations

import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from epbench.errors import BadInput

MOST_TOKENS = 10_000_000
"""The longest answer that can be asked for, in tokens; no model has such a window."""

T = TypeVar("T")
Ended = Literal["stop", "length", "loop", "refusal", "content_filter", "empty"]

_FINGERPRINT = re.compile(r"(?<=.)@(?:(?:[0-9a-f]{12,64}|(?=\+))(?:\+[0-9a-f]{12})?(?:-b?float\d\d)?|b?float\d\d)$")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn.

    Attributes:
        max_tokens: the largest number of tokens in the answer, 1 to `MOST_TOKENS`.
        temperature: 0 for the most probable tokens, else the temperature at which tokens are drawn; finite.
        seed: of the draws; it has no effect at temperature 0, and not every endpoint honours it.

    Raises:
        BadInput: a value is out of its range.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise BadInput(f"max_tokens: expected at least 1, got {self.max_tokens}")
        if self.max_tokens > MOST_TOKENS:
            raise BadInput(f"max_tokens: expected at most {MOST_TOKENS:,}, got {self.max_tokens:,}")
        if not 0 <= self.temperature < math.inf:
            raise BadInput(f"temperature: expected a finite number of at least 0, got {self.temperature}")


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. Requests with the same context should follow one another, so that it is read once.

    Attributes:
        id: of the question.
        system: the system message; it may be empty.
        context: the shared part of the prompt: instructions and the book, or the passages that were retrieved.
        question: the part of the prompt that differs; it follows the context after a blank line.
        sampling: how the answer is drawn.
        repeat: number of this draw, from 0, if a question is asked several times.
        schema: JSON schema that the answer must follow; None for free text.
        labels: answers whose probabilities are wanted, such as `("A", "B")`; only the first token is generated. An
            endpoint may say more before it comes to the label, and generates up to `sampling.max_tokens`.
        answer_start: words with which the answer begins, such as `Answer: Segment`; the reply does not include them.
            Endpoints cannot be made to begin like this, so they get the prompt without these words.
        keep_cut: whether a text that was cut off is wanted all the same, because the caller checks it. The answer does
            not depend on this, so it is not part of the key.
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
        """The whole user message, with the shared part first."""
        return f"{self.context}\n\n{self.question}" if self.context else self.question

    def key(self, model: str) -> str:
        """Hash everything that the answer depends on; this is the key in journals."""
        drawn = (self.sampling.max_tokens, self.sampling.temperature, self.sampling.seed, self.repeat)
        parts = [model, self.id, self.system, _digest(self.context), self.question, drawn, self.schema, self.labels]
        if self.answer_start:  # left out if empty, so that older journals keep their keys
            parts.append(self.answer_start)
        return _digest(json.dumps(parts, sort_keys=True))[:24]


@lru_cache(maxsize=64)  # many requests share one long context
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def too_long(prompt: int, answer: int, window: int | None) -> str | None:
    """Say why a prompt and an answer of so many tokens do not fit in a window; None if they do, or if it is unknown."""
    if window is None or prompt + answer <= window:
        return None
    return f"prompt of {prompt:,} tokens and answer of {answer:,} do not fit in the window of {window:,} tokens"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request; 0 also stands for an unknown number.

    Attributes:
        prompt: number of tokens in the whole prompt.
        cached: how many of these were not computed because a prefix was shared.
        completion: number of generated tokens.
        thinking: how many of these are of reasoning before the answer.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    thinking: int = 0

    @property
    def record(self) -> dict[str, int]:
        """What a journal says of it; tokens of thinking only if there are any, as in the journals of earlier versions."""
        return {name: n for name, n in asdict(self).items() if n or name != "thinking"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or the reason why there is none. A failure is neither right nor wrong.

    Attributes:
        key: the key of the request.
        id: the id of the request.
        text: the answer without any reasoning before it; in a failed reply, as much of an answer as there is.
        reasoning: the reasoning before the answer, if there is any.
        failure: why there is no answer; None if there is one.
        probabilities: by wanted label, its probability over the whole vocabulary; they sum to at most 1.
        usage: tokens of prompt and answer.
        ended: how generation ended: `stop` is the usual end; the others are `length` (the tokens ran out), `loop` (it
            went in circles, and the answer is its first round), `refusal`, `content_filter` and `empty`.
        served: the name that an endpoint gives the model that answered, if it is not the name in the request.
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
    """Answers requests as fast as it can, and reads shared contexts once."""

    @property
    def name(self) -> str:
        """The name by which the user chose it, such as `lexical`, `hf:PATH`, `vllm:PATH` or `openai:NAME`."""

    @property
    def identity(self) -> str:
        """The name, followed for weights on this machine by their fingerprint, as `hf:PATH@1f0c3a…`; see `Variant.identity`.

        It is part of the keys in journals. The first use reads the files of the weights, but loads nothing.
        """

    @property
    def costs_nothing(self) -> bool:
        """Whether it answers by rules, so that a run needs no estimate of its cost and texts may have any length."""

    @property
    def continues_prompts(self) -> bool:
        """Whether an answer continues the prompt, so that the label that follows `Request.answer_start` is its first token."""

    def window(self) -> int | None:
        """Return how many tokens prompt and answer may have together, before weights are loaded; None if unknown or unlimited."""

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Return the number of tokens in the whole prompt, and in the part that requests with one context share.

        The numbers are exact if the tokenizer is at hand, else estimates. No weights are loaded.
        """

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """Yield one reply for each request as soon as it is there, in any order; closing the generator ends open requests."""


@runtime_checkable
class KeepsReplies(Protocol):
    """What a model also offers if its replies arrive in a thread of their own."""

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """Answer as `Model.answer` does, and pass each reply to `keep` at once, in the thread in which it arrives.

        One call of `keep` ends before the next begins. An exception that it raises ends the generator.
        """


@runtime_checkable
class KeepsNotes(Protocol):
    """What a model also offers if it has to remember what it has submitted, beyond the replies."""

    notes: Path | None
    """Its journal, in the folder of the answers; None until it is asked for the first time."""


def address_of(model: Model) -> str:
    """Return the URL to which requests go, without login, query and final slash; empty for the provider's own."""
    return str(getattr(model, "address", ""))


def engine_of(model: Model) -> dict[str, Any]:
    """Return what a run notes about where answers come from: `{"engine": …}`, or `{}` if they come from this process."""
    engine = getattr(model, "engine", None)
    return {"engine": engine} if engine else {}


def variant_of(model: Model) -> dict[str, dict[str, Any]]:
    """Return what run.json says of a model beside its identity: `{"model_args": …}`, or `{}` if its name says all."""
    about: dict[str, Any] = getattr(model, "about_variant", dict)()
    return {"model_args": about} if about else {}


def weights_of(model: Model) -> dict[str, str]:
    """Return what the identity of a run says about the weights: `{"weights": fingerprint}`, or `{}` if it is unknown."""
    fingerprint = model.identity.removeprefix(model.name).removeprefix("@")
    return {"weights": fingerprint} if fingerprint else {}


def name_of(identity: str) -> str:
    """Return the name in a model's `identity`, without the fingerprint.

    >>> name_of("hf:models/tiny@1f0c3a9b2d4e")
    'hf:models/tiny'
    """
    return _FINGERPRINT.sub("", identity) if identity.startswith(("hf:", "vllm:")) else identity


class RuleBasedReader(ABC):
    """A `Model` without a language model."""

    name: str
    costs_nothing = True
    continues_prompts = True

    @property
    def identity(self) -> str:
        """The name: there are no weights."""
        return self.name

    def window(self) -> int | None:
        """Return None, because rules read a text of any length."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Count words: those of the prompt, and those of its shared part."""
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`; the replies come in the order of the requests."""
        for request in requests:
            yield Reply(request.key(self.identity), request.id, self.answer_to(request))

    @abstractmethod
    def answer_to(self, request: Request) -> str:
        """Answer one request."""


def packed(
    items: Iterable[T], size_of: Callable[[T], int], most: int, most_items: float = math.inf
) -> Iterator[list[T]]:
    """Split items into runs, in order, of at most this size and number; an item that is larger is a run of its own."""
    run: list[T] = []
    taken = 0
    for item in items:
        size = size_of(item)
        if run and (len(run) >= most_items or taken + size > most):
            yield run
            run, taken = [], 0
        run.append(item)
        taken += size
    if run:
        yield run


def by_context(requests: Iterable[Request]) -> list[list[Request]]:
    """Group requests that share a prompt up to the question, in order; a request without context is a group of its own."""
    groups: dict[object, list[Request]] = {}
    for number, request in enumerate(requests):
        # Without a context only the system message is shared, which is not worth waiting for.
        shared = (request.system, request.context) if request.context else number
        groups.setdefault(shared, []).append(request)
    return list(groups.values())
