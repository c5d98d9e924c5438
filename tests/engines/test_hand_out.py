"""Work is handed out so that every request is answered once, whatever becomes of the replicas."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from epbench.engines.cluster import MOST_DEATHS, HandOut
from epbench.models.protocol import Request

CONTEXTS = st.lists(st.integers(1, 12), min_size=0, max_size=12)


def requests_of(sizes):
    """By context, so many requests."""
    return [
        Request(f"{number}-{i}", "system", f"context {number} " * 5, f"question {i}")
        for number, size in enumerate(sizes)
        for i in range(size)
    ]


@given(sizes=CONTEXTS, replicas=st.integers(1, 9))
def test_every_request_is_handed_out_once(sizes, replicas):
    requests = requests_of(sizes)
    hand_out = HandOut(requests, replicas)
    given_ = []
    while work := hand_out.next():
        given_ += work.requests
    assert Counter(r.id for r in given_) == Counter(r.id for r in requests) and not hand_out.waits


@given(sizes=CONTEXTS, replicas=st.integers(1, 9))
def test_a_context_is_divided_only_if_there_are_fewer_than_replicas(sizes, replicas):
    hand_out = HandOut(requests_of(sizes), replicas)
    readers = Counter()
    while work := hand_out.next():
        readers.update({request.context for request in work.requests})
    if len(sizes) >= replicas:
        assert all(n == 1 for n in readers.values())
    assert sum(readers.values()) <= max(len(sizes), replicas)


@given(sizes=CONTEXTS, replicas=st.integers(1, 5), data=st.data())
def test_each_request_has_one_outcome_under_any_deaths(sizes, replicas, data):
    requests = requests_of(sizes)
    hand_out = HandOut(requests, replicas)
    outcomes, deaths = [], Counter()
    while work := hand_out.next():
        answered = data.draw(st.integers(0, len(work.requests)))
        outcomes += [(r.id, "answered") for r in work.requests[:answered]]
        left = work.requests[answered:]
        deaths.update(r.id for r in left)
        if left:
            outcomes += [(r.id, "failed") for r in hand_out.lost(work, left)]
    assert Counter(id_ for id_, _ in outcomes) == Counter(r.id for r in requests)
    assert all(deaths[id_] == MOST_DEATHS for id_, outcome in outcomes if outcome == "failed")


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4), replicas=st.integers(5, 20))
def test_fewer_contexts_than_replicas_are_divided_evenly(sizes, replicas):
    hand_out = HandOut(requests_of(sizes), replicas)
    parts = Counter()
    while work := hand_out.next():
        parts[work.requests[0].context, len(work.requests)] += 1
    assert sum(parts.values()) == min(replicas, sum(sizes))
    for context in {context for context, _ in parts}:
        lengths = [length for found, length in parts if found == context]
        assert max(lengths) - min(lengths) <= 1


def test_after_a_death_each_context_is_alone_so_that_one_cannot_take_others_with_it():
    requests = requests_of([1] * 40)
    hand_out = HandOut(requests, 2)
    failed, answered = [], []
    while work := hand_out.next():
        if any(r.id == "7-0" for r in work.requests):  # this one ends every replica
            failed += hand_out.lost(work, work.requests)
        else:
            answered += work.requests
    assert [r.id for r in failed] == ["7-0"] and len(answered) == 39


def test_small_contexts_are_handed_out_together_and_less_and_less_of_them():
    hand_out = HandOut(requests_of([1] * 400), 2)
    sizes = []
    while work := hand_out.next():
        sizes.append(len(work.requests))
    assert sizes[0] > 30 and sizes[-1] == 1 and len(sizes) < 60
    assert sizes == sorted(sizes, reverse=True)
