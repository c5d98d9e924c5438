"""The memory that is shown for a fact is the one that has most in common with it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.dataset.types import GoldMemory
from epbench.memfail.scores.traces import nearest

GOLD = GoldMemory("r/0", "Ada paints boats only when it rains.", ("Ada", "paints boats"), ("when it rains",))


def test_what_matters_counts_before_the_other_words():
    essay = "Ada lives by the sea and only sings."
    assert nearest(GOLD, (essay, "Ada paints", "rain: Ada paints boats")) == "rain: Ada paints boats"
    assert nearest(GOLD, ("Ada paints boats when it rains, and more, and more", GOLD.text)) == GOLD.text
    assert nearest(GOLD, ()) is None and nearest(GOLD, ("nothing in common",)) is None


def test_a_rare_word_says_more_than_a_common_one():
    memories = ("Ada cooks.", "Ada sings.", "Ada sleeps.", "Boats are painted.")
    assert nearest(GOLD, memories) == "Boats are painted."


@given(st.lists(st.text("ab cdr", max_size=12), max_size=8).map(tuple), st.randoms())
def test_the_order_of_the_store_does_not_matter(memories, random):
    shuffled = list(memories)
    random.shuffle(shuffled)
    gold = GoldMemory("r/0", "ab cd rr", ("ab",), ())
    assert nearest(gold, memories) == nearest(gold, tuple(shuffled))
    assert nearest(gold, (*memories, gold.text)) is not None
