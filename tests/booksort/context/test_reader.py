from dataclasses import replace

import pytest

from epbench import BadInput
from epbench.booksort.context.prompts import ALONE, load_prompts
from epbench.booksort.context.reader import Oracle, load_reader
from epbench.booksort.context.requests import Store, requests_for
from epbench.booksort.context.retrieval import retrieve, split_books
from epbench.booksort.dataset.load import load_books
from epbench.models.load import Options
from epbench.retrieval.load import Bm25

PACK = load_prompts()


def accuracy(pairs, requests, pack=PACK):
    answers = {pair.id: pair.answer for pair in pairs}
    replies = list(Oracle(pack).answer(requests))
    assert sorted(reply.id for reply in replies) == sorted(answers)
    assert all(reply.key == request.key("oracle") for request, reply in zip(requests, replies, strict=True))
    return sum(reply.text == answers[reply.id] for reply in replies) / len(replies)


def test_with_the_text_it_is_always_right(pairs, dataset):
    for number in PACK.prompts:
        assert accuracy(pairs, requests_for("in-context", pairs, PACK, number)) == 1.0
    assert accuracy(pairs, requests_for("full-book", pairs, PACK, 3, store=Store(load_books(dataset)))) == 1.0
    pack = replace(PACK, segments="A) {first} / B) {second} /")
    requests = requests_for("in-context", pairs, pack, 3)
    assert accuracy(pairs, requests, pack) == 1.0
    assert Oracle(PACK).window() is None
    assert Oracle(PACK).count_tokens(requests[0]) == (len(requests[0].user.split()), len(requests[0].context.split()))


def test_without_memory_it_guesses_the_same_each_time(pairs):
    requests = requests_for("none", pairs, PACK, 3)
    assert 0.3 < accuracy(pairs, requests) < 0.7
    said = [[reply.text for reply in Oracle(PACK).answer(requests)] for _ in range(2)]
    assert said[0] == said[1] and set(said[0]) == {"A", "B"}


def test_with_passages_it_answers_by_the_order_in_which_they_are_shown(pairs, dataset):
    books = load_books(dataset)
    passages = split_books(books)
    share = {}
    for keep_order in (False, True):
        found = retrieve(pairs, books, passages, Bm25, query=PACK.queries[ALONE], keep_order=keep_order)
        share[keep_order] = accuracy(pairs, requests_for("rag", pairs, PACK, 3, store=Store(books, passages, found)))
    assert share[True] > share[False] > 0.5


def test_a_reader_is_the_oracle_or_a_model():
    reader = load_reader("oracle", PACK)
    assert isinstance(reader, Oracle) and reader.costs_nothing and reader.continues_prompts
    model = load_reader("openai:tiny", PACK, Options("http://127.0.0.1:9/v1"))
    assert not model.costs_nothing and not model.continues_prompts


@pytest.mark.parametrize(
    ("name", "message"),
    [("lexical", "knows nothing of order; the offline baseline"), ("gpt", "expected one of: oracle .*, hf:PATH_OR_ID")],
)
def test_another_name_is_refused(name, message):
    with pytest.raises(BadInput, match=message):
        load_reader(name, PACK)
