import random

from epbench.models.protocol import Request, batches_by_context


def ids(requests):
    return [request.id for request in requests]


def ask(context, n):
    return [Request(f"{context}{i}", "", context, f"Question {i}") for i in range(n)]


def test_books_follow_one_another_and_the_first_question_goes_alone():
    batches = list(batches_by_context([*ask("a", 3), *ask("b", 2)], lambda _: 100, room=100))
    assert [(ids(first), ids(rest)) for first, rest in batches] == [(["a0"], ["a1", "a2"]), (["b0"], ["b1"])]


def test_short_contexts_share_a_batch_as_far_as_there_is_room():
    batches = list(batches_by_context([*ask("a", 2), *ask("b", 2), *ask("c", 1)], lambda _: 40, room=100))
    assert [(ids(first), ids(rest)) for first, rest in batches] == [(["a0", "b0"], ["a1", "b1"]), (["c0"], [])]


def test_every_request_comes_once_and_after_the_first_of_its_context():
    requests = [request for context in "abcdef" for request in ask(context, 7)]
    random.Random(0).shuffle(requests)
    seen: set[str] = set()
    count = 0
    for first, rest in batches_by_context(requests, lambda request: ord(request.context) - 90, room=25):
        assert seen.isdisjoint(request.context for request in first)
        seen |= {request.context for request in first}
        assert seen.issuperset(request.context for request in rest)
        count += len(first) + len(rest)
    assert count == len(requests)
    assert not list(batches_by_context([], lambda _: 1, room=1))
