"""The chapters of books: how they were written and what came out (Tables 7, 8), positions and paths (Figures 5, 6)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, count, product, takewhile
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.text import printable
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, Shown, columns_of, marked, plain
from epbench.reports.figures import INK, colour_of
from epbench.reports.plots import DASHES, grouped, grouped_by, legend, panels
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.checks import facts_in_words, paragraphs_with, split_paragraphs
from epbench.tulving.chapters.loop import QUANTILES, SPANS, Positions, fact_positions
from epbench.tulving.events.new_york import CITY, Point, boroughs, in_city
from epbench.tulving.paper.books import BOOK, WRITER, Books, BookTable, PaperBook, Record, identity_of
from epbench.tulving.paper.shared import for_each, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROUND = ("candidates", "failed_exact", "failed_model", "accepted_so_far")
_CHECK, _MOST_CHECKS = "check_", 3  # Table 7 names the commonest in a round; its data has all of them


def _without_rounds(books: Books) -> list[str]:
    unwritten = grouped_by((book for book in books if not book.rounds), lambda book: book.no_rounds)
    return [f"{', '.join(book.marked for book in of)}: {why}" for why, of in unwritten.items()]


def _own_rounds(books: Books) -> Iterator[Record]:
    for book in books:
        totals = accumulate(one.accepted for one in book.rounds)
        for number, (one, so_far) in enumerate(zip(book.rounds, totals, strict=True)):
            row = book.identity | {"round": number, "n_events": book.rounds[0].candidates, "candidates": one.candidates}
            row |= {"failed_exact": one.failed_exact, "failed_model": one.failed_llm}
            row |= {"accepted": one.accepted, "accepted_so_far": so_far}
            yield row | {f"{_CHECK}{check}": n for check, n in one.failed_checks.items()}


def _reported_rounds(row: ReportedRow) -> Iterator[Record]:
    """The rounds that the paper reports, which says nothing of single checks."""
    before: float | None = 0
    for number in takewhile(lambda number: f"{number}.candidates" in row.scores, count()):
        given = {name: row.scores.get(f"{number}.{name}") for name in _ROUND}
        so_far = given["accepted_so_far"]
        accepted = None if so_far is None or before is None else so_far - before
        about = identity_of(row) | {"round": number, "n_events": row.scores["0.candidates"]}
        yield {**about, **given, "accepted": accepted}
        before = so_far


def _commonest(row: Row) -> str:
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


def _properties(books: Books) -> Iterator[Record]:
    """The counts of each book, named as in rows of the paper, such as `style.comedy`."""
    for book in books:
        values = [(chapter.n_paragraphs, chapter.style, len(chapter.secondary)) for chapter in book.chapters]
        named = Counter(f"{what}.{value}" for of in values for what, value in zip(PROPERTIES, of, strict=True))
        yield {**book.identity, "heading": book.marked, **named}


def _reported_properties(row: ReportedRow) -> Iterator[Record]:
    if named := {name: n for name, n in row.scores.items() if name.partition(".")[0] in PROPERTIES}:
        yield {**identity_of(row), "heading": marked(f"{row.dataset} by {row.model}", "reported"), **named}


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
    own=_properties,
    given=_reported_properties,
    notes=lambda _: ["A secondary entity is a side character with a full name that occurs in one chapter only."],
    arranged=_side_by_side,
    across="heading",
    sections="property",
)

MOST_BOOKS = 4  # in one part of the figure, side by side; more of them take more parts
FACT_NAMES = {"location": "space", "date": "time", "entity": "entity", "content": "detail"}


def positions_figures(books: Sequence[PaperBook]) -> list[Made]:
    """Figure 5, in parts of four books; one with a chapter that does not tell a fact word for word is left out, with a note."""
    title = "Positions of the facts relative to the book, the chapter and the paragraph"
    faults = [(book, _untold(book.chapters)) for book in books]
    notes = [f"{book.marked} is left out: {fault}." for book, fault in faults if fault]
    shown = [book for book, fault in faults if not fault]
    needs = f"a book that tells every fact word for word {' '.join(notes)}".strip()
    parts = {f"part {n // MOST_BOOKS + 1}": shown[n : n + MOST_BOOKS] for n in range(0, len(shown), MOST_BOOKS)}
    return for_each("Figure 5", title, needs, parts, lambda name, _, part: _positions(name, title, part, notes))


def _untold(chapters: Sequence[Chapter]) -> str:
    """What the first chapter lacks that does not tell a fact word for word; "" if all do."""
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
        summed.append({**about, "n": len(places), **{f"q{q}": float(np.quantile(places, q)) for q in QUANTILES}})
        numbered = zip(book.chapters, places, strict=True)
        points += [{**about, "chapter": chapter.number, "position": place} for chapter, place in numbered]
    shown: Shown = {"relative to": "span", "fact": "fact", "chapters": "n"}
    columns = [BOOK, *columns_of(shown | {f"{q:.0%} quantile": f"q{q}" for q in QUANTILES}, 2)]
    about_positions = (
        "A position is the middle of the first occurrence, in any case, divided by the length in characters: 0 is the "
        "beginning of the book, chapter or paragraph, 1 its end. The figure shows the share of chapters that have told a "
        "fact by a position; the grey line is that of facts that are spread evenly."
    )
    plot, notes = partial(_draw_positions, drawn), [about_positions, *notes]
    return Exhibit(name, title, framed(summed), columns, notes, plot, sections="label", points=framed(points))


def _draw_positions(books: Mapping[str, Positions]) -> Figure:
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


_TITLE_6 = "The path of one person through the book"
MOST_STOPS = 24  # in a path unless a person is chosen by name; more cannot be told apart on the map


def path_figures(books: Sequence[PaperBook], entity: str | None = None) -> list[Made]:
    """Figure 6 for every book with the person, else BadInput; by default for the first with the most events, to `MOST_STOPS`."""
    found = {book.marked: book for book in books if entity in (None, *(one.event.entity for one in book.chapters))}
    if books and not found:
        raise BadInput(f"entity {entity!r}: expected a main character of one of the books, found none of this name")
    return for_each("Figure 6", _TITLE_6, "a book whose spaces have coordinates", found, partial(_path, entity))


def _path(entity: str | None, name: str, _: str, book: PaperBook) -> Made:
    counts = Counter(chapter.event.entity for chapter in book.chapters)
    few = [name for name, n in counts.items() if n <= MOST_STOPS] or [min(counts, key=counts.__getitem__)]
    person = entity or max(few, key=counts.__getitem__)
    told = [chapter for chapter in book.chapters if chapter.event.entity == person]
    records: list[Record] = []
    for number, chapter in enumerate(sorted(told, key=lambda chapter: chapter.event.time), 1):
        event, (south, west) = chapter.event, book.coordinates.get(chapter.event.space, (None, None))
        row = book.identity | {"entity": person, "stop": number, "chapter": chapter.number}
        row |= {"date": event.time.isoformat(), "space": event.space, "content": event.content, "detail": event.detail}
        records.append(row | {"latitude": south, "longitude": west})
    if not any(map(_point, records)):
        whose = f"the universe {book.universe}" if book.universe else "its universe"
        needs = f"coordinates of the spaces of {book.marked}: {whose} has none that are known here"
        return Missing(name, _TITLE_6, needs)
    unknown = ", ".join(sorted({str(stop["space"]) for stop in records if not _point(stop)}))
    notes = [f"The path of {person} in {book.marked}, in the order of the dates; chapters are in another order."]
    notes += [f"Not on the map, since their coordinates are unknown: {unknown}."] if unknown else []
    shown: Shown = {name: name for name in ("stop", "date", "space", "content")}
    shown["latitude, longitude"] = lambda stop: "{:.3f}, {:.3f}".format(*p) if (p := _point(stop)) else "–"
    columns, title = columns_of(shown | {"chapter": "chapter"}, 5), f"{_TITLE_6}: {person} in {book.marked}"
    return Exhibit(name, title, framed(records), columns, notes, partial(_draw_path, book, person, records))


def _point(stop: Row) -> Point | None:
    return None if stop["latitude"] is None else (stop["latitude"], stop["longitude"])


_LAND, _SHORE, _OTHERS, _PATH = "#eef0ea", "#b9beb2", "#c9ccd1", colour_of(3)
# In inches: the width of the map and of the list beside it, the margin for ticks and titles, the height of a line of the list,
# the width of a character of a label, and the height of a label.
_WIDTH, _BESIDE, _EDGE, _LINE, _CHARACTER, _TALL = 6.4, 4.2, 0.75, 0.145, 0.075, 0.17


def _draw_path(book: PaperBook, person: str, stops: Sequence[Row]) -> Figure:
    """The city, widened to hold all stops, or a rectangle around spaces elsewhere; the list of the stops stands beside it."""
    from matplotlib.figure import Figure

    placed = [chapter.event for chapter in book.chapters if chapter.event.space in book.coordinates]
    known = sorted({book.coordinates[event.space] for event in placed})
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
    return [west for _, west in points], [south for south, _ in points]


def _number(axes: Axes, stops: Sequence[Row]) -> None:
    """Write the numbers of the stops at each space of the path, beside one another where spaces are close."""
    taken: list[tuple[float, float, float]] = []  # the middle of each label, and half of its width, in inches

    def is_free(x: float, y: float, half: float) -> bool:
        return all(abs(x - other) > half + width or abs(y - height) > _TALL for other, height, width in taken)

    placed = (stop for stop in stops if _point(stop))
    for (south, west), here in grouped(placed, "latitude", "longitude").items():
        text = ", ".join(str(stop["stop"]) for stop in here)
        half = (len(text) * _CHARACTER + 0.12) / 2
        x, y = axes.transData.transform((west, south)) / axes.figure.dpi
        across, up = next(shift for shift in _shifts(half) if is_free(x + shift[0], y + shift[1], half))
        taken.append((x + across, y + up, half))
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _PATH, "linewidth": 0.8}
        look: dict[str, Any] = {"fontsize": 7, "zorder": 5, "ha": "center", "va": "center", "bbox": box}
        arrow = {"arrowstyle": "-", "color": _PATH, "linewidth": 0.6}
        at = across * 72, up * 72
        axes.annotate(text, (west, south), at, textcoords="offset points", arrowprops=arrow, **look)


def _shifts(half: float) -> Iterator[tuple[float, float]]:
    """Where a label may be, in inches from its point: around it, then ever farther away."""
    for distance in count(0.2, 0.1):
        for angle in (math.pi / 4 * eighth for eighth in range(1, 9)):
            yield math.cos(angle) * (distance + half), math.sin(angle) * distance
