"""Work is handed out so that every request is answered once, whatever becomes of the replicas."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from epbench.engines.ray_model import MOST_DEATHS, HandOut
from epbench.models.protocol import Request

CONTEXTS = st.lists(st.integers(1, 12), min_size=0, max_size=12)


def requests_of(sizes):
    """By context, so many requests."""
    return [
        Request(f"{number}-{i}", "system", f"context {number} " * 5, f"question {i}")
        for number, size in enumerate(sizes)
        for i in range(size)
    ]


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


@given(sizes=st.lists(st.integers(1, 60), max_size=12), replicas=st.integers(1, 20))
def test_contexts_are_divided_evenly_and_only_if_there_are_fewer_than_replicas(sizes, replicas):
    hand_out, lengths = HandOut(requests_of(sizes), replicas), {}
    while work := hand_out.next():
        for context, n in Counter(request.context for request in work.requests).items():
            lengths.setdefault(context, []).append(n)
    assert not hand_out.waiting
    assert sum(map(len, lengths.values())) == max(len(sizes), min(replicas, sum(sizes)))
    assert all(max(parts) - min(parts) <= 1 for parts in lengths.values())


def test_small_contexts_are_handed_out_together_and_less_and_less_of_them():
    hand_out = HandOut(requests_of([1] * 400), 2)
    sizes = []
    while work := hand_out.next():
        sizes.append(len(work.requests))
    assert sizes[0] > 30 and sizes[-1] == 1 and len(sizes) < 60
    assert sizes == sorted(sizes, reverse=True)
