"""Does a memory system forget for good what it is told to forget: stores of which that is certain, by a clock of the test."""

import re
from pathlib import Path

import pytest

from epbench.memories.contract import mentions
from epbench.memories.guard import Limits
from epbench.memories.measuring import WAIT, Forgetting, forgetting_of, measure_forgetting
from epbench.memories.process import describe_system

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


def measured(store, n=3):
    return measure_forgetting(store, n, WAIT)


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
    assert tried.reopened == (1 if store.durable else 0)


def test_words_say_what_was_kept():
    assert str(measured(Adding())).startswith(
        "forgetting: keeps 3 of 3 facts that it was told to forget; 3 of 3 corrections"
    )
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


@pytest.mark.slow
def test_a_system_in_a_process_of_its_own(tmp_path):
    system = describe_system("epbench.memories.example:KeywordMemory")
    (tmp_path / "a").mkdir()
    found = forgetting_of(system, tmp_path / "a", Limits(60), 2, wait=0.2)
    assert found == Forgetting(n=2, kept=2, listed=2, stale=2, corrected=2, neighbours=4, survived=4)
