"""What a run may spend, and what becomes of prompts that do not fit: kept wherever a model is asked.

A run that reaches a bound stops asking. What it did not ask has failed with that reason, so that its scores are ranges; the next
start with a higher bound asks it. Nobody has to hand bounds on: they hold for all that is asked inside `held`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from epbench.models.prices import Prices
from epbench.models.protocol import KeepsNotes, Model, Reply, Request, Usage, too_long

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
                    currency = self.prices.currency if self.prices else ""
                    self.reached = (
                        f"its limit of {self.tokens:,} tokens" if too_many else f"its limit of {self.cost:g} {currency}"
                    )
                return n
        return len(requests)

    def _spend(self, usage: Usage, model: Model) -> None:
        self._spent += usage.prompt + usage.completion
        self._paid += self._price(usage, model)

    def _price(self, usage: Usage, model: Model) -> float:
        price = self.prices.of(model.name) if self.prices else None
        if price is None:
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
