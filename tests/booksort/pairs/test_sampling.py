from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.booksort.pairs import (
    EXCERPT_WORDS,
    Cell,
    DistanceBin,
    Shelf,
    Starts,
    _unique_segments,
    distance_bins,
    draw_pairs,
    fill,
    whole_book_bins,
)
from epbench.booksort.texts.books import Book
from epbench.draws import RandomStream
from tests.booksort.made_texts import made_book


def check(cell, book, drawn):
    """Everything that the card promises of a cell."""
    bins = {bin_.most: bin_ for bin_ in cell.bins(len(book.words))}
    excerpt_words = cell.excerpt_words or len(book.words)
    starts = set(book.starts)
    assert len(drawn) == len(bins) * (cell.test + cell.validation)
    n_of = {"test": len(bins) * cell.test, "validation": len(bins) * cell.validation}
    assert Counter(draw.split for draw in drawn) == Counter(n_of)
    texts, ranges = {}, {}
    for draw in drawn:
        first, second = draw.pair
        assert {draw.excerpt, first, second} <= starts
        assert draw.excerpt + excerpt_words <= len(book.words)
        assert draw.excerpt <= first and second + cell.segment_words <= draw.excerpt + excerpt_words
        assert second - first >= cell.segment_words
        assert bins[draw.distance_bin].least <= second - first <= bins[draw.distance_bin].most
        for start in draw.pair:
            texts.setdefault(draw.split, set()).add(tuple(book.words[start : start + cell.segment_words]))
            ranges.setdefault(draw.split, set()).update(range(start, start + cell.segment_words))
    assert len({draw.pair for draw in drawn}) == len(drawn)
    if cell.validation:
        assert not texts["test"] & texts["validation"] and not ranges["test"] & ranges["validation"]
    for split, n, begin in (("test", cell.test, 0), ("validation", cell.validation, cell.test)):
        ours = [draw for draw in drawn if draw.split == split]
        assert Counter(draw.excerpt_idx for draw in ours) == Counter(dict.fromkeys(range(begin, begin + n), len(bins)))
        assert len({draw.excerpt for draw in ours}) == (n if cell.excerpt_words else min(n, 1))
        for most in bins:
            shown_first = sum(draw.first_is_a for draw in ours if draw.distance_bin == most)
            assert shown_first in (n // 2, n - n // 2)
            assert 2 * shown_first == n or n % 2
        assert [draw.excerpt for draw in ours] == sorted(draw.excerpt for draw in ours)
    return True


def test_the_bins_of_table_4():
    def edges(*lengths):
        return [bin_.most for bin_ in distance_bins(*lengths)]

    assert [edges(excerpt, 20) for excerpt in EXCERPT_WORDS] == [
        [62, 83, 125, 200], [250, 333, 500, 800], [625, 833, 1250, 2000], [1000, 2500, 5000, 8000], [1000, 5000, 10000, 16000],
    ]  # fmt: skip
    assert distance_bins(250, 50) == [(50, 62), (63, 83), (84, 125), (126, 200)]


@pytest.mark.parametrize("lengths", [(100, 50), (3, 0), (0, 20)])
def test_lengths_without_bins_are_refused(lengths):
    with pytest.raises(BadInput, match=f"excerpts of {lengths[0]} words and segments of {lengths[1]}: .* must ascend"):
        distance_bins(*lengths)


@settings(max_examples=15, deadline=None)
@given(
    n_words=st.integers(4000, 9000),
    text=st.integers(0, 50),
    seed=st.integers(0, 10**6),
    lengths=st.sampled_from([(250, 20), (250, 50), (300, 10), (1000, 50)]),
    test=st.integers(1, 25),
    validation=st.integers(0, 4),
)
def test_a_cell_keeps_every_promise(n_words, text, seed, lengths, test, validation):
    book = made_book(max(n_words, 15 * lengths[0]), text)  # a shorter one may not hold as many long excerpts
    cell = Cell(*lengths, test, validation, seed)
    assert check(cell, book, draw_pairs(cell, book))


def test_a_whole_book_has_pairs_up_to_40_000_words_apart():
    assert [tuple(bin_) for bin_ in whole_book_bins(1550, 50)] == [(50, 400), (401, 1000), (1001, 1500)]
    assert len(whole_book_bins(1549, 50)) == 2 and whole_book_bins(449, 50) == []
    book, short = made_book(44_000), made_book(6000)
    assert check(Cell(None, 20, 20, 2), short, draw_pairs(Cell(None, 20, 20, 2), short))
    cell = Cell(None, 20, 41, 0)
    drawn = draw_pairs(cell, book)
    assert cell.config == "book_s20" and check(cell, book, drawn)
    assert draw_pairs(cell, book) == drawn != draw_pairs(Cell(None, 20, 41, 0, seed=1), book)
    assert sorted({draw.distance_bin for draw in drawn}) == [400, 1000, 1500, 4000, 10_000, 16_500, 25_000, 40_000]
    for bin_ in cell.bins(len(book.words)):
        pairs = [draw.pair for draw in drawn if draw.distance_bin == bin_.most]
        distances = [second - first for first, second in pairs]
        middle = (bin_.least + bin_.most) / 2
        assert abs(np.mean(distances) - middle) < 0.25 * (bin_.most - bin_.least)
        begins = [first for first, _ in pairs]
        reach = len(book.words) - bin_.most  # pairs begin in all parts of what the bin leaves
        assert min(begins) < 0.25 * reach and max(begins) > 0.75 * reach
    assert max(second - first for first, second in (draw.pair for draw in drawn)) > 39_000


def test_a_cell_depends_on_its_lengths_book_and_seed_alone():
    book = made_book(6000)
    drawn = draw_pairs(Cell(250, 20, 20, 4), book)
    assert draw_pairs(Cell(250, 20, 20, 4), book) == drawn
    assert draw_pairs(Cell(250, 20, 20, 4, seed=1), book) != drawn
    other = Book(1, book.title, book.paragraphs, [], "", "a.txt")
    assert [draw.pair for draw in draw_pairs(Cell(250, 20, 20, 4), other)] != [draw.pair for draw in drawn]


def test_excerpts_are_spread_over_the_book_and_distances_over_the_bin():
    book = made_book(60_000)
    drawn = draw_pairs(Cell(2500, 20), book)
    places = np.array([draw.excerpt for draw in drawn if draw.split == "test"][::4]) / (len(book.words) - 2500)
    assert np.abs(places - (np.arange(100) + 0.5) / 100).max() < 0.02  # one in each hundredth of the book, in order
    for bin_ in distance_bins(2500, 20):
        ours = [draw.pair[1] - draw.pair[0] for draw in drawn if draw.distance_bin == bin_.most]
        quarters = np.histogram(ours, bins=4, range=(bin_.least, bin_.most + 1))[0]
        assert quarters.min() > 12, (bin_, quarters)  # 27.5 expected in each


def test_a_segment_that_appears_twice_in_the_book_is_not_used():
    verse = "The old song is sung again by all the men of the town who sat there and then some more."
    paragraphs = [p for paragraph in made_book(4000).paragraphs for p in (paragraph, verse)]
    book = Book(0, "Song", paragraphs, [], "", "song.txt")
    drawn = draw_pairs(Cell(250, 10, 20, 2), book)
    segments = [" ".join(book.words[start : start + 10]) for draw in drawn for start in draw.pair]
    text = f" {' '.join(book.words)} "
    assert all(text.count(f" {segment} ") == 1 for segment in segments)


@pytest.mark.parametrize(("test", "validation"), [(100, 10), (3, 60)])
def test_a_book_with_too_few_excerpts_says_how_many_it_has(test, validation):
    message = r"made0\.txt \(.*\), e250_s50: expected \d+ (test|validation) excerpts .*, got \d+; ask for fewer"
    with pytest.raises(BadInput, match=message):
        draw_pairs(Cell(250, 50, test, validation), made_book(900))


@settings(deadline=None)
@given(st.lists(st.integers(0, 200), min_size=2, max_size=40, unique=True), st.integers(0, 99), st.integers(1, 40))
def test_a_shelf_serves_as_many_excerpts_as_any_matching(starts, seed, least):
    """The reference is scipy's maximum matching."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    words = np.array(sorted(starts))
    bin_ = DistanceBin(least, least + 15)
    shelf = Shelf(Starts(words, 201), 80, 10, bin_)
    pairs = [(int(a), int(b)) for a in words for b in words if bin_.least <= b - a <= bin_.most]
    fits = np.array([[e <= a and b <= e + 70 for a, b in pairs] for e in words.tolist()])
    fits = fits.reshape(len(words), len(pairs))
    assert shelf.possible(words).tolist() == fits.any(axis=1).tolist()
    most = (maximum_bipartite_matching(csr_array(fits.astype(int)), "column") >= 0).sum() if pairs else 0
    chosen = fill(words.tolist(), len(words), [shelf], RandomStream(seed))
    assert len(chosen) == most
    assert len(set(shelf.held.values())) == len(chosen) and set(shelf.held) == set(chosen)
    for excerpt, pair in shelf.held.items():
        assert fits[words.tolist().index(excerpt), pairs.index(pair)]


@given(st.lists(st.integers(1, 2), max_size=60), st.integers(1, 20), st.data())
def test_segments_that_appear_once_are_found(codes, length, data):
    starts = sorted(data.draw(st.sets(st.integers(0, max(0, len(codes) - 1))))) if codes else []
    windows = Counter(tuple(codes[at : at + length]) for at in range(len(codes) - length + 1))
    once = [at for at in starts if windows[tuple(codes[at : at + length])] == 1]
    found = _unique_segments(np.array(codes, np.uint64), np.array(starts, np.int64), length)
    assert found.tolist() == once
