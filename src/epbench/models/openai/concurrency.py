"""How many requests are open at once: as many as the service can take, which is found out by trying.

The limit grows while all of its slots are in use and answers come, and halves when the service says that it is
overloaded (additive increase, multiplicative decrease). If the service asks to wait, all requests wait.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from epbench.errors import RunFailed
from epbench.models.openai.address import shown
from epbench.models.openai.wire import NoJson, ReplyTooLarge, error_words

LONGEST_PAUSE_S = 600.0  # a longer one means a daily quota; it is better to end and start again later


class PauseTooLong(Exception):
    """The service asks to wait for longer than a run should pause."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the endpoint asks to wait {seconds:.0f} s, longer than {LONGEST_PAUSE_S:.0f} s")


class Limit:
    """How many requests may be open at once, between a minimum and a maximum; if these are equal, the number is fixed."""

    def __init__(self, start: int = 8, *, minimum: int = 1, maximum: int = 64) -> None:
        self._minimum, self._maximum = minimum, maximum
        self._size = float(min(max(start, minimum), maximum))
        # Decreases so far. Of all requests sent in one epoch only the first complaint counts: the others have the same cause.
        self.epoch = 0

    @property
    def value(self) -> int:
        return int(self._size)

    def succeeded(self, in_use: int) -> None:
        """Note that a request was answered while `in_use` slots, including its own, were taken."""
        if in_use >= self.value:  # the limit doubles in each round before the first complaint; then a round adds one
            step = 1.0 if self.epoch == 0 else 1.0 / self._size
            self._size = min(self._maximum, self._size + step)

    def overloaded(self, epoch: int) -> None:
        """Note that the service complained about a request that was sent in this epoch."""
        if epoch == self.epoch:
            self._size = max(self._minimum, self._size / 2)
            self.epoch += 1


class Gate:
    """Slots for requests in one event loop, given out in the order of arrival; repeated attempts go first."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.in_use = 0
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._open_at = 0.0  # time of the event loop before which no request enters
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, *, again: bool = False) -> int:
        """Wait for a slot, and return the epoch in which it was given, for `Limit.overloaded`.

        `PauseTooLong` if the service asked for a pause longer than `LONGEST_PAUSE_S`.
        """
        loop = asyncio.get_running_loop()
        if (left := self._open_at - loop.time()) > LONGEST_PAUSE_S:
            raise PauseTooLong(left)
        turn: asyncio.Future[int] = loop.create_future()
        (self._waiting.appendleft if again else self._waiting.append)(turn)
        self._admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave()  # the slot was given at the same moment
            raise

    def leave(self) -> None:
        """Give the slot back."""
        self.in_use -= 1
        self._admit()

    def pause(self, seconds: float) -> None:
        """Let no request enter for so many seconds; of several pauses the longest counts."""
        loop = asyncio.get_running_loop()
        self._open_at = max(self._open_at, loop.time() + seconds)
        if seconds > LONGEST_PAUSE_S:
            while self._waiting:
                if not (turn := self._waiting.popleft()).done():
                    turn.set_exception(PauseTooLong(seconds))

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        if self._waiting and loop.time() < self._open_at:
            if self._timer is None:
                self._timer = loop.call_at(self._open_at, self._end_pause)
            return
        while self._waiting and self.in_use < self.limit.value:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was cancelled while it waited
                self.in_use += 1
                turn.set_result(self.limit.epoch)

    def _end_pause(self) -> None:
        self._timer = None
        self._admit()


def backoff_s(attempt: int, base_s: float = 1.0) -> float:
    """Return how many seconds to wait after failed attempt number `attempt` (from 1), so that not all return together.

    The wait is uniformly distributed from 0 to `base_s · 2^(attempt - 1)`, at most a minute.
    """
    return random.uniform(0.0, min(60.0, base_s * 2.0 ** min(attempt - 1, 30)))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds, at least 0, a response asks to wait; None if it does not say so in a readable form.

    A date in Retry-After is compared with the Date of the same response, if it has one, because clocks may differ.
    """
    milliseconds, asked, now = (headers.get(name, "").strip() for name in ("retry-after-ms", "retry-after", "date"))
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(asked)
    except ValueError:
        try:
            seconds = (_date(asked) - (_date(now) if now else datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def _date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


OVERLOADED = frozenset([429, 503, 529])
_TIMED_OUT = frozenset([408, 504])
_TURNED_AWAY = frozenset([401, 403])
MAX_GIVEN_UP = 8  # requests in a row
MAX_TURNED_AWAY = 3  # requests in a row with the same words


@dataclass(eq=False)
class Fault(Exception):
    """A call without an answer."""

    reason: str  # begins with the HTTP status if there is one, and quotes the endpoint in full
    passing: bool = True  # whether the same request may succeed later
    overload: bool = False  # whether fewer open requests would help
    wait_s: float | None = None  # seconds that the endpoint asks all requests to wait; None if it does not
    refused: bool = False  # whether the endpoint rejects the request itself, so that another wording may help
    closed: bool = False  # whether the key or the address is wrong, so that every other request would fail as well


class Outage:
    """Counts requests that failed in a row, so that a run that cannot succeed ends instead of failing at every question."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._given_up = self._turned_away = 0
        self._words = ""

    def over(self) -> None:
        """Note that the endpoint answered, or rejected one request only."""
        self._given_up = self._turned_away = 0

    def failed(self, fault: Fault, words: str) -> None:
        """Note that a request has failed for good; `RunFailed` if so many in a row have that the others would."""
        if not (fault.passing or fault.closed):
            return self.over()
        if fault.passing:
            self._given_up, self._turned_away = self._given_up + 1, 0
        else:
            self._given_up, self._turned_away = 0, self._turned_away + 1 if words == self._words else 1
        self._words = words
        if self._turned_away >= MAX_TURNED_AWAY:
            self.over()
            raise RunFailed(
                f"{self._name}: the endpoint turned away {MAX_TURNED_AWAY} requests in a row: {words}; check "
                "OPENAI_API_KEY and the base URL, then start the run again: all answers so far are kept"
            )
        if self._given_up >= MAX_GIVEN_UP:
            self.over()
            raise RunFailed(
                f"{self._name}: {MAX_GIVEN_UP} requests in a row got no answer in any of their attempts, the last: "
                f"{words}; all answers so far are kept: start the run again when the endpoint works, with a longer "
                "timeout of requests if it is slow"
            )


def fault_of(error: Exception, timeout_s: float) -> Fault:
    """Find the fault behind an exception of the client, or of reading its answer.

    The statuses 429 and 5xx, timeouts, broken connections and answers that are not JSON may pass; all others do not.
    """
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Fault(f"no answer within {timeout_s:g} s", overload=True)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        if isinstance(cause, ReplyTooLarge):
            return Fault(str(cause), passing=False)
        return Fault(f"connection failed: {str(cause) or type(cause).__name__}" if cause else "connection failed")
    if not isinstance(error, openai.APIStatusError):
        return Fault(str(error) or type(error).__name__, passing=isinstance(error, NoJson))
    status, text = error.status_code, error.response.text
    if 300 <= status < 400:
        where = shown(error.response.headers.get("location", "")) or "an address that it does not name"
        return Fault(f"{status} redirects to {where}; no redirect is followed", passing=False, closed=True)
    # A used-up quota has the status of a rate limit, but it does not come back by itself.
    passing = (status == 429 and "insufficient_quota" not in text) or status >= 500 or status in _TIMED_OUT
    return Fault(
        f"{status} {error_words(text) or error.response.reason_phrase}",
        passing=passing,
        refused=not passing and status != 429,
        closed=status in _TURNED_AWAY,
        overload=status in OVERLOADED | _TIMED_OUT,
        wait_s=retry_after_s(error.response.headers),
    )
