import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.booksort.context.prompts import ALONE, load_prompts
from epbench.booksort.context.requests import Store, requests_for
from epbench.booksort.context.retrieval import (
    CHARACTERS,
    DEPTH,
    Passage,
    SegmentPositions,
    recall_at,
    record,
    retrieve,
    spaced,
    split_books,
)
from epbench.booksort.dataset.load import BookText, load_books
from epbench.errors import BadInput
from epbench.retrieval.load import Bm25
from tests.booksort.sort_set import BOOKS

PACK = load_prompts()


@pytest.fixture(scope="module")
def books(dataset):
    return load_books(dataset)


@pytest.fixture(scope="module")
def passages(books):
    return split_books(books)


class Fixed:
    """A search that finds the same passages for every query."""

    def __init__(self, indices):
        self.indices = indices

    def __call__(self, texts):
        return self

    def search(self, queries, k):
        return iter([self.indices[:k] for _ in queries])


@given(
    st.lists(st.integers(1, 15) | st.integers(CHARACTERS - 3, CHARACTERS + 3) | st.integers(2040, 5000), max_size=60)
)
def test_passages_are_those_of_the_splitter_of_the_paper(lengths):
    langchain = pytest.importorskip("langchain_text_splitters", reason="the reference comes with epbench[dev]")
    text = " ".join(("abcdefg" * (length // 7 + 1))[:length] for length in lengths)
    splitter = langchain.RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0, add_start_index=True)
    expected = [
        Passage(3, piece.metadata["start_index"], piece.page_content) for piece in splitter.create_documents([text])
    ]
    assert split_books([BookText(3, "A book", text.replace(" ", "\n"))]) == expected  # line breaks are not borders


def test_segments_are_found_in_their_books_and_another_text_is_one_line(pairs, books):
    texts, positions = {book.book_idx: spaced(book.text) for book in books}, SegmentPositions(books)
    for pair in pairs:
        spans = positions.of(pair)
        assert tuple(texts[pair.book_idx][start:end] for start, end in spans) == pair.segments
    positions = SegmentPositions([BookText(book.book_idx, book.title, "Another text.") for book in books])
    with pytest.raises(BadInput, match="field 'excerpt_text': expected an excerpt of book 101 of config 'books'"):
        positions.of(pairs[0])


@given(st.integers(0, 99), st.integers(1, 60), st.integers(0, 99), st.integers(1, 60))
def test_a_passage_holds_what_it_has_half_of(start, length, begin, size):
    passage = Passage(1, start, "x" * length)
    shared = len(set(range(start, start + length)) & set(range(begin, begin + size)))
    assert passage.holds(1, begin, begin + size) == (shared >= size / 2)
    assert not passage.holds(2, begin, begin + size)


@given(st.integers(1, 200), st.integers(0, 300), st.integers(1, 50))
def test_of_two_neighbours_one_holds_what_the_cut_goes_through(cut, begin, size):
    first, second = Passage(1, 0, "x" * cut), Passage(1, cut, "x" * 500)
    assert first.holds(1, begin, begin + size) or second.holds(1, begin, begin + size)


def test_both_segments_are_found_and_shown_best_first(pairs, books, passages, tmp_path):
    found = retrieve(pairs, books, passages, Bm25, query=PACK.queries[ALONE])
    assert [one.id for one in found] == [pair.id for pair in pairs]
    assert sum(one.both for one in found) > 0.6 * len(found) and any(not one.both for one in found)
    for pair, one in zip(pairs, found, strict=True):
        assert one.query == " ".join(pair.shown) and len(one.passages) == 2
        texts = [passages[i].text for i in one.passages]
        positions = [next((i for i, text in enumerate(texts) if segment in text), None) for segment in pair.segments]
        if None not in positions:  # otherwise a split cuts a segment in two
            assert one.both and one.in_order == (positions[0] <= positions[1])
    record(tmp_path, found, passages)
    record(tmp_path, found, passages)  # nothing twice
    rows = [json.loads(line) for line in (tmp_path / "retrieved.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [pair.id for pair in pairs]
    assert recall_at(rows) > 0.95 and recall_at(rows, 1) < recall_at(rows)


def test_rank_order_and_recall_by_hand(pairs, books, passages):
    pair = next(p for p in pairs if p.distance > 100)
    spans = SegmentPositions(books).of(pair)
    first, second = (
        next(i for i, passage in enumerate(passages) if passage.holds(pair.book_idx, *span)) for span in spans
    )
    other = [i for i in range(len(passages)) if i not in (first, second)][: DEPTH - 2]
    assert first != second
    cases = {  # indices found -> ranks, both among two, in order best first, in order of the book
        (first, second, *other): ((0, 1), True, True, True),
        (second, first, *other): ((1, 0), True, False, True),
        (first, *other, second): ((0, 9), False, False, None),
        (*other, first, second): ((8, 9), False, False, None),
        tuple(other): ((None, None), False, False, None),
    }
    for indices, (ranks, both, in_order, kept) in cases.items():
        (one,) = retrieve([pair], books, passages, Fixed(list(indices)), query="{segments}")
        assert (one.ranks, one.both, one.in_order) == (ranks, both, in_order)
        assert recall_at([{"ranks": ranks}]) == sum(rank is not None for rank in ranks) / 2
        (one,) = retrieve([pair], books, passages, Fixed(list(indices)), query="{segments}", keep_order=True)
        assert one.passages == tuple(sorted(indices[:2]))
        assert kept is None or one.in_order == kept
    assert recall_at([]) is None
    assert recall_at([{"ranks": [0, 9]}, {"ranks": [None, 3]}], 5) == 0.5


@pytest.mark.parametrize("number", range(10))
def test_every_query_and_reading_is_filled(pairs, books, passages, number):
    some = pairs[:2]
    found = retrieve(some, books, passages, Bm25, query=PACK.queries[number], top_k=3)
    store = Store(books, passages, found, number)
    for request, one, pair in zip(requests_for("rag", some, PACK, 3, store=store), found, some, strict=True):
        assert all(segment in one.query for segment in pair.segments)
        assert (pair.title in one.query) == (number != ALONE)
        shown = "\n\n".join(passages[i].text for i in one.passages)
        assert request.context.endswith(f"\n\n{shown}") and len(one.passages) == 3
        assert "{" not in request.user


def test_a_number_out_of_range_is_refused(pairs):
    with pytest.raises(BadInput, match="reading: expected a number from 0 to 9, got 10"):
        requests_for("rag", pairs[:1], PACK, 3, store=Store(books, passages, [], 10))


def test_the_four_pairs_of_an_excerpt_have_one_context_and_are_neighbours(pairs):
    by_bin = sorted(pairs, key=lambda pair: pair.distance_bin)  # as the published files have them
    requests = requests_for("in-context", by_bin, PACK, 3)
    contexts = [request.context for request in requests]
    changes = sum(one != other for one, other in pairwise(contexts))
    assert changes + 1 == len(set(contexts)) == len(pairs) // 4
    assert sorted(request.id for request in requests) == sorted(pair.id for pair in pairs)


def test_a_full_book_is_one_context(pairs, books):
    requests = requests_for("full-book", pairs, PACK, 3, store=Store(books))
    assert len({request.context for request in requests}) == len(BOOKS)
    for request in requests:
        title = BOOKS[int(request.id.split("-")[0])]
        assert "complete book" in request.context and title in request.context
    with pytest.raises(BadInput, match="field 'book_idx': expected a book of config 'books', got 102"):
        requests_for("full-book", pairs, PACK, 3, store=Store(books[:1]))
