"""Tables 6 and 9: how many dates, spaces, entities and contents occur once, twice, three to five times, or more often.

Table 6 is what to expect: n events are drawn many times, as in the paper one element alone and without the rule that no
two events share date and person or date and space. Table 9 is what each book has, beside that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked, with_deviation
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table, cell
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.events import Distribution
from epbench.tulving.events.universe import PUBLISHED_SIZE
from epbench.tulving.paper.books.book import (
    PaperBook,
    identity_of,
    originals,
    reported_identity,
    reported_notes,
    rows_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 10_000
TIMES_BINS = ("1", "2", "3-5", "6+")
DISTRIBUTIONS: tuple[Distribution, ...] = ("geometric", "uniform")
PUBLISHED_EVENTS = (20, 200)

_TITLE_6 = "Expected number of items that occur once, twice, three to five times, or six times and more"
_TITLE_9 = "Number of items that occur once, twice, three to five times, or six times and more"
_BLOCK = 2_000_000  # drawn numbers that are held at once, of eight bytes each

FEATURES = ("time", "space", "entity", "content")


@dataclass(frozen=True, slots=True)
class Expected:
    """The mean and the standard deviation over repeated draws of the number of items in one bin."""

    mean: float
    deviation: float


def expected_counts(
    n_events: int,
    universe_size: int = PUBLISHED_SIZE,
    distribution: Distribution = "geometric",
    *,
    repeats: int = REPEATS,
    seed: int = 0,
) -> dict[str, Expected]:
    """Draw events again and again, and count the items by how often they were drawn.

    Args:
        n_events: How many items are drawn in one repetition, with replacement.
        universe_size: The number of items.
        distribution: `geometric`, the truncated law of `draw_events` with p = 10 / size, or `uniform`.
        repeats: The number of repetitions, at least 2.
        seed: The same seed gives the same numbers.

    Returns:
        By bin (`1`, `2`, `3-5`, `6+`), the mean number of items and its sample deviation over the repetitions.
    """
    import numpy as np

    rng = np.random.default_rng([seed, n_events, universe_size, DISTRIBUTIONS.index(distribution)])
    shares = _shares(universe_size, distribution)
    block = max(1, _BLOCK // universe_size)
    found: list[NDArray[np.int64]] = []
    for start in range(0, repeats, block):
        drawn = rng.multinomial(n_events, shares, size=min(block, repeats - start))
        found.append(np.stack([(drawn == 1).sum(1), (drawn == 2).sum(1), _between(drawn), (drawn >= 6).sum(1)], axis=1))
    counts = np.concatenate(found)
    means, deviations = counts.mean(0), counts.std(0, ddof=1)
    return {
        bin_: Expected(float(mean), float(deviation))
        for bin_, mean, deviation in zip(TIMES_BINS, means, deviations, strict=True)
    }


def _between(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    between: NDArray[np.int64] = ((drawn >= 3) & (drawn <= 5)).sum(1)
    return between


def _shares(size: int, distribution: Distribution) -> NDArray[np.float64]:
    import numpy as np

    p = min(0.5, 10 / size)
    weights = np.ones(size) if distribution == "uniform" else (1 - p) ** np.arange(size)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def expected_table(books: Sequence[PaperBook], *, repeats: int = REPEATS, seed: int = 0) -> Exhibit:
    """Return Table 6 for the published numbers of events and for those of the books.

    Args:
        books: Any, also none.
        repeats: As for `expected_counts`; as there the seed.
        seed: See there.
    """
    sizes = {(n, PUBLISHED_SIZE) for n in PUBLISHED_EVENTS} | {
        (len(book.chapters), book.universe_size) for book in books
    }
    records: list[dict[str, Value]] = []
    rows = []
    for distribution in DISTRIBUTIONS:
        for n, size in sorted(sizes):
            expected = expected_counts(n, size, distribution, repeats=repeats, seed=seed)
            about = {"n_events": n, "universe_size": size, "distribution": distribution}
            records += [
                {**about, "times": bin_, "mean": one.mean, "sd": one.deviation, "n": repeats, "source": "own"}
                for bin_, one in expected.items()
            ]
            cells = [with_deviation(one.mean, one.deviation, 1) for one in expected.values()]
            rows.append([str(n), str(size), distribution, *cells])
    notes = [
        f"Mean ± standard deviation over {repeats:,} repetitions (seed {seed}) of drawing one element of n events, with "
        "replacement, from a universe of the given size. The geometric law is truncated, with p = 10 / size.",
        "The rows beside 20 and 200 events have the number of chapters of a book that is shown here.",
    ]
    head = ["events", "universe", "law", *TIMES_BINS]
    return Exhibit("Table 6", _TITLE_6, records, Table(head, rows, notes=notes, text_columns=3))


def actual_table(
    books: Sequence[PaperBook], reported: Sequence[ReportedRow] = (), *, repeats: int = REPEATS, seed: int = 0
) -> Exhibit | Missing:
    """Return Table 9: the counts of every book, each beside what the geometric law lets expect.

    Args:
        books: Those whose counts are shown; one reordered by date has those of the book in its original order.
        reported: The paper's own counts are among them.
        repeats: As for `expected_counts`; as there the seed.
        seed: See there.
    """
    books = originals(books)
    if not books:
        return Missing("Table 9", _TITLE_9, "books")
    records: list[dict[str, Value]] = []
    rows = []
    for book in books:
        expected = expected_counts(len(book.chapters), book.universe_size, repeats=repeats, seed=seed)
        for feature, counts in actual_counts(book.chapters).items():
            records += [
                {**identity_of(book), "n_chapters": len(book.chapters), "feature": feature, "times": bin_}
                | {"items": counts[bin_], "expected_mean": expected[bin_].mean}
                | {"expected_sd": expected[bin_].deviation, "expected_n": repeats}
                for bin_ in TIMES_BINS
            ]
            cells = [
                f"{counts[bin_]} ({with_deviation(expected[bin_].mean, expected[bin_].deviation, 1)})"
                for bin_ in TIMES_BINS
            ]
            rows.append([book.marked, str(len(book.chapters)), feature, *cells])
    theirs = rows_of("Table 9", reported, [f"{feature}.{bin_}" for feature in FEATURES for bin_ in TIMES_BINS])
    for row in theirs:
        for feature in FEATURES:
            reported_counts = {bin_: row.scores.get(f"{feature}.{bin_}") for bin_ in TIMES_BINS}
            records += [
                {**reported_identity(row), "n_chapters": None, "feature": feature, "times": bin_, "items": n}
                | dict.fromkeys(("expected_mean", "expected_sd", "expected_n"))
                for bin_, n in reported_counts.items()
            ]
            rows.append([marked(row.dataset, "reported"), "–", feature, *map(cell, reported_counts.values())])
    notes = [
        "Each cell is the number of items in the book and, in parentheses, what is expected (mean ± standard deviation) "
        f"for as many chapters by the geometric law, from {repeats:,} repetitions (seed {seed}).",
        "The four elements of one book are draws by one law, so four rows that deviate alike are no stronger evidence "
        "than one; no test is made.",
        *reported_notes(theirs),
    ]
    sections = list(range(3, len(rows), 4))
    table = Table(["book", "chapters", "element", *TIMES_BINS], rows, notes=notes, text_columns=3, sections=sections)
    return Exhibit("Table 9", _TITLE_9, records, table)


def actual_counts(chapters: Sequence[Chapter]) -> Mapping[str, Mapping[str, int]]:
    """Return by element (`time`, `space`, `entity`, `content`) and bin how many different items occur so often."""
    counts: dict[str, Mapping[str, int]] = {}
    for feature in FEATURES:
        times = Counter(getattr(chapter.event, feature) for chapter in chapters)
        counts[feature] = Counter(_bin(n) for n in times.values())
    return counts


def _bin(times: int) -> str:
    return str(times) if times <= 2 else "3-5" if times <= 5 else "6+"
