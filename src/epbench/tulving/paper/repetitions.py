"""Tables 6 and 9: how many dates, spaces, entities and contents occur once, twice, three to five times, or more often.

Table 6 is what to expect: n events are drawn many times, as in the paper one element alone and without the rule that no
two events share date and person or date and space. Table 9 is what each book has, beside that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_sd, of_source, plain
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate, Value, framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.events import Distribution
from epbench.tulving.events.universe import PUBLISHED_SIZE
from epbench.tulving.paper.books import PaperBook, identity_of, rows_of, sources_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 10_000
TIMES_BINS = ("1", "2", "3-5", "6+")
FEATURES = ("time", "space", "entity", "content")
DISTRIBUTIONS: tuple[Distribution, ...] = ("geometric", "uniform")
PUBLISHED_EVENTS = (20, 200)
TITLE_6 = "Expected number of items that occur once, twice, three to five times, or six times and more"
TITLE_9 = "Number of items that occur once, twice, three to five times, or six times and more"
_BLOCK = 2_000_000  # drawn numbers that are held at once, of eight bytes each


def expected_counts(
    n_events: int,
    universe_size: int = PUBLISHED_SIZE,
    distribution: Distribution = "geometric",
    *,
    repeats: int = REPEATS,
    seed: int = 0,
) -> dict[str, Estimate]:
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
    p = min(0.5, 10 / universe_size)
    weights = np.ones(universe_size) if distribution == "uniform" else (1 - p) ** np.arange(universe_size)
    block = max(1, _BLOCK // universe_size)
    found: list[NDArray[np.int64]] = []
    for start in range(0, repeats, block):
        drawn = rng.multinomial(n_events, weights / weights.sum(), size=min(block, repeats - start))
        several = (drawn >= 3) & (drawn <= 5)
        found.append(np.stack([of.sum(1) for of in (drawn == 1, drawn == 2, several, drawn >= 6)], axis=1))
    counts = np.concatenate(found)
    spread = zip(TIMES_BINS, counts.mean(0), counts.std(0, ddof=1), strict=True)
    return {bin_: Estimate(repeats, 0, float(mean), float(deviation)) for bin_, mean, deviation in spread}


def expected_table(
    books: Sequence[PaperBook], reported: Sequence[ReportedRow] = (), *, repeats: int = REPEATS, seed: int = 0
) -> Exhibit:
    """Return Table 6 for the published numbers of events and for those of the books; see `expected_counts`."""
    sizes = {(n, PUBLISHED_SIZE) for n in PUBLISHED_EVENTS} | {
        (len(book.chapters), book.universe_size) for book in books
    }
    records: list[dict[str, Value]] = [
        {
            "source": "own", "n_events": n, "universe_size": size, "distribution": law, "times": bin_,
            **one.columns("mean", "sd", "n"),
        }
        for law, (n, size) in product(DISTRIBUTIONS, sorted(sizes))
        for bin_, one in expected_counts(n, size, law, repeats=repeats, seed=seed).items()
    ]  # fmt: skip
    cells = {
        f"{n}.{law}.{bin_}": (n, law, bin_) for law, n, bin_ in product(DISTRIBUTIONS, PUBLISHED_EVENTS, TIMES_BINS)
    }
    theirs = rows_of("Table 6", reported, cells)
    records += [
        {
            "source": "reported", "n_events": n, "universe_size": PUBLISHED_SIZE, "distribution": law, "times": bin_,
            "mean": row.scores.get(key), "sd": row.deviations.get(key),
        }
        for row in theirs
        for key, (n, law, bin_) in cells.items()
    ]  # fmt: skip
    columns = [
        Column("events", of_source("n_events"), text=True), Column("universe", "universe_size", text=True),
        Column("law", "distribution", text=True), Column("{}", mean_sd(digits=1)),
    ]  # fmt: skip
    notes = [
        f"Mean ± standard deviation over {repeats:,} repetitions (seed {seed}) of drawing one element of n events, with "
        "replacement, from a universe of the given size. The geometric law is truncated, with p = 10 / size.",
        "The rows beside 20 and 200 events have the number of chapters of a book that is shown here.",
        *sources_of(theirs),
    ]
    return Exhibit("Table 6", TITLE_6, framed(records), columns, notes, across="times")


def actual_table(
    books: Sequence[PaperBook], reported: Sequence[ReportedRow] = (), *, repeats: int = REPEATS, seed: int = 0
) -> Exhibit | Missing:
    """Return Table 9: the counts of every book, each beside what the geometric law lets expect; see `expected_counts`."""
    if not books:
        return Missing("Table 9", TITLE_9, "books")
    cells = {f"{feature}.{bin_}": (feature, bin_) for feature, bin_ in product(FEATURES, TIMES_BINS)}
    theirs = rows_of("Table 9", reported, cells)
    expected = [expected_counts(len(book.chapters), book.universe_size, repeats=repeats, seed=seed) for book in books]
    records: list[dict[str, Value]] = [
        {**book.identity, "n_chapters": len(book.chapters), "feature": feature, "times": bin_, "items": counts[key]}
        | of[bin_].columns("mean", "sd", "n", prefix="expected_")
        for book, of in zip(books, expected, strict=True)
        for counts in (actual_counts(book.chapters),)
        for key, (feature, bin_) in cells.items()
    ]
    records += [
        {**identity_of(row), "feature": feature, "times": bin_, "items": row.scores.get(key)}
        for row in theirs
        for key, (feature, bin_) in cells.items()
    ]
    notes = [
        "Each cell is the number of items in the book and, in parentheses, what is expected (mean ± standard deviation) "
        f"for as many chapters by the geometric law, from {repeats:,} repetitions (seed {seed}).",
        "The four elements of one book are draws by one law, so four rows that deviate alike are no stronger evidence "
        "than one; no test is made.",
        *sources_of(theirs),
    ]
    columns = [
        Column("book", of_source(), text=True), Column("writer", "writer", text=True),
        Column("chapters", "n_chapters", text=True), Column("element", "feature", text=True), Column("{}", _items),
    ]  # fmt: skip
    return Exhibit("Table 9", TITLE_9, framed(records), columns, notes, across="times", sections="label")


def _items(row: Row) -> str:
    """The number of items, and what is expected: `7 (8.5 ± 2.4)`."""
    expected = "" if row["expected_mean"] is None else f" ({mean_sd('expected_', 1)(row)})"
    return plain(row["items"]) + expected


def actual_counts(chapters: Sequence[Chapter]) -> Mapping[str, int]:
    """Return how many different items occur how often, named as in rows of the paper: `time.3-5`."""
    times = [(feature, Counter(getattr(chapter.event, feature) for chapter in chapters)) for feature in FEATURES]
    return Counter(f"{feature}.{_bin(n)}" for feature, of in times for n in of.values())


def _bin(times: int) -> str:
    return str(times) if times <= 2 else "3-5" if times <= 5 else "6+"
