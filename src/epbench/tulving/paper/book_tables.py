"""The tables of the paper about the books themselves: their size and use, what they tell, and what is asked about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product

from epbench.models.estimate import CL100K
from epbench.reports.exhibit import Column, Row, columns_of, mean_sd, of_source, plain
from epbench.statistics.estimate import Estimate
from epbench.tulving.events.universe import PUBLISHED_SIZE, Distribution
from epbench.tulving.judging.realism import RATINGS, REALISTIC, Rating
from epbench.tulving.paper.books import BOOK, WRITER, Asked, Books, BookTable, PaperBook, Record, in_one_row, of_cells
from epbench.tulving.paper.recall import cue_text
from epbench.tulving.paper.shared import named
from epbench.tulving.questions.generate import BINS, bin_of
from epbench.tulving.questions.templates import TEMPLATES_BY_CUE

MAIN_UNIVERSE = "default"
FEATURES = {"time": "n_times", "space": "n_spaces", "entity": "n_entities", "content": "n_contents"}
_COUNTED = {"events": "n_events", "chapters": "n_chapters", "length": "length", "dates": "n_times"}
_COUNTED |= {"spaces": "n_spaces", "entities": "n_entities", "contents": "n_contents"}
_COUNTED |= {"first day": "first_day", "last day": "last_day", "questions": "n_selected"}
_COUNTED |= {f"about {bin_}": f"selected_{bin_}" for bin_ in BINS}


def _length(row: Row) -> str:
    unit = "words" if row["length_unit"] == "words" else "tokens"
    return "–" if row["length"] is None else f"{row['length']:,} {unit}"


def _about_lengths(books: Books) -> str:
    if any(book.tokenizer == "words" for book in books):
        return (
            "Lengths of books given here are in words, since the encoding cl100k_base, in which the paper counts tokens, "
            "is not at hand; `epbench[tokens]` has it."
        )
    return "Lengths are in tokens of the encoding cl100k_base."


def _counts(book: PaperBook) -> Record:
    events, bins = [chapter.event for chapter in book.chapters], Counter(question.bin for question in book.selected)
    days = sorted(event.time.isoformat() for event in events)
    row = book.identity | {"n_events": book.n_events, "n_chapters": len(events)}
    row |= {"length": book.tokens, "length_unit": book.tokenizer}
    row |= {column: len({getattr(event, feature) for event in events}) for feature, column in FEATURES.items()}
    row |= {"first_day": days[0], "last_day": days[-1], "n_answerable": book.n_answerable, "n_empty": book.n_empty}
    return row | {"n_selected": len(book.selected)} | {f"selected_{bin_}": bins[bin_] for bin_ in BINS}


def _about_sizes(books: Books) -> list[str]:
    unknown = ", ".join(book.marked for book in books if book.n_events is None)
    return [
        "“About 0, 1, …” counts the selected questions by the number of chapters that match their cue. There are fewer "
        "chapters than events where no candidate for an event passed the checks.",
        *([f"No report on the writing says how many events were drawn for {unknown}."] if unknown else []),
        _about_lengths(books),
    ]


MAIN_BOOKS = BookTable(
    "Table 2",
    "Characteristics of the main books",
    [BOOK, WRITER, *(Column(name, _length if column == "length" else column) for name, column in _COUNTED.items())],
    own=lambda books: map(_counts, books),
    given=in_one_row(_COUNTED.values(), length_unit=CL100K),
    notes=_about_sizes,
    needs=lambda _: "a book from the default universe",
    shows=lambda book: book.universe == MAIN_UNIVERSE,
)
OTHER_BOOKS = replace(
    MAIN_BOOKS,
    name="Table 26",
    title="Characteristics of the books from other universes",
    needs=lambda _: "a book from another universe, such as news or scifi",
    shows=lambda book: book.universe != MAIN_UNIVERSE,
)


def _uses(books: Books) -> Iterable[Record]:
    for book in books:
        use, used_in = _use_of(book, books)
        row = book.identity | {"size": book.length or None, "n_chapters": len(book.chapters)}
        row |= {"length": book.tokens, "length_unit": book.tokenizer}
        yield {**row, "use": use, "used_in": used_in or None}


OVERVIEW = BookTable(
    "Table 28",
    "All books, and the tables in which they are used",
    [
        *(BOOK, *named("universe", "size", "writer", "order", "use"), Column("made from it", "used_in", text=True)),
        *(Column("chapters", "n_chapters"), Column("length", _length)),
    ],
    own=_uses,
    given=in_one_row(("n_chapters", "length"), length_unit=CL100K),
    notes=lambda books: [
        "Tables and figures are those of the paper; all books also have a row in the tables on books themselves.",
        _about_lengths(books),
    ],
)
_USED = {"short": "Tables 13 and 17, Figure 7", "long": "Tables 3, 4, 14 to 16, 18, 19, 24 and 25, Figures 3, 4 and 8"}


def _use_of(book: PaperBook, books: Books) -> tuple[str, str]:
    """What a book is for, and which tables compare it; the first of its universe, length and order is the main one."""
    if book.order == "chronological":
        return "ablation: order", "Tables 22 and 23"
    if book.universe != MAIN_UNIVERSE:
        return "ablation: universe", "Table 27" if book.length in ("short", "long") else ""
    kind = (book.source, book.universe, book.length, book.order)
    first = next(one for one in books if (one.source, one.universe, one.length, one.order) == kind)
    if first.writer != book.writer:
        return "ablation: writer", "Tables 20 and 21"
    return ("another seed", "") if first.seed != book.seed else ("main", _USED.get(book.length, ""))


# Tables 6 and 9: how many elements occur once, twice, three to five times, or more often. Table 6 is what to expect: n events
# are drawn many times, as in the paper one element alone and without the rule that no two events share date and person or
# date and space. Table 9 is what each book has, beside that.

REPEATS = 10_000
TIMES_BINS = BINS[1:]
DISTRIBUTIONS: tuple[Distribution, ...] = ("geometric", "uniform")
_OFTEN = "umber of items that occur once, twice, three to five times, or six times and more"


@cache
def expected_counts(n_events: int, size: int = PUBLISHED_SIZE, law: Distribution = "geometric") -> dict[str, Estimate]:
    """Draw events `REPEATS` times by a law of `draw_events`: how many items fall in each bin, and the sample deviation."""
    import numpy as np

    rng = np.random.default_rng([0, n_events, size, DISTRIBUTIONS.index(law)])
    weights = np.ones(size) if law == "uniform" else (1 - min(0.5, 10 / size)) ** np.arange(size)
    drawn = rng.multinomial(n_events, weights / weights.sum(), size=REPEATS)
    often = (drawn == 1, drawn == 2, (drawn >= 3) & (drawn <= 5), drawn >= 6)
    counts = np.stack([of.sum(1) for of in often], axis=1)
    spread = zip(TIMES_BINS, counts.mean(0), counts.std(0, ddof=1), strict=True)
    return {bin_: Estimate(REPEATS, 0, float(mean), float(deviation)) for bin_, mean, deviation in spread}


_PUBLISHED = [(20, PUBLISHED_SIZE), (200, PUBLISHED_SIZE)]
_DRAWN = {
    f"{n}.{law}.{bin_}": {"n_events": n, "universe_size": size, "distribution": law, "times": bin_}
    for law, (n, size), bin_ in product(DISTRIBUTIONS, _PUBLISHED, TIMES_BINS)
}


def _expectations(books: Books) -> Iterable[Record]:
    sizes = sorted({*_PUBLISHED, *((len(book.chapters), book.universe_size) for book in books)})
    for law, (n, size) in product(DISTRIBUTIONS, sizes):
        for bin_, one in expected_counts(n, size, law).items():
            about: Record = {"source": "own", "n_events": n, "universe_size": size, "distribution": law, "times": bin_}
            yield about | one.columns("mean", "sd", "n")


EXPECTED = BookTable(
    "Table 6",
    f"Expected n{_OFTEN}",
    columns_of(
        {"events": of_source("n_events"), "universe": "universe_size", "law": "distribution", "{}": mean_sd(digits=1)},
        3,
    ),
    own=_expectations,
    given=lambda row: [
        {"source": "reported", **of, "mean": row.scores.get(cell), "sd": row.deviations.get(cell)}
        for cell, of in _DRAWN.items()
        if _DRAWN.keys() & row.scores.keys()
    ],
    notes=lambda _: [
        f"Mean ± standard deviation over {REPEATS:,} repetitions (seed 0) of drawing one element of n events, with "
        "replacement, from a universe of the given size. The geometric law is truncated, with p = 10 / size.",
        "The rows beside 20 and 200 events have the number of chapters of a book that is shown here.",
    ],
    across="times",
)


def _repetitions(books: Books) -> Iterable[Record]:
    for book in books:
        expected = expected_counts(len(book.chapters), book.universe_size)
        items = Counter((feature, getattr(chapter.event, feature)) for chapter in book.chapters for feature in FEATURES)
        counts = Counter((feature, bin_of(n)) for (feature, _), n in items.items())
        for feature, bin_ in product(FEATURES, TIMES_BINS):
            about = book.identity | {"n_chapters": len(book.chapters), "feature": feature, "times": bin_}
            beside = expected[bin_].columns("mean", "sd", "n", prefix="expected_")
            yield {**about, "items": counts[feature, bin_], **beside}


def _items(row: Row) -> str:  # such as `7 (8.5 ± 2.4)`
    return plain(row["items"]) + ("" if row["expected_mean"] is None else f" ({mean_sd('expected_', 1)(row)})")


REPETITIONS = BookTable(
    "Table 9",
    f"N{_OFTEN}",
    [BOOK, WRITER, *columns_of({"chapters": "n_chapters", "element": "feature", "{}": _items}, 2)],
    own=_repetitions,
    given=of_cells(("feature", "times"), product(FEATURES, TIMES_BINS), "items"),
    notes=lambda _: [
        "Each cell is the number of items in the book and, in parentheses, what is expected (mean ± standard deviation) "
        f"for as many chapters by the geometric law, from {REPEATS:,} repetitions (seed 0).",
        "The four elements of one book are draws by one law, so four rows that deviate alike are no stronger evidence "
        "than one; no test is made.",
    ],
    across="times",
    sections="label",
)


# In the order of the paper, which sums up the last six as others
CUES = ("t", "s", "e", "c", "tc", "sc", "ec", "se", "sec", "ts", "te", "tse", "tsc", "tec", "tsec")
_REPORTED_CUES = (*CUES[:9], "others")
_ENDS = ("least_of_a_template", "most_of_a_template")


def _spread(books: Books) -> Iterable[Record]:
    """For each cue and bin, the number of selected questions, and the smallest and the largest number of a template."""
    for book in books:
        counts = Counter(book.selected)
        for cue, bin_ in product(CUES, BINS):
            n = [counts[Asked(template.id, cue, bin_)] for template in TEMPLATES_BY_CUE[cue]]
            about = book.identity | {"cue": cue, "bin": bin_, "questions": sum(n), "templates": len(n)}
            yield {**about, _ENDS[0]: min(n), _ENDS[1]: max(n)}


WIDESPREADNESS = BookTable(
    "Table 12",
    "Selected questions by cue and by number of matching chapters",
    [
        *(BOOK, WRITER),
        Column("cue", lambda row: "others" if row["cue"] == "others" else cue_text(row["cue"], "e"), text=True),
        Column("templates", "templates"),
        Column("{}", lambda row: "–".join(map(plain, dict.fromkeys(row[end] for end in _ENDS)))),
    ],
    own=_spread,
    given=of_cells(("cue", "bin"), product(_REPORTED_CUES, BINS), *_ENDS),
    notes=lambda _: [
        "A cell is the number of selected questions of each template with this cue, by the number of chapters that match; "
        "at most five are selected. Times the number of templates it is the number of questions.",
        "Cues with date and space, or with date and entity, match one chapter at most: no two events share these. "
        "The paper sums them up as others.",
    ],
    across="bin",
    sections="label",
)


def distribution(ratings: Mapping[str, Mapping[int, Rating | None]]) -> BookTable:
    """Appendix E.7, how many chapters of each book have each rating; books that nobody has rated are left out."""

    def counted(book: PaperBook) -> Record:
        of_book = Counter(ratings[book.fingerprint].values())
        return {**book.identity, **{name: of_book[name] for name in RATINGS}, "unrated": of_book[None]}

    return BookTable(
        "E.7",
        "How realistic the events of a book are",
        [BOOK, WRITER, *(Column(name, name) for name in RATINGS), Column("not rated", "unrated")],
        own=lambda books: map(counted, books),
        given=in_one_row(RATINGS, unrated=None),
        notes=lambda _: [f"Chapters by the rating of their events; class R of the paper: {', '.join(REALISTIC)}."],
        needs=lambda _: "ratings of how realistic each chapter of a book is (--realism)",
        shows=lambda book: book.fingerprint in ratings,
    )
