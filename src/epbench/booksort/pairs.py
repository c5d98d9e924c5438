"""Excerpts and pairs of segments, drawn from a book (Section 4.1).

A cell is one book at one excerpt length and one segment length. Its random streams depend only on the seed and the cell, so
a cell is the same whether it is made alone or with others. In each excerpt it has one pair of segments per distance bin: bins
go by how far apart two segments are (Appendix B.2, Table 4).

No two excerpts have the same pair. In every bin, an excerpt takes a free pair if there is one. Otherwise an augmenting path
makes room: other excerpts exchange their pairs. So an excerpt fails only if the text has too few pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epbench.booksort.texts.books import Book
from epbench.draws import RandomStream
from epbench.errors import BadInput

Words = NDArray[np.int64]

EXCERPT_WORDS = (250, 1000, 2500, 10_000, 20_000)
SEGMENT_WORDS = (20, 50)
WHOLE_BOOK_EDGES = (400, 1000, 1500, 4000, 10_000, 16_500, 25_000, 40_000)
"""Right edges, in words, of the bins of distance that the paper's figures have for whole books."""
_LONG = 5000  # words; the first bin of excerpts of this length or longer ends at 1000 words


class DistanceBin(NamedTuple):
    """A range of distances, in words from the first word of the earlier segment to the first word of the later one."""

    least: int  # smallest distance in the bin
    most: int  # largest distance in the bin; the column `distance_bin`


def distance_bins(excerpt_words: int, segment_words: int) -> list[DistanceBin]:
    """Return the four bins in ascending order.

    The right edges are those of Table 4, which prints the last one as L_E/0.8 but means 0.8·L_E. A distance on an edge
    belongs to the bin that ends there. The first bin begins at the length of a segment, so segments may be adjacent.
    BadInput if the excerpt is so short that a bin would be empty.
    """
    quarter, half, last = excerpt_words // 4, excerpt_words // 2, int(excerpt_words // 1.25)
    edges = [quarter, excerpt_words // 3, half, last] if excerpt_words < _LONG else [1000, quarter, half, last]
    if segment_words < 1 or not all(a < b for a, b in pairwise([segment_words, *edges, excerpt_words])):
        raise BadInput(
            f"excerpts of {excerpt_words} words and segments of {segment_words}: the distance bins would end at "
            f"{', '.join(map(str, edges))}, which must ascend from the length of a segment; use longer excerpts, such as "
            f"{', '.join(map(str, EXCERPT_WORDS))}, or shorter segments"
        )
    return [DistanceBin(segment_words, edges[0]), *(DistanceBin(a + 1, b) for a, b in pairwise(edges))]


def whole_book_bins(n_words: int, segment_words: int) -> list[DistanceBin]:
    """Return the bins of a book of so many words in ascending order: those of `WHOLE_BOOK_EDGES` that end in it, if any."""
    edges = [edge for edge in WHOLE_BOOK_EDGES if segment_words < edge <= n_words - segment_words]
    return [DistanceBin(a + 1, b) for a, b in pairwise([segment_words - 1, *edges])]


_NO_GAP = 2**62

SegmentPair = tuple[int, int]
"""Indices in the book of the first words of the earlier and the later segment."""


class Starts:
    """The words of a book at which segments may begin."""

    def __init__(self, words: Words, n_words: int) -> None:
        """Index the starts, which are words in the book, in ascending order."""
        here = np.zeros(n_words + 1, np.int64)
        here[words + 1] = 1
        self.words = words
        self._before = here.cumsum()

    def before(self, words: Words | int) -> Words:
        """Return how many segments begin before each of these words, which may lie after the end of the book."""
        return self._before.take(words, mode="clip")  # type: ignore[no-any-return]


class Shelf:
    """The pairs of one distance bin and the excerpts that hold them."""

    def __init__(
        self, starts: Starts, excerpt_words: int, segment_words: int, bin_: DistanceBin, *, whole_book: bool = False
    ) -> None:
        """Set up an empty shelf; of whole books, excerpts are known by any number of their own."""
        self._starts, self.whole_book = starts, whole_book
        self._reach = excerpt_words - segment_words  # from the start of an excerpt to the last one of a segment
        self.bin = bin_
        self._holder: dict[SegmentPair, int] = {}
        self.held: dict[int, SegmentPair] = {}
        """The pair of each excerpt, by the excerpt's first word."""

    def possible(self, excerpts: Words) -> NDArray[np.bool_]:
        """Return which excerpts (by first word, in ascending order) have any pair in this bin."""
        starts, before = self._starts.words, self._starts.before
        if not len(starts):
            return np.zeros(len(excerpts), bool)
        nearest = before(starts + self.bin.least)
        second = starts[np.minimum(nearest, len(starts) - 1)]
        distance = second - starts
        fits = (distance >= self.bin.least) & (distance <= self.bin.most)
        never = np.iinfo(np.int64).max
        # By start: the earliest end of a pair that begins there or later.
        ends = np.minimum.accumulate(np.where(fits, second, never)[::-1])[::-1]
        ends = np.append(ends, never)
        in_reach: NDArray[np.bool_] = ends[before(excerpts)] <= excerpts + self._reach
        return in_reach

    def place(self, excerpt: int, stream: RandomStream) -> bool:
        """Give an excerpt its own pair; return False if there is none, even after exchanges with other excerpts.

        A distance is drawn uniformly from the bin, and the free pair closest to it is taken. So the distances are as
        uniform as the text allows, and do not depend on how many pairs have each distance.
        """
        target = stream.between(self.bin.least, self.bin.most)
        if pair := self._nearest_free(excerpt, target, stream):
            self._give(excerpt, pair)
            return True
        return self._augment(excerpt)

    def drop(self, excerpt: int) -> None:
        """Take the pair, if it has one, from an excerpt that found none in another bin."""
        if pair := self.held.pop(excerpt, None):
            del self._holder[pair]

    def _give(self, excerpt: int, pair: SegmentPair) -> None:
        self._holder[pair] = excerpt
        self.held[excerpt] = pair

    def _nearest_free(self, excerpt: int, target: int, stream: RandomStream) -> SegmentPair | None:
        least, most = self.bin
        width = (most - least) // max(1, self._reach // 20)  # wide enough for some pairs in most cases
        while True:
            first, second = self._pairs(excerpt, max(least, target - width), min(most, target + width))
            gaps = abs(second - first - target)
            while len(gaps) and (gap := gaps.min()) < _NO_GAP:
                ties = (gaps == gap).nonzero()[0]
                turn = stream.index(len(ties))
                for tie in (*ties[turn:], *ties[:turn]):
                    pair = int(first[tie]), int(second[tie])
                    if pair not in self._holder:
                        return pair
                gaps[ties] = _NO_GAP
            if width >= most - least:
                return None
            width = 4 * width + 1

    def _pairs(self, excerpt: int, least: int, most: int) -> tuple[Words, Words]:
        """Return the first words of both segments of the excerpt's pairs, `least` to `most` words apart."""
        before, words = self._starts.before, self._starts.words
        begin_of_excerpt = 0 if self.whole_book else excerpt
        last = begin_of_excerpt + self._reach
        first = words[before(begin_of_excerpt) : before(last - least + 1)]
        begin, end = before(first + least), np.minimum(before(first + (most + 1)), before(last + 1))
        n = end - begin
        upto = n.cumsum()
        which = np.arange(len(n)).repeat(n)
        return first[which], words[(end - upto)[which] + np.arange(len(which))]

    def _augment(self, excerpt: int) -> bool:
        """Search breadth first over pairs and their holders for a free pair, then shift all pairs along the path."""
        came_from: dict[SegmentPair, int] = {}
        waiting = deque([excerpt])
        while waiting:
            current = waiting.popleft()
            for pair in zip(*(words.tolist() for words in self._pairs(current, *self.bin)), strict=True):
                if pair in came_from:
                    continue
                came_from[pair] = current
                if pair in self._holder:
                    waiting.append(self._holder[pair])
                    continue
                while True:  # back along the path
                    taker = came_from[pair]
                    left = self.held.get(taker)
                    self._give(taker, pair)
                    if left is None:
                        return True
                    pair = left
        return False


def fill(excerpts: Iterable[int], n: int, shelves: Sequence[Shelf], stream: RandomStream) -> list[int]:
    """Return the first n excerpts that get a pair in every bin, one shelf each, or fewer if the text has no more."""
    chosen: list[int] = []
    for excerpt in excerpts:
        if len(chosen) == n:
            break
        if all(shelf.place(excerpt, stream) for shelf in shelves):
            chosen.append(excerpt)
        else:
            for shelf in shelves:
                shelf.drop(excerpt)
    return chosen


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
    drawn twice. No word of a validation segment is in a test segment. In every bin and split, the answer is A for
    exactly half of the excerpts (one more or fewer if their number is odd). A segment whose words appear twice in the
    book is not used, because it would have two positions. BadInput if the book has too few excerpts with a pair in
    every bin.
    """
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
    tests = _pair_draws("test", *test, 0, RandomStream(*key, "test", "order"))
    return tests + _pair_draws("validation", *validation, cell.test, RandomStream(*key, "validation", "order"))


def _growing_stripes(n_words: int, share: float, stream: RandomStream) -> Iterator[Words]:
    """Reserve stripes of a book for validation, one more each time; yield the number of reserved words before each word."""
    edges = np.linspace(0, n_words, max(2, n_words // _STRIPE) + 1).astype(np.int64).tolist()
    order = stream.sample(list(pairwise(edges)), len(edges) - 1)
    taken = np.zeros(n_words + 1, np.int64)
    for n, (begin, end) in enumerate(order, start=1):
        taken[begin + 1 : end + 1] = 1
        if n >= share * len(order):
            yield np.cumsum(taken)


def _unique_segments(codes: NDArray[np.uint64], starts: Words, length: int) -> Words:
    """Return the starts of segments of `length` words that appear nowhere else in the book."""
    inside = starts[starts + length <= len(codes)]
    if not len(inside):
        return inside
    hashes = _window_hashes(codes, length)
    ordered, wanted = np.sort(hashes), hashes[inside]
    unique: Words = inside[np.searchsorted(ordered, wanted, "right") - np.searchsorted(ordered, wanted) == 1]
    return unique


def _window_hashes(codes: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Return a number for the `length` words from each word on; a long window's is made from those of two shorter ones."""
    if length == 1:
        return codes
    last = length // 2 if length % 2 == 0 else 1
    first = _window_hashes(codes, length - last)
    then = codes[length - 1 :] if last == 1 else first[last:]
    return first[:-last] * np.uint64(pow(0x9E3779B97F4A7C15, last, 2**64)) + then  # 64-bit numbers wrap around


def _spread(candidates: Words, n: int, span: int, stream: RandomStream) -> Iterator[int]:
    """Yield candidates, in ascending order, as they are tried: a random one from each n-th of `span`, then all others."""
    edges = np.searchsorted(candidates, np.arange(n + 1) * span / n).tolist()
    first = [low + stream.index(high - low) for low, high in stream.sample(list(pairwise(edges)), n) if low < high]
    yield from candidates[first].tolist()
    others = np.delete(candidates, first).tolist()
    yield from stream.sample(others, len(others))


def _pair_draws(
    split: str, chosen: list[int], shelves: list[Shelf], first: int, stream: RandomStream
) -> list[PairDraw]:
    """The pairs in the order of the book, with excerpts numbered at random: the first k of them are a random sample."""
    n = len(chosen)
    numbers = dict(zip(stream.sample(chosen, n), range(first, first + n), strict=True))
    pairs = []
    shown = [stream.sample([(i + b) % 2 == 0 for i in range(n)], n) for b in range(len(shelves))]
    for i, excerpt in enumerate(sorted(chosen)):
        for shelf, first_is_a in zip(shelves, shown, strict=True):
            begin, pair = 0 if shelf.whole_book else excerpt, shelf.held[excerpt]
            pairs.append(PairDraw(split, numbers[excerpt], begin, pair, shelf.bin.most, first_is_a[i]))
    return pairs
