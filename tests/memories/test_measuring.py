"""How soon a store finds what it was told, and whether it forgets for good: stores of which that is certain, by their clock."""

import re
from pathlib import Path

import pytest

from epbench.memories.contract import mentions
from epbench.memories.guard import Limits
from epbench.memories.measuring import LIMIT, WAIT, Forgetting, lag_of, measure_forgetting, measure_lag
from epbench.memories.process import describe_system

FAULTY = Path(__file__).with_name("faulty.py")
FORGET = re.compile(r"Please forget .* my friend (\w+) collects")
CORRECT = re.compile(r"I was wrong: (my friend (\w+) collects (.+)), not (.+)\.")


class Adding:
    """Keeps every text."""

    durable = False

    def __init__(self):
        self.texts, self.now, self.reopened = [], 0.0, 0

    def open(self):
        return Path()

    def reopen(self, folder):
        self.reopened += 1

    def tell(self, text):
        self.texts.append(text)

    def finalize(self):
        pass

    def retrieve(self, query, k):
        words = set(re.findall(r"\w+", query))
        return sorted(self.listed(), key=lambda text: -len(words & set(re.findall(r"\w+", text))))[:k]

    def listed(self):
        return list(self.texts)

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Slow(Adding):
    """Finds a fact so many seconds after it was told, or only after `finalize`."""

    def __init__(self, late, by_finalize=False):
        super().__init__()
        self.late, self.by_finalize, self.told = late, by_finalize, {}

    def tell(self, text):
        self.told[text] = float("inf") if self.by_finalize else self.now + self.late

    def finalize(self):
        self.told = {text: min(at, self.now + self.late) for text, at in self.told.items()}

    def retrieve(self, query, k):
        self.now += 0.01  # what a call takes
        return [text for text, at in self.told.items() if at <= self.now][-k:]


@pytest.mark.parametrize("late", [0.0, 0.5, 2.0, 20.0])
def test_the_lag_is_that_of_the_store(late):
    lag = measure_lag(Slow(late), 4)
    assert len(lag.seconds) == 4 and not lag.missed and not lag.finalized
    assert all(late - 0.02 <= seconds <= late + 0.21 for seconds in lag.seconds)
    assert lag.summary["n"] == 4 and lag.summary["p50"] <= lag.summary["p95"]


def test_a_store_that_waits_for_the_end_is_told_of_it():
    lag = measure_lag(Slow(1.0, by_finalize=True), 4)
    assert lag.finalized and len(lag.seconds) == 4 and max(lag.seconds) < 1.3
    assert str(lag).endswith("of 4 facts, after finalize()")


def test_a_store_that_never_finds_is_given_up():
    store = Slow(float("inf"))
    lag = measure_lag(store, 4)
    assert (lag.seconds, lag.missed, lag.summary["p50"]) == ([], 1, None)
    assert 2 * LIMIT <= store.now < 2 * LIMIT + 5 and "1 of 1 facts not found within 30 s" in str(lag)


def test_a_call_that_fails_says_why_nothing_was_measured(tmp_path):
    lag = lag_of(describe_system(f"{FAULTY}:RaisesInRetrieval"), tmp_path, Limits(60), 1)
    assert lag.failure and str(lag) == f"write-to-recall lag: not measured: {lag.failure}"
    assert lag.summary["failure"] == lag.failure and lag.summary["n"] == 0


class Forgetful(Adding):
    """Does what it is told."""

    durable = True

    def tell(self, text):
        if found := FORGET.search(text):
            self.forget(found[1])
        elif found := CORRECT.search(text):
            self.texts = [one for one in self.texts if not (found[2] in one and found[4] in one)]
            super().tell(f"{found[1].capitalize()}.")
        else:
            super().tell(text)

    def forget(self, who):
        self.texts = [text for text in self.texts if who not in text or "collects" not in text]


class Late(Forgetful):
    """Forgets in the background, within four seconds."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def forget(self, who):
        self.waiting.append((self.now + 4.0, who))

    def listed(self):
        for at, who in self.waiting:
            if at <= self.now:
                super().forget(who)
        return super().listed()


class Resurrects(Forgetful):
    """Has everything again from its log when something else is told."""

    def __init__(self):
        super().__init__()
        self.log = []

    def tell(self, text):
        super().tell(text)
        if FORGET.search(text) or CORRECT.search(text):
            return
        self.log.append(text)
        if "garden" in text:
            self.texts = [*self.log]


class Hides(Forgetful):
    """Still lists what it does not return."""

    def __init__(self):
        super().__init__()
        self.hidden = []

    def forget(self, who):
        self.hidden += mentions(mentions(self.texts, who), "collects")
        super().forget(who)

    def listed(self):
        return [*self.texts, *self.hidden]

    def retrieve(self, query, k):
        return [text for text in super().retrieve(query, k) if text not in self.hidden]


def measured(store):
    return measure_forgetting(store, 3, WAIT)


WHOLE = {"n": 3, "neighbours": 6}


@pytest.mark.parametrize(
    ("store", "found"),
    [
        (Adding, Forgetting(kept=3, listed=3, stale=3, corrected=3, survived=6, **WHOLE)),
        (Forgetful, Forgetting(corrected=3, survived=6, **WHOLE)),
        (Late, Forgetting(corrected=3, survived=6, **WHOLE)),
        (Resurrects, Forgetting(returned=3, listed=3, stale=3, survived=6, **WHOLE)),
        (Hides, Forgetting(listed=3, corrected=3, survived=6, **WHOLE)),
    ],
)
def test_what_became_of_facts(store, found):
    tried = store()
    assert measured(tried) == found
    assert tried.reopened == store.durable


def test_words_say_what_was_kept():
    words = "forgetting: keeps 3 of 3 facts that it was told to forget; 3 of 3 corrections"
    assert str(measured(Adding())).startswith(words)
    assert "forgets all 3 facts that it was told to forget; 3 came back" in str(measured(Resurrects()))
    assert "3 are still listed" in str(measured(Hides()))
    assert measured(Forgetful()).summary == {
        **WHOLE, "kept": 0, "returned": 0, "listed": 0, "stale": 0, "corrected": 3, "survived": 6
    }  # fmt: skip


def test_what_was_never_found_cannot_be_forgotten():
    store = Adding()
    store.tell = lambda text: None
    found = measured(store)
    assert found.failure == "6 of 6 facts did not come back before anything was withdrawn"
    assert "not measured" in str(found)
