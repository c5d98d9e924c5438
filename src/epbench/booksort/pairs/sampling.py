"""Draw excerpts from a book and, in each excerpt, one pair of segments per distance bin (Section 4.1).

A cell is one book at one excerpt length and one segment length. Its random streams depend only on the seed and the cell, so
a cell is the same whether it is made alone or with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from epbench.booksort.pairs.bins import DistanceBin, SegmentPair, Shelf, Starts, distance_bins, fill, whole_book_bins
from epbench.booksort.texts.books import Book
from epbench.draws import RandomStream
from epbench.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_STRIPE = 500  # words; validation and test segments come from different stripes of a book


@dataclass(frozen=True)
class PairDraw:
    """A drawn pair of segments to be put in order."""

    split: str  # `test` or `validation`
    # Number of the excerpt in its book and config; the test excerpts come first. In a whole book it numbers the draws
    # of a pair in every bin.
    excerpt_idx: int
    excerpt: int  # index in the book of the first word of the excerpt
    pair: SegmentPair  # indices in the book of the first words of the two segments, the earlier one first
    distance_bin: int  # largest distance in the bin
    first_is_a: bool  # whether the earlier segment is shown as A


@dataclass(frozen=True)
class Cell:
    """The lengths and numbers to draw from one book."""

    excerpt_words: int | None  # length of an excerpt in words; None if it is the whole book
    segment_words: int  # length of a segment in words
    test: int = 100  # number of test excerpts; in a whole book, of test pairs in each bin
    validation: int = 10  # the same of validation
    seed: int = 0  # seed of all random streams

    @property
    def config(self) -> str:
        """Name of the config, such as `e250_s20`, or `book_s50` for whole books."""
        return f"{f'e{self.excerpt_words}' if self.excerpt_words else 'book'}_s{self.segment_words}"

    def bins(self, n_words: int) -> list[DistanceBin]:
        """Return the distance bins of a book with that many words; none if it is too short."""
        if self.excerpt_words is None:
            return whole_book_bins(n_words, self.segment_words)
        return distance_bins(self.excerpt_words, self.segment_words) if n_words >= self.excerpt_words else []


def draw_pairs(cell: Cell, book: Book) -> list[PairDraw]:
    """Draw one pair per excerpt and distance bin of a book that the cell has bins for, with excerpts in the book's order.

    Excerpts and segments begin at sentences. Segments lie entirely within the excerpt and do not overlap. No pair is
    drawn twice. No word of a validation segment is in a test segment. In every bin and split, the answer is A for exactly
    half of the excerpts (one more or fewer if their number is odd). A segment whose words appear twice in the book is not
    used, because it would have two positions.

    Raises:
        BadInput: The book has too few excerpts with a pair in every bin.
    """
    import numpy as np

    n_words, whole_book = len(book.words), cell.excerpt_words is None
    bins, excerpt_words = cell.bins(n_words), cell.excerpt_words or n_words
    sentences = np.asarray(book.starts, np.int64)
    segments = _unique_segments(book.codes, sentences, cell.segment_words)
    excerpts = np.arange(cell.test + cell.validation) if whole_book else sentences[sentences + excerpt_words <= n_words]
    key = ("booksort", cell.seed, book.index, cell.excerpt_words, cell.segment_words)

    def choose(split: str, n: int, allowed: Words, candidates: Words) -> tuple[list[int], list[Shelf]]:
        stream = RandomStream(*key, split)
        starts = Starts(allowed, n_words)
        shelves = [Shelf(starts, excerpt_words, cell.segment_words, bin_, whole_book=whole_book) for bin_ in bins]
        if whole_book:
            return fill(candidates.tolist(), n, shelves, stream), shelves
        possible = np.logical_and.reduce([shelf.possible(candidates) for shelf in shelves])
        span = n_words - excerpt_words + 1
        return fill(_spread(candidates[possible], n, span, stream), n, shelves, stream), shelves

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
                f"{book.file} ({n_words:,} words, {len(sentences):,} sentences), {cell.config}: expected {wanted} {split} "
                f"excerpts with a pair of their own in each of {len(bins)} distance bins, got {len(chosen)}; ask for fewer "
                f"{split} excerpts, use other lengths, or use a longer text"
            )
    return [
        drawn
        for split, (chosen, shelves), first in (("test", test, 0), ("validation", validation, cell.test))
        for drawn in _pair_draws(
            split, chosen, shelves, [bin_.most for bin_ in bins], first, RandomStream(*key, split, "order"), whole_book
        )
    ]


def _growing_stripes(n_words: int, share: float, stream: RandomStream) -> Iterator[Words]:
    """Reserve stripes of a book for validation, one more each time; yield the number of reserved words before each word."""
    import numpy as np

    edges = np.linspace(0, n_words, max(2, n_words // _STRIPE) + 1).astype(np.int64).tolist()
    order = stream.sample(list(pairwise(edges)), len(edges) - 1)
    taken = np.zeros(n_words + 1, np.int64)
    for n, (begin, end) in enumerate(order, start=1):
        taken[begin + 1 : end + 1] = 1
        if n >= share * len(order):
            yield np.cumsum(taken)


def _unique_segments(codes: NDArray[np.uint64], starts: Words, length: int) -> Words:
    """Return the starts of segments of `length` words that appear nowhere else in the book."""
    import numpy as np

    inside = starts[starts + length <= len(codes)]
    if not len(inside):
        return inside
    hashes = _window_hashes(codes, length)
    ordered, wanted = np.sort(hashes), hashes[inside]
    unique: Words = inside[np.searchsorted(ordered, wanted, "right") - np.searchsorted(ordered, wanted) == 1]
    return unique


def _window_hashes(codes: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Return a number for the `length` words from each word on; a long window's is made from those of two shorter ones."""
    import numpy as np

    if length == 1:
        return codes
    last = length // 2 if length % 2 == 0 else 1
    first = _window_hashes(codes, length - last)
    then = codes[length - 1 :] if last == 1 else first[last:]
    return first[:-last] * np.uint64(pow(0x9E3779B97F4A7C15, last, 2**64)) + then  # 64-bit numbers wrap around


def _spread(candidates: Words, n: int, span: int, stream: RandomStream) -> Iterator[int]:
    """Yield candidates, in ascending order, as they are tried: a random one from each n-th of `span`, then all others."""
    import numpy as np

    edges = np.searchsorted(candidates, np.arange(n + 1) * span / n).tolist()
    first = [low + stream.index(high - low) for low, high in stream.sample(list(pairwise(edges)), n) if low < high]
    yield from candidates[first].tolist()
    others = np.delete(candidates, first).tolist()
    yield from stream.sample(others, len(others))


def _pair_draws(
    split: str,
    chosen: list[int],
    shelves: list[Shelf],
    edges: list[int],
    first: int,
    stream: RandomStream,
    whole_book: bool,
) -> list[PairDraw]:
    """The pairs in the order of the book, with excerpts numbered at random: the first k of them are a random sample."""
    n = len(chosen)
    numbers = dict(zip(stream.sample(chosen, n), range(first, first + n), strict=True))
    pairs = []
    shown = [stream.sample([(i + b) % 2 == 0 for i in range(n)], n) for b in range(len(shelves))]
    for i, excerpt in enumerate(sorted(chosen)):
        for shelf, edge, first_is_a in zip(shelves, edges, shown, strict=True):
            begin = 0 if whole_book else excerpt
            pairs.append(PairDraw(split, numbers[excerpt], begin, shelf.held[excerpt], edge, first_is_a[i]))
    return pairs
