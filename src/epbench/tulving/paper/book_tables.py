"""The tables of the paper about the books themselves.

How long they are and what they are for (Tables 2, 26, 28), how often elements occur beside what is to be expected (6, 9), and
how questions are spread (12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from epbench.models.estimate import CL100K
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_sd, of_source, plain
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate
from epbench.tulving.events.events import Distribution
from epbench.tulving.events.universe import PUBLISHED_SIZE
from epbench.tulving.paper.books import (
    BOOK,
    WRITER,
    Asked,
    PaperBook,
    Record,
    Reported,
    book_table,
    identity_of,
    of_cells,
    rows_of,
)
from epbench.tulving.paper.rows import cue_text
from epbench.tulving.questions.generate import BINS, bin_of
from epbench.tulving.questions.templates import TEMPLATES_BY_CUE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAIN_UNIVERSE = "default"
FEATURES = {"time": "n_times", "space": "n_spaces", "entity": "n_entities", "content": "n_contents"}
"""The elements of an event, and the columns of Table 2 that count the different ones."""


def is_about_books(row: ReportedRow) -> bool:
    """Whether a row of a paper is about a book and its writer, and not about a reader with a memory."""
    return not row.memory and row.table in {f"Table {number}" for number in (2, 6, 7, 8, 9, 12, 26, 28)}


# Tables 2, 26 and 28: how long each book is, what it tells, what is asked about it, and what it is for

_COUNTED = {
    "events": "n_events", "chapters": "n_chapters", "length": "length", "dates": "n_times", "spaces": "n_spaces",
    "entities": "n_entities", "contents": "n_contents", "first day": "first_day", "last day": "last_day",
    "questions": "n_selected", **{f"about {bin_}": f"selected_{bin_}" for bin_ in BINS},
}  # fmt: skip


def _length(row: Row) -> str:
    """The length with its unit: `102,870 tokens`."""
    unit = "words" if row["length_unit"] == "words" else "tokens"
    return "–" if row["length"] is None else f"{row['length']:,} {unit}"


def _about_lengths(books: Sequence[PaperBook]) -> str:
    if all(book.tokenizer != "words" for book in books):
        return "Lengths are in tokens of the encoding cl100k_base."
    at_hand = "since the encoding cl100k_base, in which the paper counts tokens, is not at hand."
    return f"Lengths of books given here are in words, {at_hand}"


def _reported_sizes(theirs: Reported, columns: Iterable[str]) -> list[Record]:
    columns = list(columns)
    return [
        identity_of(row) | {one: row.scores.get(one) for one in columns} | {"length_unit": CL100K} for row in theirs
    ]


def main_books(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 2."""
    of = [book for book in books if book.universe == MAIN_UNIVERSE]
    return _sizes("Table 2", "Characteristics of the main books", of, reported, "a book from the default universe")


def other_books(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 26."""
    of = [book for book in books if book.universe != MAIN_UNIVERSE]
    needs = "a book from another universe, such as news or scifi"
    return _sizes("Table 26", "Characteristics of the books from other universes", of, reported, needs)


def _sizes(name: str, title: str, books: Sequence[PaperBook], reported: Reported, needs: str) -> Exhibit | Missing:
    theirs = rows_of(name, reported, _COUNTED.values())
    unknown = ", ".join(book.marked for book in books if book.n_events is None)
    notes = [
        "“About 0, 1, …” counts the selected questions by the number of chapters that match their cue. There are fewer "
        "chapters than events where no candidate for an event passed the checks.",
        *([f"No report on the writing says how many events were drawn for {unknown}."] if unknown else []),
        _about_lengths(books),
    ]
    counted = [Column(title, _length if column == "length" else column) for title, column in _COUNTED.items()]
    given = _reported_sizes(theirs, _COUNTED.values())
    return book_table(name, title, [*map(_counts, books)], given, [BOOK, WRITER, *counted], notes, theirs, needs)


def _counts(book: PaperBook) -> Record:
    events, bins = [chapter.event for chapter in book.chapters], Counter(question.bin for question in book.selected)
    days = [event.time.isoformat() for event in events]
    return {
        **book.identity, "n_events": book.n_events, "n_chapters": len(events), "length": book.tokens,
        "length_unit": book.tokenizer,
        **{column: len({getattr(event, feature) for event in events}) for feature, column in FEATURES.items()},
        "first_day": min(days), "last_day": max(days), "n_answerable": book.n_answerable, "n_empty": book.n_empty,
        "n_selected": len(book.selected), **{f"selected_{bin_}": bins[bin_] for bin_ in BINS},
    }  # fmt: skip


def overview(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 28: every book with its variation, and the tables of the paper that are made from it."""
    own: list[Record] = []
    for book in books:
        use, used_in = _use_of(book, books)
        size: Record = {"size": book.length or None, "n_chapters": len(book.chapters), "length": book.tokens}
        own.append({**book.identity, **size, "length_unit": book.tokenizer, "use": use, "used_in": used_in or None})
    theirs = rows_of("Table 28", reported, given := ("n_chapters", "length"))
    columns = [
        BOOK, *(Column(name, name, text=True) for name in ("universe", "size", "writer", "order", "use")),
        Column("made from it", "used_in", text=True), Column("chapters", "n_chapters"), Column("length", _length),
    ]  # fmt: skip
    notes = ["Tables and figures are those of the paper; all books also have a row in the tables on books themselves."]
    title = "All books, and the tables in which they are used"
    sizes = _reported_sizes(theirs, given)
    return book_table("Table 28", title, own, sizes, columns, [*notes, _about_lengths(books)], theirs)


_USED_IN = {
    "short": "Tables 13 and 17, Figure 7",
    "long": "Tables 3, 4, 14 to 16, 18, 19, 24 and 25, Figures 3, 4 and 8",
}


def _use_of(book: PaperBook, books: Sequence[PaperBook]) -> tuple[str, str]:
    """What a book is for, and which tables compare it; the first of its universe, length and order is the main one."""
    if book.order == "chronological":
        return "ablation: order", "Tables 22 and 23"
    if book.universe != MAIN_UNIVERSE:
        return "ablation: universe", "Table 27" if book.length in ("short", "long") else ""
    kind = (book.source, book.universe, book.length, book.order)
    first = next(one for one in books if (one.source, one.universe, one.length, one.order) == kind)
    if first.writer != book.writer:
        return "ablation: writer", "Tables 20 and 21"
    return ("another seed", "") if first.seed != book.seed else ("main", _USED_IN.get(book.length, ""))


# Tables 6 and 9: how many elements occur once, twice, three to five times, or more often. Table 6 is what to expect: n events
# are drawn many times, as in the paper one element alone and without the rule that no two events share date and person or
# date and space. Table 9 is what each book has, beside that.

REPEATS = 10_000
TIMES_BINS = BINS[1:]
DISTRIBUTIONS: tuple[Distribution, ...] = ("geometric", "uniform")
_OFTEN = "umber of items that occur once, twice, three to five times, or six times and more"
_BLOCK = 2_000_000  # drawn numbers that are held at once, of eight bytes each


@cache
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


def expected(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 6 for the published numbers of events and for those of the books."""

    def record(source: str, n: int, size: int, law: str, bin_: str) -> Record:
        return {"source": source, "n_events": n, "universe_size": size, "distribution": law, "times": bin_}

    published = [(20, PUBLISHED_SIZE), (200, PUBLISHED_SIZE)]
    sizes = sorted({*published, *((len(book.chapters), book.universe_size) for book in books)})
    own = [
        record("own", n, size, law, bin_) | one.columns("mean", "sd", "n")
        for law, (n, size) in product(DISTRIBUTIONS, sizes)
        for bin_, one in expected_counts(n, size, law).items()
    ]
    cells = {
        f"{n}.{law}.{bin_}": (n, size, law, bin_)
        for law, (n, size), bin_ in product(DISTRIBUTIONS, published, TIMES_BINS)
    }
    theirs = rows_of("Table 6", reported, cells)
    given = [
        record("reported", *of) | {"mean": row.scores.get(cell), "sd": row.deviations.get(cell)}
        for row in theirs
        for cell, of in cells.items()
    ]
    columns = [
        Column("events", of_source("n_events"), text=True), Column("universe", "universe_size", text=True),
        Column("law", "distribution", text=True), Column("{}", mean_sd(digits=1)),
    ]  # fmt: skip
    notes = [
        f"Mean ± standard deviation over {REPEATS:,} repetitions (seed 0) of drawing one element of n events, with "
        "replacement, from a universe of the given size. The geometric law is truncated, with p = 10 / size.",
        "The rows beside 20 and 200 events have the number of chapters of a book that is shown here.",
    ]
    return book_table("Table 6", f"Expected n{_OFTEN}", own, given, columns, notes, theirs, across="times")


def repetitions(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 9: the counts of every book, each beside what the geometric law lets expect."""
    own, cells = [], list(product(FEATURES, TIMES_BINS))
    for book in books:
        expected = expected_counts(len(book.chapters), book.universe_size)
        items = Counter((feature, getattr(chapter.event, feature)) for chapter in book.chapters for feature in FEATURES)
        counts = Counter((feature, bin_of(n)) for (feature, _), n in items.items())
        for feature, bin_ in cells:
            about: Record = {"n_chapters": len(book.chapters), "feature": feature, "times": bin_}
            beside = expected[bin_].columns("mean", "sd", "n", prefix="expected_")
            own.append({**book.identity, **about, "items": counts[feature, bin_], **beside})
    theirs = rows_of("Table 9", reported, map(".".join, cells))
    given = of_cells(theirs, ("feature", "times"), cells, "items")
    notes = [
        "Each cell is the number of items in the book and, in parentheses, what is expected (mean ± standard deviation) "
        f"for as many chapters by the geometric law, from {REPEATS:,} repetitions (seed 0).",
        "The four elements of one book are draws by one law, so four rows that deviate alike are no stronger evidence "
        "than one; no test is made.",
    ]
    columns = [
        BOOK, WRITER, Column("chapters", "n_chapters", text=True), Column("element", "feature", text=True),
        Column("{}", _items),
    ]  # fmt: skip
    return book_table("Table 9", f"N{_OFTEN}", own, given, columns, notes, theirs, across="times", sections="label")


def _items(row: Row) -> str:
    """The number of items, and what is expected: `7 (8.5 ± 2.4)`."""
    expected = "" if row["expected_mean"] is None else f" ({mean_sd('expected_', 1)(row)})"
    return plain(row["items"]) + expected


# Table 12: how the selected questions are spread over cues and bins

CUES = ("t", "s", "e", "c", "tc", "sc", "ec", "se", "sec", "ts", "te", "tse", "tsc", "tec", "tsec")
"""The cues in the order of the paper, which sums up the last six as others."""


def widespreadness(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 12: for each cue and bin, the number of selected questions of one template.

    As in the paper, a cell is the number of questions divided by that of the cue's templates. Where the templates of one
    cue have different numbers of questions, the smallest and the largest stand there.
    """
    ends = ("least_of_a_template", "most_of_a_template")
    own: list[Record] = []
    for book in books:
        counts = Counter(book.selected)
        for cue, bin_ in product(CUES, BINS):
            n = [counts[Asked(template.id, cue, bin_)] for template in TEMPLATES_BY_CUE[cue]]
            about: Record = {"cue": cue, "bin": bin_, "questions": sum(n), "templates": len(n)}
            own.append({**book.identity, **about, ends[0]: min(n), ends[1]: max(n)})
    cells = list(product((*CUES[:9], "others"), BINS))
    theirs = rows_of("Table 12", reported, map(".".join, cells))
    notes = [
        "A cell is the number of selected questions of each template with this cue, by the number of chapters that match; "
        "at most five are selected. Times the number of templates it is the number of questions.",
        "Cues with date and space, or with date and entity, match one chapter at most: no two events share these. "
        "The paper sums them up as others.",
    ]

    def least_to_most(row: Row) -> str:
        least, most = (row[end] for end in ends)
        return plain(least) if least == most else f"{least}–{most}"

    def cue_or_others(row: Row) -> str:
        return "others" if row["cue"] == "others" else cue_text(row["cue"], "e")

    columns = [
        BOOK, WRITER, Column("cue", cue_or_others, text=True), Column("templates", "templates"), Column("{}", least_to_most),
    ]  # fmt: skip
    title = "Selected questions by cue and by number of matching chapters"
    given = of_cells(theirs, ("cue", "bin"), cells, *ends)
    return book_table("Table 12", title, own, given, columns, notes, theirs, across="bin", sections="label")
