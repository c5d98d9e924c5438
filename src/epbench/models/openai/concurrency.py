"""How many requests are open at once: as many as the service can take, which is found out by trying.

The limit grows while all of its slots are in use and answers come, and halves when the service says that it is
overloaded (additive increase, multiplicative decrease). If the service asks to wait, all requests wait.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_PAUSE_S = 600.0  # a longer one means a daily quota; it is better to end and start again later


class PauseTooLong(Exception):
    """The service asks to wait for longer than a run should pause."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the endpoint asks to wait {seconds:.0f} s, longer than {LONGEST_PAUSE_S:.0f} s")


class Limit:
    """How many requests may be open at once, between a minimum and a maximum; if these are equal, the number is fixed.

    Attributes:
        epoch: number of decreases so far. Of all requests sent in one epoch only the first complaint counts, because
            the others have the same cause.
    """

    def __init__(self, start: int = 8, *, minimum: int = 1, maximum: int = 64) -> None:
        self._minimum, self._maximum = minimum, maximum
        self._size = float(min(max(start, minimum), maximum))
        self.epoch = 0

    @property
    def value(self) -> int:
        return int(self._size)

    def succeeded(self, in_use: int) -> None:
        """Note that a request was answered while `in_use` slots, including its own, were taken.

        Before the first complaint each answer adds a slot, so that the limit doubles in each round; afterwards a whole
        round adds one. The limit does not grow while slots are idle.
        """
        if in_use >= self.value:
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
        """Wait for a slot.

        Returns:
            The epoch in which the slot was given; pass it to `Limit.overloaded`.

        Raises:
            PauseTooLong: the service asked for a pause longer than `LONGEST_PAUSE_S`.
        """
        loop = asyncio.get_running_loop()
        if (left := self._open_at - loop.time()) > LONGEST_PAUSE_S:
            raise PauseTooLong(left)
        turn: asyncio.Future[int] = loop.create_future()
        if again:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
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


def backoff_s(attempt: int, *, base_s: float = 1.0, longest_s: float = 60.0) -> float:
    """Return how many seconds to wait after failed attempt number `attempt` (from 1): exponential, with full jitter.

    The wait is uniformly distributed from 0 to `base_s · 2^(attempt - 1)`, at most `longest_s`, so that requests that
    failed together do not return together.
    """
    return random.uniform(0.0, min(longest_s, base_s * 2.0 ** min(attempt - 1, 30)))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds, at least 0, a response asks to wait; None if it does not say so in a readable form.

    Retry-After may be a number or an HTTP date; there is also a header in milliseconds. A date is compared with the Date
    of the same response, if it has one, because clocks may differ.
    """
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _seconds(float(milliseconds) / 1000)
        if not (asked := headers.get("retry-after", "").strip()):
            return None
        try:
            return _seconds(float(asked))
        except ValueError:
            now = headers.get("date")
            then = _date(asked)
            return _seconds((then - (_date(now) if now else datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(value: float) -> float | None:
    return max(0.0, value) if value == value else None  # None for NaN


def _date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
