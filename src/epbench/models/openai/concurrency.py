"""How many requests a service bears at once: found out by trying, and less as soon as it complains.

The limit grows while all of its slots are in use and answers come, and halves when the service says that it is
overloaded (additive increase, multiplicative decrease). What the service asks to wait holds for all requests.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_PAUSE_S = 600.0  # who asks for more means a quota of the day: better to end and be started again later


class PauseTooLong(Exception):
    """The service asks to wait for longer than a run should stand still."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the endpoint asks to wait {seconds:.0f} s, longer than {LONGEST_PAUSE_S:.0f} s")


class Limit:
    """Number of requests at once, between a minimum and a maximum; a fixed number where these are equal.

    Attributes:
        epoch: number of decreases so far. Of all requests that were sent in one epoch only the first complaint
            counts: the others say the same once more.
    """

    def __init__(self, start: int = 8, *, minimum: int = 1, maximum: int = 64) -> None:
        self._minimum, self._maximum = minimum, maximum
        self._size = float(min(max(start, minimum), maximum))
        self.epoch = 0

    @property
    def value(self) -> int:
        return int(self._size)

    def succeeded(self, in_use: int) -> None:
        """A request was answered while `in_use` slots, its own among them, were taken.

        Before the first complaint each answer adds a slot, so that the limit doubles in a round; afterwards a whole
        round adds one. Idle slots prove nothing.
        """
        if in_use >= self.value:
            step = 1.0 if self.epoch == 0 else 1.0 / self._size
            self._size = min(self._maximum, self._size + step)

    def overloaded(self, epoch: int) -> None:
        """The service complained about a request that was sent in that epoch."""
        if epoch == self.epoch:
            self._size = max(self._minimum, self._size / 2)
            self.epoch += 1


class Gate:
    """Slots for requests in one event loop, given out in order of arrival; those that try again go first."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.in_use = 0
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._open_at = 0.0  # time of the event loop before which nobody enters
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, *, again: bool = False) -> int:
        """Wait for a slot.

        Returns:
            The epoch in which it was given; `Limit.overloaded` wants it back.

        Raises:
            PauseTooLong: the pause that was asked for is longer than `LONGEST_PAUSE_S`.
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
                self.leave()  # the slot was given in the same moment
            raise

    def leave(self) -> None:
        """Give the slot back."""
        self.in_use -= 1
        self._admit()

    def pause(self, seconds: float) -> None:
        """Let nobody enter for so long; the longest of several pauses holds."""
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
            if not turn.done():  # else cancelled while it waited
                self.in_use += 1
                turn.set_result(self.limit.epoch)

    def _end_pause(self) -> None:
        self._timer = None
        self._admit()


def backoff_s(attempt: int, *, base_s: float = 1.0, longest_s: float = 60.0) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1): exponential with full jitter.

    Anything from 0 to `base_s · 2^(attempt - 1)` at equal odds, so that requests that failed together do not return
    together.
    """
    return random.uniform(0.0, min(longest_s, base_s * 2.0 ** min(attempt - 1, 30)))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds, at least 0, that a response asks to wait: Retry-After as a number or as an HTTP date, or milliseconds.

    A date is read against the Date of the same response, where it has one: the clocks may differ. None where nothing
    readable stands there.
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
    return max(0.0, value) if value == value else None  # NaN is no time


def _date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
