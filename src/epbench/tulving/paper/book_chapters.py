"""How chapters were written, round by round (Table 7), what came out (Table 8), and where they tell their facts (Figure 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count, product, takewhile
from typing import TYPE_CHECKING

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, marked, plain
from epbench.reports.figures import colour_of
from epbench.reports.plots import DASHES, legend, panels
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.checks import facts_in_words, paragraphs_with, split_paragraphs
from epbench.tulving.chapters.report import QUANTILES, SPANS, Positions, fact_positions
from epbench.tulving.paper.books import BOOK, WRITER, Books, BookTable, PaperBook, Record, identity_of
from epbench.tulving.paper.rows import texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Tables 7 and 8: how the chapters were written, round by round, and what came out

_ROUND = ("candidates", "failed_exact", "failed_model", "accepted_so_far")
_CHECK, _MOST_CHECKS = "check_", 3  # Table 7 names the commonest in a round; its data has all of them


def _without_rounds(books: Books) -> list[str]:
    """Why books have no rounds, with their names."""
    unwritten: dict[str, list[str]] = {}
    for book in (book for book in books if not book.rounds):
        unwritten.setdefault(book.no_rounds, []).append(book.marked)
    return [f"{', '.join(names)}: {why}" for why, names in unwritten.items()]


def _own_rounds(books: Books) -> Iterable[Record]:
    """A row for each round of each book that was written in rounds."""
    for book in books:
        so_far = 0
        for number, one in enumerate(book.rounds):
            so_far += one.accepted
            about: Record = {"round": number, "n_events": book.rounds[0].candidates, "candidates": one.candidates}
            failed: Record = {"failed_exact": one.failed_exact, "failed_model": one.failed_llm}
            checks = {f"{_CHECK}{check}": n for check, n in one.failed_checks.items()}
            accepted = {"accepted": one.accepted, "accepted_so_far": so_far}
            yield {**book.identity, **about, **failed, **accepted, **checks}


def _reported_rounds(row: ReportedRow) -> list[Record]:
    """The rounds that the paper reports, which says nothing of single checks."""
    found: list[Record] = []
    for number in takewhile(lambda number: f"{number}.candidates" in row.scores, count()):
        given = {name: row.scores.get(f"{number}.{name}") for name in _ROUND}
        so_far, before = given["accepted_so_far"], row.scores.get(f"{number - 1}.accepted_so_far") if number else 0
        accepted = None if so_far is None or before is None else so_far - before
        about: Record = {"round": number, "n_events": row.scores["0.candidates"]}
        found.append({**identity_of(row), **about, **given, "accepted": accepted})
    return found


def _commonest(row: Row) -> str:
    """The checks that failed most often, with their numbers: `has_date 8, has_content 3, …`."""
    failed = Counter({name.removeprefix(_CHECK): n for name, n in row.items() if name.startswith(_CHECK) and n})
    shown = [f"{check} {n}" for check, n in failed.most_common(_MOST_CHECKS)]
    return ", ".join([*shown, *(["…"] if len(failed) > _MOST_CHECKS else [])]) or "–"


ROUNDS = BookTable(
    "Table 7",
    "Accepted chapters by round, and the checks that candidates failed",
    [
        BOOK,
        WRITER,
        Column("round", "round", text=True),
        Column("failed checks", _commonest, text=True),
        *(Column(name.replace("_", " "), name) for name in _ROUND[:3]),
        Column("accepted so far", lambda row: f"{plain(row['accepted_so_far'])} of {row['n_events']}"),
    ],
    own=_own_rounds,
    given=_reported_rounds,
    notes=lambda books: [
        "In each round there is one candidate for every event without a chapter. The model's check (names with llm_) is "
        "made only of candidates that pass the exact checks. A candidate may fail several checks; the commonest ones are named.",
        *(f"Without rounds: {reason}." for reason in _without_rounds(books)),
    ],
    needs=lambda books: " ".join(
        [
            "a book that a model wrote, with its checks",
            *([f"({'; '.join(why)})"] if (why := _without_rounds(books)) else []),
        ]
    ),
    sections="label",
)

PROPERTIES = ("paragraphs", "style", "secondary entities")


def _properties(book: PaperBook) -> Record:
    """The counts of one book, named as in rows of the paper, such as `style.comedy`."""
    values = [(chapter.n_paragraphs, chapter.style, len(chapter.secondary)) for chapter in book.chapters]
    named = Counter(f"{what}.{value}" for of in values for what, value in zip(PROPERTIES, of, strict=True))
    return {**book.identity, "heading": book.marked, **named}


def _reported_properties(row: ReportedRow) -> list[Record]:
    named = {name: n for name, n in row.scores.items() if name.partition(".")[0] in PROPERTIES}
    about = {**identity_of(row), "heading": marked(f"{row.dataset} by {row.model}", "reported")}
    return [{**about, **named}] if named else []


def _side_by_side(books: list[Record]) -> list[Record]:
    """A row for each value of a property and each book, which may have it in no chapter."""

    def place(kind: tuple[str, ...]) -> tuple[int, int, str]:  # numbers by their size, styles by their names
        return PROPERTIES.index(kind[0]), 0 if kind[0] == "style" else len(kind[1]), kind[1]

    about = [{name: value for name, value in book.items() if "." not in name} for book in books]
    kinds = sorted({tuple(name.split(".", 1)) for book in books for name in book if "." in name}, key=place)
    return [
        {**who, "property": what, "value": value, "chapters": book.get(f"{what}.{value}", 0)}
        for what, value in kinds
        for who, book in zip(about, books, strict=True)
    ]


COMPOSITION = BookTable(
    "Table 8",
    "Chapters by number of paragraphs, by style and by number of secondary entities",
    [*texts("property", "value"), Column("{}", "chapters")],
    own=lambda books: map(_properties, books),
    given=_reported_properties,
    notes=lambda _: ["A secondary entity is a side character with a full name that occurs in one chapter only."],
    arranged=_side_by_side,
    across="heading",
    sections="property",
)
"""Table 8, with a column for each book."""


# Figure 5: where chapters tell their facts

MOST_BOOKS = 4  # in one part of the figure, side by side; more of them take more parts
FACT_NAMES = {"location": "space", "date": "time", "entity": "entity", "content": "detail"}


def positions_figures(books: Sequence[PaperBook]) -> list[Exhibit | Missing]:
    """Return Figure 5, in several parts if there are more than four books.

    As in the paper, a fact's position is the middle of its first occurrence, in any case. A book with a chapter that does
    not tell a fact word for word is left out, with a note.
    """
    title = "Positions of the facts relative to the book, the chapter and the paragraph"
    faults = [(book, _untold(book.chapters)) for book in books]
    notes = [f"{book.marked} is left out: {fault}." for book, fault in faults if fault]
    shown = [book for book, fault in faults if not fault]
    if not shown:
        return [Missing("Figure 5", title, f"a book that tells every fact word for word {' '.join(notes)}".strip())]
    parts = {f"part {n // MOST_BOOKS + 1}": shown[n : n + MOST_BOOKS] for n in range(0, len(shown), MOST_BOOKS)}
    names = ["Figure 5"] if len(parts) == 1 else [f"Figure 5, {part}" for part in parts]
    return [_positions(name, title, part, notes) for name, part in zip(names, parts.values(), strict=True)]


def _untold(chapters: Sequence[Chapter]) -> str:
    """The first chapter that lacks a fact word for word within a paragraph, with the fact; "" if there is none."""
    for chapter in chapters:
        for fact, paragraphs in paragraphs_with(split_paragraphs(chapter.text), facts_in_words(chapter.event)).items():
            if not paragraphs:
                return f"chapter {chapter.number} does not tell its {FACT_NAMES[fact]} word for word in one paragraph"
    return ""


def _positions(name: str, title: str, books: Sequence[PaperBook], notes: Sequence[str]) -> Exhibit:
    import numpy as np

    drawn = {book.marked: fact_positions(book.chapters) for book in books}
    points, summed = [], []
    for book, span, (fact, fact_name) in product(books, SPANS, FACT_NAMES.items()):
        about, places = {**book.identity, "span": span, "fact": fact_name}, drawn[book.marked][span][fact]
        quantiles = {f"q{q}": float(np.quantile(places, q)) for q in QUANTILES}
        summed.append({**about, "n": len(places), **quantiles})
        numbered = zip(book.chapters, places, strict=True)
        points += [{**about, "chapter": chapter.number, "position": place} for chapter, place in numbered]
    columns = [BOOK, Column("relative to", "span", text=True), *texts("fact"), Column("chapters", "n")]
    columns += [Column(f"{q:.0%} quantile", f"q{q}") for q in QUANTILES]
    about_positions = (
        "A position is the middle of the first occurrence, in any case, divided by the length in characters: 0 is the "
        "beginning of the book, chapter or paragraph, 1 its end. The figure shows the share of chapters that have told a "
        "fact by a position; the grey line is that of facts that are spread evenly."
    )
    plot, all_notes = partial(_draw_positions, drawn), [about_positions, *notes]
    return Exhibit(name, title, framed(summed), columns, all_notes, plot, sections="label", points=framed(points))


def _draw_positions(books: Mapping[str, Positions]) -> Figure:
    """A column for each book, a row for each span."""
    empty = [""] * (len(SPANS) - 1) * len(books)
    figure, grid = panels([*books, *empty], columns=len(books), width=2.9, height=2.5)
    for axes, (span, (number, of)) in zip(grid, product(SPANS, enumerate(books.values())), strict=True):
        for at, (fact, places) in enumerate(of[span].items()):
            axes.ecdf(places, color=colour_of(at), linestyle=DASHES[at], label=FACT_NAMES[fact])
        axes.plot([0, 1], [0, 1], color="#999", linewidth=0.8)
        y_label = "" if number else "share of chapters"
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"position in the {span}", ylabel=y_label)
    legend(figure)
    return figure
