"""Excerpts of a book and, in each, one pair of segments per distance bin (Section 4.1).

A cell is one book at one excerpt length and one segment length. Its draws depend on the seed and the cell alone, so that
it is the same whether it is made alone or with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from epbench.booksort.pairs.bins import distance_bins
from epbench.booksort.pairs.matching import Pair, Shelf, fill
from epbench.booksort.texts.books import Book
from epbench.draws import RandomStream
from epbench.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_STRIPE = 500  # words; validation and test take their segments from different stripes of a book


@dataclass(frozen=True)
class PairDraw:
    """A pair of segments to be put in order.

    Attributes:
        split: `test` or `validation`.
        excerpt_idx: number of the excerpt in its book and config; those of the test come first.
        excerpt: first word of the excerpt, counted in the book.
        pair: first words of the two segments, counted in the book, the earlier first.
        distance_bin: largest distance of the bin.
        first_is_a: the earlier segment is shown as A.
    """

    split: str
    excerpt_idx: int
    excerpt: int
    pair: Pair
    distance_bin: int
    first_is_a: bool


@dataclass(frozen=True)
class Cell:
    """What is asked of a book.

    Attributes:
        excerpt_words: words of an excerpt.
        segment_words: words of a segment.
        test: number of test excerpts.
        validation: number of validation excerpts.
        seed: of all draws.
    """

    excerpt_words: int
    segment_words: int
    test: int = 100
    validation: int = 10
    seed: int = 0

    @property
    def config(self) -> str:
        """`e250_s20`: name of the config."""
        return f"e{self.excerpt_words}_s{self.segment_words}"


def draw_pairs(cell: Cell, book: Book) -> list[PairDraw]:
    """The trials of a book: for each excerpt one pair per distance bin, excerpts in the order of the book.

    Excerpts and segments begin at sentences; segments lie wholly in the excerpt and do not overlap. No pair comes
    twice. The words of a validation segment are in no test segment. In every bin and split the answer is A for exactly
    half of the excerpts (one more or less where their number is odd). A segment whose words come twice in the book is
    not used: it would have two positions.

    Args:
        cell: lengths, numbers and seed.
        book: of at least `cell.excerpt_words` words.

    Raises:
        BadInput: the book has fewer excerpts with a pair in every bin.
    """
    import numpy as np

    bins = distance_bins(cell.excerpt_words, cell.segment_words)
    n_words = len(book.words)
    sentences = np.asarray(book.starts, np.int64)
    segments = _unique_segments(book.codes, sentences, cell.segment_words)
    excerpts = sentences[sentences + cell.excerpt_words <= n_words]
    key = ("booksort", cell.seed, book.index, cell.excerpt_words, cell.segment_words)

    def choose(split: str, n: int, allowed: Words, candidates: Words) -> tuple[list[int], list[Shelf]]:
        draws = RandomStream(*key, split)
        shelves = [Shelf(allowed, cell.excerpt_words, cell.segment_words, bin_) for bin_ in bins]
        possible = np.logical_and.reduce([shelf.possible(candidates) for shelf in shelves])
        span = n_words - cell.excerpt_words + 1
        return fill(_spread(candidates[possible], n, span, draws), n, shelves, draws), shelves

    reserved = np.zeros(n_words + 1, np.int64)
    validation: tuple[list[int], list[Shelf]] = ([], [])
    if cell.validation:
        share = cell.validation / (cell.validation + cell.test)
        for reserved in _growing_stripes(n_words, share, RandomStream(*key, "stripes")):
            inside = reserved[segments + cell.segment_words] - reserved[segments] == cell.segment_words
            validation = choose("validation", cell.validation, segments[inside], excerpts)
            if len(validation[0]) == cell.validation:
                break
    outside = reserved[segments + cell.segment_words] == reserved[segments]
    test = choose("test", cell.test, segments[outside], np.setdiff1d(excerpts, validation[0]))
    for split, (chosen, _), wanted in (("validation", validation, cell.validation), ("test", test, cell.test)):
        if len(chosen) < wanted:
            raise BadInput(
                f"{book.file} ({n_words:,} words, {len(sentences):,} sentences), {cell.config}: {wanted} {split} excerpts "
                f"with a pair of their own in each of {len(bins)} distance bins are asked for, {len(chosen)} can be had; "
                "take fewer (--excerpts, --validation), other lengths, or a longer text"
            )
    return [
        trial
        for split, (chosen, shelves), first in (("test", test, 0), ("validation", validation, cell.test))
        for trial in _trials(
            split, chosen, shelves, [bin_.most for bin_ in bins], first, RandomStream(*key, split, "order")
        )
    ]


def _growing_stripes(n_words: int, share: float, draws: RandomStream) -> Iterator[Words]:
    """Stripes of a book that are reserved for the validation, in random order and one more each time.

    Args:
        n_words: of the book.
        share: of the stripes, with which to begin.
        draws: of the order.

    Yields:
        How many reserved words come before each word of the book, and before its end.
    """
    import numpy as np

    edges = np.linspace(0, n_words, max(2, n_words // _STRIPE) + 1).astype(np.int64).tolist()
    order = draws.sample(list(pairwise(edges)), len(edges) - 1)
    taken = np.zeros(n_words + 1, np.int64)
    for n, (begin, end) in enumerate(order, start=1):
        taken[begin + 1 : end + 1] = 1
        if n >= share * len(order):
            yield np.cumsum(taken)


def _unique_segments(codes: NDArray[np.uint64], starts: Words, length: int) -> Words:
    """The starts from which `length` words follow that come nowhere else in the book."""
    import numpy as np

    n = max(0, len(codes) - length + 1)
    hashes = np.zeros(n, np.uint64)
    for i in range(length):  # all windows at once; 64 bits wrap around
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[i : i + n]
    _, which, count = np.unique(hashes, return_inverse=True, return_counts=True)
    inside = starts[starts < n]
    unique: Words = inside[count[which[inside]] == 1]
    return unique


def _spread(candidates: Words, n: int, span: int, draws: RandomStream) -> Iterator[int]:
    """Candidates in the order in which they are tried: one at random of each n-th part of the book, then the others.

    Args:
        candidates: first words of excerpts, ascending.
        n: number of parts.
        span: number of words at which an excerpt can begin.
        draws: of the order.
    """
    import numpy as np

    edges = np.searchsorted(candidates, np.arange(n + 1) * span / n).tolist()
    first = [low + draws.index(high - low) for low, high in draws.sample(list(pairwise(edges)), n) if low < high]
    yield from candidates[first].tolist()
    others = np.delete(candidates, first).tolist()
    yield from draws.sample(others, len(others))


def _trials(
    split: str, chosen: list[int], shelves: list[Shelf], edges: list[int], first: int, draws: RandomStream
) -> list[PairDraw]:
    """Trials in the order of the book; the excerpts are numbered in random order, so that the first k are a sample."""
    n = len(chosen)
    numbers = dict(zip(draws.sample(chosen, n), range(first, first + n), strict=True))
    trials = []
    shown = [draws.sample([(i + b) % 2 == 0 for i in range(n)], n) for b in range(len(shelves))]
    for i, excerpt in enumerate(sorted(chosen)):
        for shelf, edge, first_is_a in zip(shelves, edges, shown, strict=True):
            trials.append(PairDraw(split, numbers[excerpt], excerpt, shelf.held[excerpt], edge, first_is_a[i]))
    return trials
