"""The tables of the paper that are about the books themselves, and the list of all that is.

Their sizes (Tables 2, 26, 28), how chapters were written and checked (7, 8), and how questions are spread (12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count, product, takewhile

from epbench.models.estimate import CL100K
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, marked, of_source, plain
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Value, framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.paper.book_figures import path_figures, positions_figures
from epbench.tulving.paper.books import Asked, PaperBook, identity_of, originals, rows_of, sources_of
from epbench.tulving.paper.repetitions import REPEATS, TITLE_6, TITLE_9, actual_table, expected_table
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUE_LETTERS, TEMPLATES_BY_CUE

MAIN_UNIVERSE = "default"
TITLES = {
    "Table 2": "Characteristics of the main books",
    "Table 6": TITLE_6,
    "Table 7": "Accepted chapters by round, and the checks that candidates failed",
    "Table 8": "Chapters by number of paragraphs, by style and by number of secondary entities",
    "Table 9": TITLE_9,
    "Table 12": "Selected questions by cue and by number of matching chapters",
    "Table 26": "Characteristics of the books from other universes",
    "Table 28": "All books, and the tables in which they are used",
}

_BOOK = Column("book", of_source(), text=True)
_WRITER = Column("writer", "writer", text=True)


def is_about_books(row: ReportedRow) -> bool:
    """Whether a row of a paper is about a book and its writer, and not about a reader with a memory."""
    return not row.memory and row.table in TITLES


def exhibits(
    books: Sequence[PaperBook],
    entity: str | None = None,
    *,
    reported: Sequence[ReportedRow] = (),
    repeats: int = REPEATS,
    seed: int = 0,
) -> list[Exhibit | Missing]:
    """Return Tables 2, 6, 7, 8, Figure 5, Tables 9, 12, Figure 6, Tables 26 and 28.

    A book that only orders the chapters of another one by date stands in Table 28 alone.

    Args:
        books: The books; without any, Table 6 is still made.
        entity: Whose path Figure 6 shows; None for the person with the most events in each book.
        reported: Numbers of papers that stand beside those of books, such as those in `data/reported_books.json`; rows
            that are about something else do no harm.
        repeats: The number of repetitions of the draws in Tables 6 and 9, at least 2; the paper has 10,000.
        seed: The seed of these draws.

    Raises:
        BadInput: No book tells of this person.
    """
    told = originals(books)
    main = [book for book in told if book.universe == MAIN_UNIVERSE]
    others = [book for book in told if book.universe != MAIN_UNIVERSE]
    return [
        _characteristics("Table 2", main, reported, "a book from the default universe"),
        expected_table(books, reported, repeats=repeats, seed=seed),
        _rounds(told, reported),
        _composition(told, reported) if told else _missing("Table 8"),
        *positions_figures(told),
        actual_table(told, reported, repeats=repeats, seed=seed),
        _widespreadness(told, reported) if told else _missing("Table 12"),
        *path_figures(told, entity),
        _characteristics("Table 26", others, reported, "a book from another universe, such as news or scifi"),
        _overview(books, reported) if books else _missing("Table 28"),
    ]


def _missing(name: str, needs: str = "books") -> Missing:
    return Missing(name, TITLES[name], needs)


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


def _characteristics(
    name: str, books: Sequence[PaperBook], reported: Sequence[ReportedRow], needs: str
) -> Exhibit | Missing:
    if not books:
        return _missing(name, needs)
    theirs = rows_of(name, reported, _COUNTED.values())
    given = [
        identity_of(row) | {column: row.scores.get(column) for column in _COUNTED.values()} | {"length_unit": CL100K}
        for row in theirs
    ]
    unknown = [book.marked for book in books if book.n_events is None]
    notes = [
        "“About 0, 1, …” counts the selected questions by the number of chapters that match their cue. There are fewer "
        "chapters than events where no candidate for an event passed the checks.",
        *([f"No report on the writing says how many events were drawn for {', '.join(unknown)}."] if unknown else []),
        *_about_lengths(books),
        *sources_of(theirs),
    ]
    shown = [Column(title, _length if column == "length" else column) for title, column in _COUNTED.items()]
    return Exhibit(name, TITLES[name], framed([*map(_counts, books), *given]), [_BOOK, _WRITER, *shown], notes)


def _counts(book: PaperBook) -> dict[str, Value]:
    events, bins = [chapter.event for chapter in book.chapters], Counter(question.bin for question in book.selected)
    days = [event.time.isoformat() for event in events]
    return {
        **book.identity, "n_events": book.n_events, "n_chapters": len(events), "length": book.tokens,
        "length_unit": book.tokenizer,
        **{f"n_{feature}s": len({getattr(event, feature) for event in events}) for feature in ("time", "space")},
        "n_entities": len({event.entity for event in events}), "n_contents": len({event.content for event in events}),
        "first_day": min(days), "last_day": max(days), "n_answerable": book.n_answerable, "n_empty": book.n_empty,
        "n_selected": len(book.selected), **{f"selected_{bin_}": bins[bin_] for bin_ in BINS},
    }  # fmt: skip


def _about_lengths(books: Sequence[PaperBook]) -> list[str]:
    if any(book.tokenizer == "words" for book in books):
        return [
            "Lengths of books given here are in words, since the encoding cl100k_base, in which the paper counts tokens, is "
            "not at hand.",
        ]
    return ["Lengths are in tokens of the encoding cl100k_base."]


def _overview(books: Sequence[PaperBook], reported: Sequence[ReportedRow]) -> Exhibit:
    """Table 28: every book with its variation, and the tables of the paper that are made from it."""
    records: list[dict[str, Value]] = []
    for book in books:
        use, used_in = use_of(book, books)
        records.append(
            {
                **book.identity, "size": book.length or None, "n_chapters": len(book.chapters), "length": book.tokens,
                "length_unit": book.tokenizer, "use": use, "used_in": used_in or None,
            }
        )  # fmt: skip
    given = ("n_chapters", "length")
    theirs = rows_of("Table 28", reported, given)
    records += [
        identity_of(row) | {name: row.scores.get(name) for name in given} | {"length_unit": CL100K} for row in theirs
    ]
    columns = [
        _BOOK, *(Column(name, name, text=True) for name in ("universe", "size", "writer", "order", "use")),
        Column("made from it", "used_in", text=True), Column("chapters", "n_chapters"), Column("length", _length),
    ]  # fmt: skip
    notes = ["Tables and figures are those of the paper; all books also have a row in the tables on books themselves."]
    return Exhibit(
        "Table 28", TITLES["Table 28"], framed(records), columns, [*notes, *_about_lengths(books), *sources_of(theirs)]
    )


def use_of(book: PaperBook, books: Sequence[PaperBook]) -> tuple[str, str]:
    """Say what a book is for, and which tables of the paper compare it.

    Args:
        book: The book.
        books: All of them. The first of its universe, length and order is the main one; a later one by another writer is
            there for the comparison of writers, and one of another seed for the spread over seeds.
    """
    if book.order == "chronological":
        return "ablation: order", "Tables 22 and 23"
    if book.universe != MAIN_UNIVERSE:
        return "ablation: universe", "Table 27" if book.length in ("short", "long") else ""
    kind = (book.source, book.universe, book.length, book.order)
    first = next(one for one in books if (one.source, one.universe, one.length, one.order) == kind)
    if first.writer != book.writer:
        return "ablation: writer", "Tables 20 and 21"
    if first.seed != book.seed:
        return "another seed", ""
    used = {
        "short": "Tables 13 and 17, Figure 7",
        "long": "Tables 3, 4, 14 to 16, 18, 19, 24 and 25, Figures 3, 4 and 8",
    }
    return "main", used.get(book.length, "")


# Table 12: how the selected questions are spread over cues and bins

CUES = ("t", "s", "e", "c", "tc", "sc", "ec", "se", "sec", "ts", "te", "tse", "tsc", "tec", "tsec")
"""The cues in the order of the paper, which sums up the last six as others."""


def _widespreadness(books: Sequence[PaperBook], reported: Sequence[ReportedRow]) -> Exhibit:
    """Table 12: for each cue and bin, the number of selected questions of one template.

    As in the paper, a cell is the number of questions divided by that of the cue's templates. Where the templates of one
    cue have different numbers of questions, the smallest and the largest stand there.
    """
    records: list[dict[str, Value]] = []
    for book, cue, bin_ in product(books, CUES, BINS):
        n = _by_template(book.selected, cue, bin_)
        records.append(
            {**book.identity, "cue": cue, "bin": bin_, "questions": sum(n), "templates": len(n)}
            | {"least_of_a_template": min(n), "most_of_a_template": max(n)}
        )
    cells = list(product((*CUES[:9], "others"), BINS))
    theirs = rows_of("Table 12", reported, [f"{cue}.{bin_}" for cue, bin_ in cells])
    records += [
        {**identity_of(row), "cue": cue, "bin": bin_, "least_of_a_template": n, "most_of_a_template": n}
        for row in theirs
        for cue, bin_ in cells
        for n in (row.scores.get(f"{cue}.{bin_}"),)
    ]
    notes = [
        "A cell is the number of selected questions of each template with this cue, by the number of chapters that match; "
        "at most five are selected. Times the number of templates it is the number of questions.",
        "Cues with date and space, or with date and entity, match one chapter at most: no two events share these. "
        "The paper sums them up as others.",
        *sources_of(theirs),
    ]
    columns = [
        _BOOK, _WRITER, Column("cue", lambda row: cue_written(row["cue"]), text=True), Column("templates", "templates"),
        Column("{}", _least_to_most),
    ]  # fmt: skip
    return Exhibit("Table 12", TITLES["Table 12"], framed(records), columns, notes, across="bin", sections="label")


def _least_to_most(row: Row) -> str:
    least, most = row["least_of_a_template"], row["most_of_a_template"]
    return plain(least) if least == most else f"{least}–{most}"


def _by_template(selected: Sequence[Asked], cue: str, bin_: str) -> list[int]:
    """How many selected questions each template of a cue has in a bin, in the order of the templates."""
    counts = Counter(question.template for question in selected if (question.cue, question.bin) == (cue, bin_))
    return [counts[template.id] for template in TEMPLATES_BY_CUE[cue]]


def cue_written(cue: str) -> str:
    """A cue as the paper writes it: `(t, *, e, *)`."""
    return cue if cue == "others" else f"({', '.join(letter if letter in cue else '*' for letter in CUE_LETTERS)})"


# Tables 7 and 8: how the chapters were written, round by round, and what came out

MOST_CHECKS = 3
"""The checks that Table 7 names in a round; its data has all of them."""
_ROUND = ("candidates", "failed_exact", "failed_model", "accepted_so_far")
_CHECK = "check_"


def _rounds(told: Sequence[PaperBook], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """Table 7, with a row for each round of each book that was written in rounds."""
    unwritten: dict[str, list[str]] = {}
    for book in told:
        if not book.rounds:
            unwritten.setdefault(book.no_rounds, []).append(book.marked)
    reasons = [f"{', '.join(names)}: {why}" for why, names in unwritten.items()]
    records = [record for book in told for record in _own_rounds(book)]
    if not records:
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return _missing("Table 7", f"a book that a model wrote, with its checks{why}")
    theirs = rows_of("Table 7", reported, [f"0.{column}" for column in _ROUND])
    records += [record for row in theirs for record in _reported_rounds(row)]
    counted = {name: name.replace("_", " ") for name in _ROUND[:3]}
    columns = [
        _BOOK, _WRITER, Column("round", "round", text=True), Column("failed checks", _commonest, text=True),
        *(Column(title, name) for name, title in counted.items()),
        Column("accepted so far", lambda row: f"{plain(row['accepted_so_far'])} of {row['n_events']}"),
    ]  # fmt: skip
    notes = [
        "In each round there is one candidate for every event without a chapter. The model's check (names with llm_) is "
        "made only of candidates that pass the exact checks. A candidate may fail several checks; the commonest ones are named.",
        *(f"Without rounds: {reason}." for reason in reasons),
        *sources_of(theirs),
    ]
    return Exhibit("Table 7", TITLES["Table 7"], framed(records), columns, notes, sections="label")


def _own_rounds(book: PaperBook) -> Iterable[dict[str, Value]]:
    so_far = 0
    for number, one in enumerate(book.rounds):
        so_far += one.accepted
        yield {
            **book.identity, "round": number, "n_events": book.rounds[0].candidates, "candidates": one.candidates,
            "failed_exact": one.failed_exact, "failed_model": one.failed_llm, "accepted": one.accepted,
            "accepted_so_far": so_far, **{f"{_CHECK}{check}": n for check, n in one.failed_checks.items()},
        }  # fmt: skip


def _reported_rounds(row: ReportedRow) -> Iterable[dict[str, Value]]:
    """The rounds that the paper reports, which says nothing of single checks."""
    before: float | None = 0
    for number in takewhile(lambda number: f"{number}.candidates" in row.scores, count()):
        given = {name: row.scores.get(f"{number}.{name}") for name in _ROUND}
        so_far = given["accepted_so_far"]
        accepted = None if so_far is None or before is None else so_far - before
        yield {
            **identity_of(row),
            "round": number,
            "n_events": row.scores["0.candidates"],
            **given,
            "accepted": accepted,
        }
        before = so_far


def _commonest(row: Row) -> str:
    """The checks that failed most often, with their numbers: `has_date 8, has_content 3, …`."""
    failed = Counter({name.removeprefix(_CHECK): n for name, n in row.items() if name.startswith(_CHECK) and n})
    shown = [f"{check} {n}" for check, n in failed.most_common(MOST_CHECKS)]
    return ", ".join([*shown, *(["…"] if len(failed) > MOST_CHECKS else [])]) or "–"


PROPERTIES = ("paragraphs", "style", "secondary entities")


def _composition(books: Sequence[PaperBook], reported: Sequence[ReportedRow]) -> Exhibit:
    """Table 8, with a column for each book."""
    theirs = [row for row in reported if row.table == "Table 8" and any(map(_is_counted, row.scores))]
    counts = [(book.identity, book.marked, _composed(book.chapters)) for book in books]
    counts += [
        (identity_of(row), marked(f"{row.dataset} by {row.model}", "reported"), Counter[str](row.scores))
        for row in theirs
    ]
    names = sorted({name for *_, of in counts for name in of if _is_counted(name)}, key=_in_order)
    frame = framed(
        {**identity, "heading": heading, "property": what, "value": value, "chapters": of[name]}
        for name in names
        for what, _, value in (name.partition("."),)
        for identity, heading, of in counts
    )
    columns = [Column("property", "property", text=True), Column("value", "value", text=True), Column("{}", "chapters")]
    notes = ["A secondary entity is a side character with a full name that occurs in one chapter only."]
    notes += sources_of(theirs)
    return Exhibit("Table 8", TITLES["Table 8"], frame, columns, notes, across="heading", sections="property")


def _composed(chapters: Sequence[Chapter]) -> Counter[str]:
    """The number of chapters by property and value, named as in rows of the paper: `style.comedy`."""
    values = [(chapter.n_paragraphs, chapter.style, len(chapter.secondary)) for chapter in chapters]
    return Counter(f"{what}.{value}" for of in values for what, value in zip(PROPERTIES, of, strict=True))


def _is_counted(name: str) -> bool:
    return name.partition(".")[0] in PROPERTIES


def _in_order(name: str) -> tuple[int, int, str]:
    """Properties as they are listed, numbers by their size and styles by their names."""
    what, _, value = name.partition(".")
    return PROPERTIES.index(what), 0 if what == "style" else len(value), value
