"""The chapters of books: how they were written, round by round (Table 7), and what came out (Table 8).

Figures show where chapters tell their facts (Figure 5), and the path of one person through a book (Figure 6).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, count, product, takewhile
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.text import printable
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, columns_of, marked, plain
from epbench.reports.figures import INK, colour_of
from epbench.reports.plots import DASHES, grouped, grouped_by, legend, panels
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.checks import facts_in_words, paragraphs_with, split_paragraphs
from epbench.tulving.chapters.loop import QUANTILES, SPANS, Positions, fact_positions
from epbench.tulving.events.new_york import CITY, Point, boroughs, in_city
from epbench.tulving.paper.books import BOOK, WRITER, Books, BookTable, PaperBook, Record, identity_of
from epbench.tulving.paper.inputs import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Tables 7 and 8: how the chapters were written, round by round, and what came out

_ROUND = ("candidates", "failed_exact", "failed_model", "accepted_so_far")
_CHECK, _MOST_CHECKS = "check_", 3  # Table 7 names the commonest in a round; its data has all of them


def _without_rounds(books: Books) -> list[str]:
    """Why books have no rounds, with their names."""
    unwritten = grouped_by((book for book in books if not book.rounds), lambda book: book.no_rounds)
    return [f"{', '.join(book.marked for book in of)}: {why}" for why, of in unwritten.items()]


def _own_rounds(books: Books) -> Iterable[Record]:
    """A row for each round of each book that was written in rounds."""
    for book in books:
        totals = accumulate(one.accepted for one in book.rounds)
        for number, (one, so_far) in enumerate(zip(book.rounds, totals, strict=True)):
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
        *(BOOK, WRITER, *columns_of({"round": "round", "failed checks": _commonest}, 2)),
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
    needs=lambda books: (
        "a book that a model wrote, with its checks"
        + (f" ({'; '.join(why)})" if (why := _without_rounds(books)) else "")
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
    [*named("property", "value"), Column("{}", "chapters")],
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


def positions_figures(books: Sequence[PaperBook]) -> list[Made]:
    """Figure 5, in parts of four books; one with a chapter that does not tell a fact word for word is left out, with a note."""
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
    columns = [BOOK, Column("relative to", "span", text=True), *named("fact"), Column("chapters", "n")]
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


# Figure 6: the path of one person

_TITLE_6 = "The path of one person through the book"
MOST_STOPS = 24
"""The longest path that is shown unless a person is chosen by name; more stops cannot be told apart on the map."""


def path_figures(books: Sequence[PaperBook], entity: str | None = None) -> list[Made]:
    """Figure 6 for every book with the person, else BadInput; by default for the first with the most events, to `MOST_STOPS`."""
    people = [(book, Counter(chapter.event.entity for chapter in book.chapters)) for book in books]
    people = [(book, counts) for book, counts in people if entity is None or entity in counts]
    if books and not people:
        raise BadInput(f"entity {entity!r}: expected a main character of one of the books, found none of this name")
    if not people:
        return [Missing("Figure 6", _TITLE_6, "a book whose spaces have coordinates")]
    made = []
    for book, counts in people:
        shown = [name for name, n in counts.items() if n <= MOST_STOPS] or [min(counts, key=counts.__getitem__)]
        name = "Figure 6" if len(people) == 1 else f"Figure 6, {book.marked}"
        made.append(_path(name, book, entity or max(shown, key=counts.__getitem__)))
    return made


def _path(name: str, book: PaperBook, person: str) -> Made:
    told = [chapter for chapter in book.chapters if chapter.event.entity == person]
    records: list[Record] = []
    for number, chapter in enumerate(sorted(told, key=lambda chapter: chapter.event.time), 1):
        event, (south, west) = chapter.event, book.coordinates.get(chapter.event.space, (None, None))
        about = {**book.identity, "entity": person, "stop": number, "chapter": chapter.number}
        words = {"space": event.space, "content": event.content, "detail": event.detail}
        records.append({**about, "date": event.time.isoformat(), **words, "latitude": south, "longitude": west})
    unknown = sorted({str(stop["space"]) for stop in records if not _point(stop)})
    if not any(map(_point, records)):
        whose = f"the universe {book.universe}" if book.universe else "its universe"
        needs = f"coordinates of the spaces of {book.marked}: {whose} has none that are known here"
        return Missing(name, _TITLE_6, needs)
    notes = [f"The path of {person} in {book.marked}, in the order of the dates; chapters are in another order."]
    notes += [f"Not on the map, since their coordinates are unknown: {', '.join(unknown)}."] if unknown else []
    where = Column(
        "latitude, longitude", lambda stop: "{:.3f}, {:.3f}".format(*p) if (p := _point(stop)) else "–", text=True
    )
    columns = [*named("stop", "date", "space", "content"), where, Column("chapter", "chapter")]
    title = f"{_TITLE_6}: {person} in {book.marked}"
    return Exhibit(name, title, framed(records), columns, notes, partial(_draw_path, book, person, records))


def _point(stop: Row) -> Point | None:
    return None if stop["latitude"] is None else (stop["latitude"], stop["longitude"])


# The map of Figure 6: the city, the spaces of a book, the paths of all its people, and one of them in colour

_LAND, _SHORE, _OTHERS, _PATH = "#eef0ea", "#b9beb2", "#c9ccd1", colour_of(3)
# In inches: the width of the map and of the list beside it, the margin for ticks and titles, the height of a line of the list,
# the width of a character of a label, and the height of a label.
_WIDTH, _BESIDE, _EDGE, _LINE, _CHARACTER, _TALL = 6.4, 4.2, 0.75, 0.145, 0.075, 0.17


def _draw_path(book: PaperBook, person: str, stops: Sequence[Row]) -> Figure:
    """The city, widened to hold all stops, or a rectangle around spaces elsewhere; the list of the stops stands beside it."""
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
    placed = [chapter.event for chapter in book.chapters if chapter.event.space in book.coordinates]
    others = sorted((event for event in placed if event.entity != person), key=lambda event: event.time)
    for events in grouped_by(others, lambda event: event.entity).values():
        axes.plot(*_xy([book.coordinates[event.space] for event in events]), color=_OTHERS, linewidth=0.4, zorder=2)
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


def _number(axes: Axes, stops: Sequence[Row]) -> None:
    """Write the numbers of the stops at each space of the path, beside one another where spaces are close."""
    taken: list[tuple[float, float, float]] = []  # the middle of each label, and half of its width, in inches
    placed = (stop for stop in stops if _point(stop))
    for (south, west), here in grouped(placed, "latitude", "longitude").items():
        text = ", ".join(str(stop["stop"]) for stop in here)
        half = (len(text) * _CHARACTER + 0.12) / 2
        x, y = axes.transData.transform((west, south)) / axes.figure.dpi
        across, up = next(shift for shift in _shifts(half) if _free(x + shift[0], y + shift[1], half, taken))
        taken.append((x + across, y + up, half))
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _PATH, "linewidth": 0.8}
        look: dict[str, Any] = {"fontsize": 7, "zorder": 5, "ha": "center", "va": "center", "bbox": box}
        arrow = {"arrowstyle": "-", "color": _PATH, "linewidth": 0.6}
        place = across * 72, up * 72
        axes.annotate(text, (west, south), place, textcoords="offset points", arrowprops=arrow, **look)


def _shifts(half: float) -> Iterator[tuple[float, float]]:
    """Where a label may be, in inches from its point: around it, then ever farther away."""
    for distance in count(0.2, 0.1):
        for angle in (math.pi / 4 * eighth for eighth in range(1, 9)):
            yield math.cos(angle) * (distance + half), math.sin(angle) * distance


def _free(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - other) > half + width or abs(y - height) > _TALL for other, height, width in taken)
