import pytest

from epbench import BadInput
from epbench.retrieval.load import Bm25, terms
from epbench.tulving.context.requests import MEMORIES, published_top_k, requests_for
from epbench.tulving.context.retrieved import chunks_of
from epbench.tulving.dataset.load import Book
from tests.tulving.context.rows import asked

TEXT = "Chapter 1\n\nred cat\n\nblue dog\n\n\nChapter 2\n\nred fox"
BOOK = Book(TEXT, [(1, "red cat\n\nblue dog"), (2, "red fox")], "Animals")
ASKED = [
    asked("a", "Where is the red fox?", 2),
    asked("b", "A blue dog?", 1),
    asked("c", "Zebra?", 0),
]


def context(memory, **options):
    return {request.id: request.context for request in requests_for(memory, BOOK, ASKED, **options)}


def test_terms_are_lower_case_letters_and_digits():
    assert terms("St. Mary's, May 07") == ["st", "mary", "s", "may", "07"]


def test_chunks_tell_their_place():
    assert chunks_of(BOOK, "rag-chapter")[1] == "Chapter 2\n\nred fox"
    assert chunks_of(BOOK, "rag-paragraph") == [
        "Chapter 1, Paragraph 1\n\nred cat", "Chapter 1, Paragraph 2\n\nblue dog", "Chapter 2, Paragraph 1\n\nred fox",
    ]  # fmt: skip


def test_the_whole_book_is_one_context_for_all_questions():
    assert len(set(context("in-context").values())) == 1
    assert BOOK.text in context("in-context")["a"]
    assert "cat" not in context("none")["a"] and BOOK.title in context("none")["a"]


def test_the_best_chunks_come_first_or_in_the_order_of_the_book():
    best = context("rag-paragraph", top_k=2)["a"]
    assert best.index("red fox") < best.index("red cat") and "blue dog" not in best
    kept = context("rag-paragraph", top_k=2, keep_order=True)["a"]
    assert kept.index("red cat") < kept.index("red fox")


def test_top_k_is_as_published():
    assert published_top_k("rag-chapter", ASKED) == 2
    assert published_top_k("rag-paragraph", ASKED) == 8
    assert published_top_k("none", ASKED) is None


def test_bm25_ranks_every_chunk_with_stable_ties():
    index = Bm25(["a b", "b c", "b c c"])
    assert list(index.search(["c", "b", "zzz"], 3)) == [[2, 1, 0], [0, 1, 2], [0, 1, 2]]


def test_unknown_memory_and_bad_top_k_are_refused():
    with pytest.raises(BadInput, match=f"unknown memory 'human'; expected one of: {', '.join(MEMORIES)}$"):
        context("human")
    with pytest.raises(BadInput, match="top-k: expected at least 1, got 0"):
        context("rag-chapter", top_k=0)
