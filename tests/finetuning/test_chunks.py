"""Chunks of a book: every word once, and cuts between sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.finetuning.tokens import chunk_texts, chunks_of
from tests.refusals import refusal


@st.composite
def books(draw):
    """Paragraphs, the words that begin a sentence, and the wanted size of a chunk."""
    paragraphs = draw(st.lists(st.lists(st.sampled_from(["a", "bb", "é", "III."]), max_size=30).map(" ".join)))
    n = len(" ".join(paragraphs).split())
    starts = sorted(draw(st.sets(st.integers(0, max(0, n - 1)), max_size=n))) if n else []
    return paragraphs, starts, draw(st.integers(1, 40))


def words_of(n):
    return [f"w{i}" for i in range(n)]


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(5500, [5500]), (5501, [2750, 2751]), (10_400, [5200, 5200]), (15_000, [5000] * 3), (0, [])],
)
def test_a_short_rest_is_spread_over_the_chunks(n, sizes):
    assert [len(chunk) for chunk in chunks_of(words_of(n), range(n))] == sizes


def test_a_cut_goes_to_the_nearest_sentence_or_the_log_says_that_there_is_none(caplog):
    assert chunks_of(words_of(20), [0, 3, 9, 12, 18], 10) == [range(9), range(9, 20)]
    assert chunks_of(words_of(20), [0, 3, 12, 18], 10) == [range(12), range(12, 20)] and not caplog.text
    assert chunks_of(words_of(20), [0, 4, 16], 10) == [range(10), range(10, 20)]
    assert "no sentence begins within 5 words of word 10" in caplog.text
    assert refusal(chunks_of, ["a"], [0], 0) == "words in a chunk: expected at least 1, found 0"


@given(books())
def test_no_word_is_lost_or_repeated_and_chunks_have_about_the_wanted_size(book):
    paragraphs, starts, n_words = book
    words = " ".join(paragraphs).split()
    chunks = chunks_of(words, starts, n_words)
    assert [i for chunk in chunks for i in chunk] == list(range(len(words)))
    even = len(words) / max(1, len(chunks))
    assert even <= 1.1 * n_words and (len(chunks) < 2 or even > 0.5 * n_words)
    for number, chunk in enumerate(chunks):
        assert 0 < len(chunk) < 2 * even + 1
        if number:
            target = number * even
            near = [start for start in starts if abs(start - target) < even / 2 - 1e-9]
            wanted = min((abs(start - target) for start in near), default=0.5)
            assert abs(chunk.start - target) <= wanted + 1e-9 and (not near or chunk.start in near)


@given(books())
def test_the_texts_of_chunks_have_the_words_and_the_blank_lines_of_the_book(book):
    paragraphs, starts, n_words = book
    words = " ".join(paragraphs).split()
    texts = chunk_texts(paragraphs, starts, n_words)
    assert [text.split() for text in texts] == [words[c.start : c.stop] for c in chunks_of(words, starts, n_words)]
    assert " ".join(texts).split() == words
    filled = [paragraph for paragraph in paragraphs if paragraph]
    inside = sum(len(text.split("\n\n")) - 1 for text in texts)
    assert len(filled) - 1 - (len(texts) - 1) <= inside <= max(0, len(filled) - 1)
    pieces = [piece for text in texts for piece in text.split("\n\n")] if texts else []
    assert all(any(piece in paragraph for paragraph in filled) for piece in pieces)
    if len(texts) == 1:
        assert texts[0] == "\n\n".join(filled)


def test_a_heading_stays_a_paragraph_and_a_cut_paragraph_goes_on():
    paragraphs = ["CHAPTER I", "One two. Three four.", "CHAPTER II", "Five six."]
    texts = ["CHAPTER I\n\nOne two.", "Three four.\n\nCHAPTER II\n\nFive six."]
    assert chunk_texts(paragraphs, [0, 2, 4, 6, 8], 5) == texts
