"""The path of one person through a book, as a table and on the map (Figure 6)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.safe_text import printable
from epbench.reports.exhibit import Column, Exhibit, Missing, Row
from epbench.reports.figures import INK, colour_of
from epbench.statistics.estimate import framed
from epbench.tulving.events.new_york import CITY, Point, boroughs, in_city
from epbench.tulving.paper.books import PaperBook, Record
from epbench.tulving.paper.rows import texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Figure 6: the path of one person

_TITLE_6 = "The path of one person through the book"
MOST_STOPS = 24
"""The longest path that is shown unless a person is chosen by name; more stops cannot be told apart on the map."""


def path_figures(books: Sequence[PaperBook], entity: str | None = None) -> list[Exhibit | Missing]:
    """Return Figure 6 for every book whose spaces have coordinates, and what is missing for the others.

    It shows the path of the person, and BadInput says that no book tells of them; by default, in each book, of the first
    one with the most events, up to `MOST_STOPS`.
    """
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


def _path(name: str, book: PaperBook, person: str) -> Exhibit | Missing:
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

    def coordinates(stop: Row) -> str:
        point = _point(stop)
        return "–" if point is None else f"{point[0]:.3f}, {point[1]:.3f}"

    where = Column("latitude, longitude", coordinates, text=True), Column("chapter", "chapter")
    columns = [*texts("stop", "date", "space", "content"), *where]
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
    others: dict[str, list[Point]] = {}
    for event in sorted((chapter.event for chapter in book.chapters), key=lambda event: event.time):
        if (point := book.coordinates.get(event.space)) and event.entity != person:
            others.setdefault(event.entity, []).append(point)
    for points in others.values():
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
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _PATH, "linewidth": 0.8}
        look: dict[str, Any] = {"fontsize": 7, "zorder": 5, "ha": "center", "va": "center", "bbox": box}
        arrow = {"arrowstyle": "-", "color": _PATH, "linewidth": 0.6}
        place = across * 72, up * 72
        axes.annotate(text, (west, south), place, textcoords="offset points", arrowprops=arrow, **look)


def _shifts(half: float) -> Iterator[tuple[float, float]]:
    """Where a label may be, in inches from its point: around it, then ever farther away."""
    distance = 0.2
    while True:
        for eighth in range(1, 9):
            angle = math.pi / 4 * eighth
            yield math.cos(angle) * (distance + half), math.sin(angle) * distance
        distance += 0.1


def _free(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - other) > half + width or abs(y - height) > _TALL for other, height, width in taken)
