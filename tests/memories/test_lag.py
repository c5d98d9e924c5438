"""How long after a fact was stored it can be found, by a clock of the test and once by a real one."""

from pathlib import Path

import pytest

from epbench.memories.guard import Limits
from epbench.memories.measuring import LIMIT, lag_of, measure_lag
from epbench.memories.process import describe_system

FAULTY = Path(__file__).with_name("faulty.py")


class Clock:
    """A store that finds a fact so many seconds after it was told, or only after `finalize`, and its time."""

    def __init__(self, late, by_finalize=False):
        self.now, self.late, self.by_finalize, self.told = 0.0, late, by_finalize, {}

    def open(self):
        return Path()

    def tell(self, text):
        self.told[text] = float("inf") if self.by_finalize else self.now + self.late

    def finalize(self):
        self.told = {text: min(at, self.now + self.late) for text, at in self.told.items()}

    def retrieve(self, query, k):
        self.now += 0.01  # what a call takes
        return [text for text, at in self.told.items() if at <= self.now][-k:]

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def measured(store):
    return measure_lag(store, 4)


@pytest.mark.parametrize("late", [0.0, 0.5, 2.0, 20.0])
def test_the_lag_is_that_of_the_store(late):
    lag = measured(Clock(late))
    assert len(lag.seconds) == 4 and not lag.missed and not lag.finalized
    assert all(late - 0.02 <= seconds <= late + 0.21 for seconds in lag.seconds)
    assert lag.summary["n"] == 4 and lag.summary["p50"] <= lag.summary["p95"]


def test_a_store_that_waits_for_the_end_is_told_of_it():
    lag = measured(Clock(1.0, by_finalize=True))
    assert lag.finalized and len(lag.seconds) == 4 and max(lag.seconds) < 1.3
    assert str(lag).endswith("of 4 facts, after finalize()")


def test_a_store_that_never_finds_is_given_up():
    store = Clock(float("inf"))
    lag = measured(store)
    assert (lag.seconds, lag.missed, lag.summary["p50"]) == ([], 1, None)
    assert 2 * LIMIT <= store.now < 2 * LIMIT + 5 and "1 of 1 facts not found within 30 s" in str(lag)


@pytest.mark.slow
def test_a_system_that_indexes_two_seconds_late(tmp_path):
    lag = lag_of(describe_system(f"{FAULTY}:IndexesLate"), tmp_path, Limits(60), 3)
    assert len(lag.seconds) == 3 and all(abs(seconds - 2.0) <= 0.3 for seconds in lag.seconds), lag


def test_a_call_that_fails_says_why_nothing_was_measured(tmp_path):
    lag = lag_of(describe_system(f"{FAULTY}:RaisesInRetrieval"), tmp_path, Limits(60), 1)
    assert lag.failure and str(lag) == f"write-to-recall lag: not measured: {lag.failure}"
    assert lag.summary["failure"] == lag.failure and lag.summary["n"] == 0
