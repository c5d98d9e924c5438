"""What the chapters of books tell and how they were written.

Their rounds and checks (Table 7), what came out (Table 8), where they tell their facts (Figure 5), and the path of one person
through a book, on the map (Figure 6).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product, takewhile
from typing import TYPE_CHECKING

from epbench.errors import BadInput
from epbench.files.safe_text import printable
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, marked, plain
from epbench.reports.figures import INK, colour_of
from epbench.reports.plots import DASHES, legend, panels
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Value, framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.checks import facts_in_words, paragraphs_with, split_paragraphs
from epbench.tulving.chapters.report import QUANTILES, SPANS, Positions, fact_positions
from epbench.tulving.events.new_york import CITY, Point, boroughs, in_city
from epbench.tulving.paper.books import BOOK, WRITER, PaperBook, Record, Reported, book_table, identity_of, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Tables 7 and 8: how the chapters were written, round by round, and what came out

_ROUND = ("candidates", "failed_exact", "failed_model", "accepted_so_far")
_CHECK, _MOST_CHECKS = "check_", 3  # Table 7 names the commonest in a round; its data has all of them


def rounds(told: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 7, with a row for each round of each book that was written in rounds."""
    unwritten: dict[str, list[str]] = {}
    for book in told:
        if not book.rounds:
            unwritten.setdefault(book.no_rounds, []).append(book.marked)
    reasons = [f"{', '.join(names)}: {why}" for why, names in unwritten.items()]
    needs = "a book that a model wrote, with its checks" + (f" ({'; '.join(reasons)})" if reasons else "")
    theirs = rows_of("Table 7", reported, [f"0.{column}" for column in _ROUND])
    columns = [
        BOOK, WRITER, Column("round", "round", text=True), Column("failed checks", _commonest, text=True),
        *(Column(name.replace("_", " "), name) for name in _ROUND[:3]),
        Column("accepted so far", lambda row: f"{plain(row['accepted_so_far'])} of {row['n_events']}"),
    ]  # fmt: skip
    notes = [
        "In each round there is one candidate for every event without a chapter. The model's check (names with llm_) is "
        "made only of candidates that pass the exact checks. A candidate may fail several checks; the commonest ones are named.",
        *(f"Without rounds: {reason}." for reason in reasons),
    ]
    own = [record for book in told for record in _own_rounds(book)]
    given = [record for row in theirs for record in _reported_rounds(row)]
    title = "Accepted chapters by round, and the checks that candidates failed"
    return book_table("Table 7", title, own, given, columns, notes, theirs, needs, sections="label")


def _own_rounds(book: PaperBook) -> Iterable[Record]:
    so_far = 0
    for number, one in enumerate(book.rounds):
        so_far += one.accepted
        yield {
            **book.identity, "round": number, "n_events": book.rounds[0].candidates, "candidates": one.candidates,
            "failed_exact": one.failed_exact, "failed_model": one.failed_llm, "accepted": one.accepted,
            "accepted_so_far": so_far, **{f"{_CHECK}{check}": n for check, n in one.failed_checks.items()},
        }  # fmt: skip


def _reported_rounds(row: ReportedRow) -> Iterable[Record]:
    """The rounds that the paper reports, which says nothing of single checks."""
    for number in takewhile(lambda number: f"{number}.candidates" in row.scores, count()):
        given = {name: row.scores.get(f"{number}.{name}") for name in _ROUND}
        so_far, before = given["accepted_so_far"], row.scores.get(f"{number - 1}.accepted_so_far") if number else 0
        accepted = None if so_far is None or before is None else so_far - before
        about: Record = {"round": number, "n_events": row.scores["0.candidates"]}
        yield {**identity_of(row), **about, **given, "accepted": accepted}


def _commonest(row: Row) -> str:
    """The checks that failed most often, with their numbers: `has_date 8, has_content 3, …`."""
    failed = Counter({name.removeprefix(_CHECK): n for name, n in row.items() if name.startswith(_CHECK) and n})
    shown = [f"{check} {n}" for check, n in failed.most_common(_MOST_CHECKS)]
    return ", ".join([*shown, *(["…"] if len(failed) > _MOST_CHECKS else [])]) or "–"


PROPERTIES = ("paragraphs", "style", "secondary entities")


def composition(books: Sequence[PaperBook], reported: Reported = ()) -> Exhibit | Missing:
    """Table 8, with a column for each book; counts are named as in rows of the paper, such as `style.comedy`."""

    def is_counted(name: str) -> bool:
        return name.partition(".")[0] in PROPERTIES

    def place(name: str) -> tuple[int, int, str]:  # numbers by their size, styles by their names
        what, _, value = name.partition(".")
        return PROPERTIES.index(what), 0 if what == "style" else len(value), value

    theirs = [row for row in reported if row.table == "Table 8" and any(map(is_counted, row.scores))]
    counts: list[tuple[Record, str, Mapping[str, Value]]] = []
    for book in books:
        values = [(chapter.n_paragraphs, chapter.style, len(chapter.secondary)) for chapter in book.chapters]
        named = Counter(f"{what}.{value}" for of in values for what, value in zip(PROPERTIES, of, strict=True))
        counts.append((book.identity, book.marked, named))
    counts += [(identity_of(row), marked(f"{row.dataset} by {row.model}", "reported"), row.scores) for row in theirs]
    names = sorted({name for *_, of in counts for name in of if is_counted(name)}, key=place)
    own = [
        {**identity, "heading": heading, "property": what, "value": value, "chapters": of.get(name, 0)}
        for name in names
        for what, _, value in (name.partition("."),)
        for identity, heading, of in counts
    ]
    columns = [Column("property", "property", text=True), Column("value", "value", text=True), Column("{}", "chapters")]
    notes = ["A secondary entity is a side character with a full name that occurs in one chapter only."]
    title = "Chapters by number of paragraphs, by style and by number of secondary entities"
    of_books = own if books else []
    return book_table("Table 8", title, of_books, [], columns, notes, theirs, across="heading", sections="property")


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
    parts = [shown[start : start + MOST_BOOKS] for start in range(0, len(shown), MOST_BOOKS)]
    names = ["Figure 5"] if len(parts) == 1 else [f"Figure 5, part {number + 1}" for number in range(len(parts))]
    return [_positions(name, title, part, notes) for name, part in zip(names, parts, strict=True)]


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
        for chapter, place in zip(book.chapters, places, strict=True):
            points.append({**about, "chapter": chapter.number, "position": place})
    columns = [
        BOOK, Column("relative to", "span", text=True), Column("fact", "fact", text=True), Column("chapters", "n"),
        *(Column(f"{q:.0%} quantile", f"q{q}") for q in QUANTILES),
    ]  # fmt: skip
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


# Figure 6: the path of one person

_TITLE_6 = "The path of one person through the book"
MOST_STOPS = 24
"""The longest path that is shown unless a person is chosen by name; more stops cannot be told apart on the map."""


def path_figures(books: Sequence[PaperBook], entity: str | None = None) -> list[Exhibit | Missing]:
    """Return Figure 6 for every book whose spaces have coordinates, and what is missing for the others.

    Args:
        books: The books.
        entity: Whose path is shown; books that do not tell of this person are left out. None for the person with the most
            events in a book, up to `MOST_STOPS`; of several the first one.

    Raises:
        BadInput: No book tells of this person.
    """
    people = {book.marked: Counter(chapter.event.entity for chapter in book.chapters) for book in books}
    if entity is not None:
        books = [book for book in books if entity in people[book.marked]]
        if not books:
            raise BadInput(f"entity {entity!r}: expected a main character of one of the books, found none of this name")
    if not books:
        return [Missing("Figure 6", _TITLE_6, "a book whose spaces have coordinates")]
    alone = len(books) == 1
    return [
        _path("Figure 6" if alone else f"Figure 6, {book.marked}", book, entity or _most_seen(people[book.marked]))
        for book in books
    ]


def _most_seen(counts: Mapping[str, int]) -> str:
    shown = [name for name, n in counts.items() if n <= MOST_STOPS] or [min(counts, key=counts.__getitem__)]
    return max(shown, key=counts.__getitem__)


def _path(name: str, book: PaperBook, person: str) -> Exhibit | Missing:
    told = [chapter for chapter in book.chapters if chapter.event.entity == person]
    records: list[Record] = []
    for number, chapter in enumerate(sorted(told, key=lambda chapter: chapter.event.time), 1):
        event, (south, west) = chapter.event, book.coordinates.get(chapter.event.space, (None, None))
        records.append({
            **book.identity, "entity": person, "stop": number, "chapter": chapter.number, "date": event.time.isoformat(),
            "space": event.space, "content": event.content, "detail": event.detail, "latitude": south, "longitude": west,
        })  # fmt: skip
    unknown = sorted({str(stop["space"]) for stop in records if not _point(stop)})
    if not any(map(_point, records)):
        whose = f"the universe {book.universe}" if book.universe else "its universe"
        return Missing(
            name, _TITLE_6, f"coordinates of the spaces of {book.marked}: {whose} has none that are known here"
        )
    notes = [f"The path of {person} in {book.marked}, in the order of the dates; chapters are in another order."]
    notes += [f"Not on the map, since their coordinates are unknown: {', '.join(unknown)}."] if unknown else []
    columns = [
        *(Column(name, name, text=True) for name in ("stop", "date", "space", "content")),
        Column("latitude, longitude", _coordinates, text=True), Column("chapter", "chapter"),
    ]  # fmt: skip
    title = f"{_TITLE_6}: {person} in {book.marked}"
    return Exhibit(name, title, framed(records), columns, notes, partial(_draw_path, book, person, records))


def _point(stop: Row) -> Point | None:
    return None if stop["latitude"] is None else (stop["latitude"], stop["longitude"])


def _coordinates(stop: Row) -> str:
    point = _point(stop)
    return "–" if point is None else f"{point[0]:.3f}, {point[1]:.3f}"


# The map of Figure 6: the city, the spaces of a book, the paths of all its people, and one of them in colour

_LAND, _SHORE, _OTHERS, _PATH = "#eef0ea", "#b9beb2", "#c9ccd1", colour_of(3)
_WIDTH, _BESIDE, _EDGE = 6.4, 4.2, 0.75
"""Inches: the width of the map, that of the list beside it, and the margin for ticks and titles."""
_LINE = 0.145
"""Inches that a line of the list takes."""
_CHARACTER, _TALL = 0.075, 0.17
"""Inches that a character of a label takes in width, and a label in height."""


def _draw_path(book: PaperBook, person: str, stops: Sequence[Row]) -> Figure:
    """Draw the map with a list of the stops beside it.

    The map shows the city, widened so far that it holds all stops, or for spaces elsewhere the rectangle around all of
    them, without a coast. Other spaces may lie outside.
    """
    from matplotlib.figure import Figure

    known = sorted({point for chapter in book.chapters if (point := book.coordinates.get(chapter.event.space))})
    path = [point for stop in stops if (point := _point(stop))]
    in_town = any(map(in_city, known))
    wests, souths = _xy([*CITY, *path] if in_town else known)
    margin = 0.04 * max(max(souths) - min(souths), max(wests) - min(wests), 0.1)
    south, north, west, east = min(souths) - margin, max(souths) + margin, min(wests) - margin, max(wests) + margin
    shrunk = max(0.2, math.cos(math.radians((south + north) / 2)))  # a degree to the east beside one to the north
    tall = _WIDTH * (north - south) / ((east - west) * shrunk)
    height, width = max(tall, 2 * _LINE * len(stops)) + 2 * _EDGE, _WIDTH + _BESIDE + 2 * _EDGE
    figure, top = Figure(figsize=(width, height)), height - _EDGE
    axes = figure.add_axes((_EDGE / width, (top - tall) / height, _WIDTH / width, tall / height))
    axes.set(xlim=(west, east), ylim=(south, north))
    for polygon in (polygon for of in boroughs().values() for polygon in of) if in_town else ():
        axes.fill(*_xy(polygon), facecolor=_LAND, edgecolor=_SHORE, linewidth=0.7, zorder=1)
    for points in _other_paths(book, person):
        axes.plot(*_xy(points), color=_OTHERS, linewidth=0.4, zorder=2)
    axes.scatter(*_xy(known), s=9, color="#777", zorder=3)
    axes.plot(*_xy(path), color=_PATH, linewidth=1.3, marker="o", markersize=3, zorder=4)
    _number(axes, stops)
    axes.set(xlabel="longitude", ylabel="latitude", title=printable(f"{person}, {book.marked}"))
    axes.grid(color="#eee", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    listed = "\n".join(
        f"{stop['stop']}.  {stop['date']}: {stop['space']}{'' if _point(stop) else ' (not on the map)'}\n"
        f"      {stop['content']}, chapter {stop['chapter']}"
        for stop in stops
    )
    left = (_EDGE + _WIDTH + 0.3) / width
    figure.text(left, top / height, printable(listed), va="top", fontsize=8, color=INK, linespacing=1.25)
    return figure


def _xy(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """Longitudes and latitudes."""
    return [west for _, west in points], [south for south, _ in points]


def _other_paths(book: PaperBook, person: str) -> list[list[Point]]:
    """The paths of everybody else, in the order of time."""
    paths: dict[str, list[Point]] = {}
    for chapter in sorted(book.chapters, key=lambda chapter: chapter.event.time):
        if (point := book.coordinates.get(chapter.event.space)) and chapter.event.entity != person:
            paths.setdefault(chapter.event.entity, []).append(point)
    return list(paths.values())


def _number(axes: Axes, stops: Sequence[Row]) -> None:
    """Write the numbers of the stops at each space of the path, beside one another where spaces are close."""
    at: dict[Point, list[str]] = {}
    for stop in stops:
        if point := _point(stop):
            at.setdefault(point, []).append(str(stop["stop"]))
    taken: list[tuple[float, float, float]] = []  # the middle of each label, and half of its width, in inches
    for (south, west), numbers in at.items():
        text = ", ".join(numbers)
        half = (len(text) * _CHARACTER + 0.12) / 2
        x, y = axes.transData.transform((west, south)) / axes.figure.dpi
        across, up = next(shift for shift in _shifts(half) if _free(x + shift[0], y + shift[1], half, taken))
        taken.append((x + across, y + up, half))
        axes.annotate(
            text, (west, south), (across * 72, up * 72), textcoords="offset points", fontsize=7, zorder=5,
            ha="center", va="center", arrowprops={"arrowstyle": "-", "color": _PATH, "linewidth": 0.6},
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _PATH, "linewidth": 0.8},
        )  # fmt: skip


def _shifts(half: float) -> Iterator[tuple[float, float]]:
    """Where a label may be, in inches from its point: around it, then ever farther away."""
    distance = 0.2
    while True:
        for eighth in range(8):
            angle = math.pi / 4 * (eighth + 1)
            yield math.cos(angle) * (distance + half), math.sin(angle) * distance
        distance += 0.1


def _free(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - other) > half + width or abs(y - height) > _TALL for other, height, width in taken)
