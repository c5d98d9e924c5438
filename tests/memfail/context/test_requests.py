from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.context.requests import Setting, conversations_of
from epbench.memfail.dataset.load import Fact


def facts_of_rows(sizes):
    return [
        Fact(f"r{row}/{i}", f"r{row}", f"fact {i} of row {row}") for row, size in enumerate(sizes) for i in range(size)
    ]


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=30)


@given(sizes, st.integers(1, 12), st.integers(0, 5), st.booleans())
def test_every_fact_is_told_once_and_never_with_another_of_its_row(sizes, capacity, seed, isolate):
    facts = facts_of_rows(sizes)
    told = conversations_of(facts, Setting(seed=seed, units_per_conversation=capacity, isolate=isolate))
    assert sorted(fact for c in told for fact in c.units) == sorted(fact.id for fact in facts)
    rows = {fact.id: fact.row for fact in facts}
    for conversation in told:
        assert 1 <= len(conversation.units) <= capacity
        assert len({rows[fact] for fact in conversation.units}) == len(conversation.units)
        if isolate:
            assert {rows[fact] for fact in conversation.units} == {conversation.store}
    assert len({(c.store, c.id) for c in told}) == len(told)
    assert told == conversations_of(facts, Setting(seed=seed, units_per_conversation=capacity, isolate=isolate))


@given(sizes, st.integers(1, 12))
def test_first_fit_leaves_no_conversation_that_could_have_taken_a_later_fact(sizes, capacity):
    facts = facts_of_rows(sizes)
    rows = {fact.id: fact.row for fact in facts}
    told = conversations_of(facts, Setting(seed=0, units_per_conversation=capacity))
    for place, conversation in enumerate(told):
        for earlier in told[:place]:
            if len(earlier.units) < capacity:
                taken = {rows[fact] for fact in earlier.units}
                assert all(rows[fact] in taken for fact in conversation.units)


def test_published_sizes_pack_into_the_published_numbers_of_conversations():
    """340 facts of 100 rows, as Coexisting-Facts has them."""
    facts = facts_of_rows([2] * 26 + [3] * 31 + [4] * 20 + [5] * 23)
    counts = [len(conversations_of(facts, Setting(seed=42, units_per_conversation=n))) for n in (1, 2, 5, 10)]
    assert counts[:3] == [340, 170, 68] and counts[3] in (34, 35)  # the last one depends on the order


def test_time_goes_on_and_the_order_depends_on_the_seed_alone():
    facts = facts_of_rows([2, 3, 4])
    told = conversations_of(facts, Setting(seed=1, units_per_conversation=2))
    times = [datetime.fromisoformat(turn["timestamp"]) for c in told for turn in c.turns]
    assert times == sorted(set(times))
    assert {turn["role"] for c in told for turn in c.turns} == {"user"}
    orders = {tuple(fact for c in conversations_of(facts, Setting(seed=seed)) for fact in c.units) for seed in range(5)}
    assert len(orders) > 1 and tuple(fact.id for fact in facts) not in orders
