import asyncio
import random
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.models.openai import concurrency
from epbench.models.openai.concurrency import Gate, Limit, PauseTooLong, backoff_s, retry_after_s


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its clock stands still while there is work, and jumps to the next timer when there is none."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0].when())
        super()._run_once()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(10_000):  # of a gate that never opens; by the loop's clock, so at once
            await work

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(bounded())


events = st.lists(st.tuples(st.sampled_from(["answer", "overload", "idle"]), st.integers(0, 3)), max_size=300)


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(1, 100), events)
def test_the_limit_stays_between_one_and_its_maximum(start, maximum, events):
    limit = Limit(start, maximum=maximum)
    for kind, lag in events:
        before, epoch = limit.value, limit.epoch
        if kind == "overload":
            limit.overloaded(epoch - lag)
            if lag:
                assert (limit.value, limit.epoch) == (before, epoch)
            else:
                assert limit.value == max(1, before // 2) or limit.value == max(1, (before + 1) // 2)
        else:
            limit.succeeded(before if kind == "answer" else before - 1)
            assert limit.value in ((before, before + 1) if kind == "answer" else (before,))
        assert 1 <= limit.value <= maximum


def test_the_limit_doubles_in_a_round_until_the_first_complaint_and_then_adds_one():
    limit = Limit(8)
    for _ in range(8):
        limit.succeeded(limit.value)
    assert limit.value == 16
    limit.overloaded(limit.epoch)
    assert limit.value == 8
    for _ in range(9):
        limit.succeeded(limit.value)
    assert limit.value == 9
    for _ in range(4000):
        limit.succeeded(limit.value)
    assert limit.value == 64


def test_slots_are_given_in_order_and_second_tries_go_first():
    async def work() -> None:
        gate, order = Gate(Limit(1, maximum=1)), []

        async def enter(name: str, again: bool = False) -> None:
            await gate.enter(again=again)
            order.append(name)

        tasks = [asyncio.create_task(enter(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(enter("again", again=True)))
        for _ in range(4):
            await asyncio.sleep(0.001)
            assert gate.in_use == 1
            gate.leave()
        await asyncio.gather(*tasks)
        assert order == ["a", "again", "b", "c"]

    run(work())


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_no_slot_is_lost_or_given_twice_when_waiters_are_cancelled(seed):
    async def work() -> None:
        draws, gate, inside = random.Random(seed), Gate(Limit(3, maximum=3)), 0

        async def use() -> None:
            nonlocal inside
            await gate.enter(again=draws.random() < 0.3)
            try:
                inside += 1
                assert inside <= 3
                for _ in range(draws.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                inside -= 1
                gate.leave()

        tasks = [asyncio.create_task(use()) for _ in range(20)]
        for _ in range(10):
            draws.choice(tasks).cancel()
            await asyncio.sleep(0)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in done)
        assert (gate.in_use, inside) == (0, 0)

    run(work())


def test_a_pause_that_grows_while_requests_wait_holds():
    async def work() -> None:
        loop = asyncio.get_running_loop()
        gate, began = Gate(Limit(8)), loop.time()
        gate.pause(0.02)
        entering = asyncio.create_task(gate.enter())
        await asyncio.sleep(0.005)
        gate.pause(0.1)
        await entering
        assert loop.time() - began == pytest.approx(0.105)

    run(work())


def test_a_daily_quota_is_not_waited_for():
    async def work() -> None:
        gate = Gate(Limit(1))
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        gate.pause(86400)
        with pytest.raises(PauseTooLong, match="86400 s"):
            await waiting
        with pytest.raises(PauseTooLong, match="864.. s"):
            await gate.enter()

    run(work())


def test_backoff_is_jittered_below_a_doubling_bound(monkeypatch):
    bounds = []
    monkeypatch.setattr(concurrency.random, "uniform", lambda low, high: bounds.append((low, high)) or high)
    assert [backoff_s(attempt) for attempt in (1, 2, 3, 4, 9)] == [1, 2, 4, 8, 60]
    assert {low for low, _ in bounds} == {0.0}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
def test_retry_after_is_read(headers, seconds):
    assert retry_after_s(headers) == seconds


def test_retry_after_as_a_date_to_come():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
    assert 400 < retry_after_s({"retry-after": date}) <= 500


@settings(deadline=None)
@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_no_header_breaks_the_reading(asked, now):
    seconds = retry_after_s({"retry-after": asked} | ({"date": now} if now else {}))
    assert seconds is None or seconds >= 0
