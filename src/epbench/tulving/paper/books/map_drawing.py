"""The drawing of Figure 6: the city, the spaces of a book, the paths of all its people, and one of them in colour."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from epbench.reports.figures import INK, colour_of
from epbench.safe_text import printable
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.new_york import CITY, Point, boroughs, in_city
from epbench.tulving.paper.books.book import PaperBook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LAND, _SHORE, _OTHERS, _PATH = "#eef0ea", "#b9beb2", "#c9ccd1", colour_of(3)
_WIDTH, _BESIDE, _EDGE = 6.4, 4.2, 0.75
"""Inches: the width of the map, that of the list beside it, and the margin for ticks and titles."""
_LINE = 0.145
"""Inches that a line of the list takes."""
_CHARACTER, _TALL = 0.075, 0.17
"""Inches that a character of a label takes in width, and a label in height."""


class Stop(Protocol):
    """What is drawn of a stop; see `epbench.tulving.paper.books.path.Stop`."""

    @property
    def number(self) -> int:
        """Its position in the order of time, from 1."""
        ...

    @property
    def chapter(self) -> Chapter:
        """The chapter that tells it."""
        ...

    @property
    def point(self) -> Point | None:
        """Where it is; None if that is unknown."""
        ...


@dataclass(frozen=True)
class _Window:
    """The part of the map that is shown, in degrees; a degree to the north is as long as one to the east is on earth."""

    south: float
    north: float
    west: float
    east: float

    @property
    def height(self) -> float:
        """In inches."""
        shrunk = math.cos(math.radians((self.south + self.north) / 2))
        return _WIDTH * (self.north - self.south) / ((self.east - self.west) * max(0.2, shrunk))

    def inches(self, point: Point) -> tuple[float, float]:
        """Where a point is on the map, from its lower left corner."""
        south, west = point
        across, up = (west - self.west) / (self.east - self.west), (south - self.south) / (self.north - self.south)
        return across * _WIDTH, up * self.height


def draw_path(book: PaperBook, person: str, stops: Sequence[Stop]) -> Figure:
    """Draw the map with a list of the stops beside it.

    The map shows the city, widened so far that it holds all stops, or for spaces elsewhere the rectangle around all of
    them, without a coast. Other spaces may lie outside.
    """
    from matplotlib.figure import Figure

    known = {point for chapter in book.chapters if (point := book.coordinates.get(chapter.event.space))}
    path = [stop.point for stop in stops if stop.point]
    window = _window(path, known)
    height = max(window.height, 2 * _LINE * len(stops)) + 2 * _EDGE
    width = _WIDTH + _BESIDE + 2 * _EDGE
    figure = Figure(figsize=(width, height))
    top = height - _EDGE
    axes = figure.add_axes((_EDGE / width, (top - window.height) / height, _WIDTH / width, window.height / height))
    if any(map(in_city, known)):
        _land(axes)
    _other_paths(axes, book, person)
    axes.scatter(*_xy(sorted(known)), s=9, color="#777", zorder=3)
    axes.plot(*_xy(path), color=_PATH, linewidth=1.3, marker="o", markersize=3, zorder=4)
    _numbers(axes, stops, window)
    axes.set(xlim=(window.west, window.east), ylim=(window.south, window.north))
    axes.set(xlabel="longitude", ylabel="latitude", title=printable(f"{person}, {book.marked}"))
    axes.grid(color="#eee", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    _list(figure, stops, (_EDGE + _WIDTH + 0.3) / width, top / height)
    return figure


def _xy(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """Longitudes and latitudes."""
    return [west for _, west in points], [south for south, _ in points]


def _window(path: Sequence[Point], known: set[Point]) -> _Window:
    corners = [*CITY, *path] if any(map(in_city, known)) else sorted(known)
    wests, souths = _xy(corners)
    margin = 0.04 * max(max(souths) - min(souths), max(wests) - min(wests), 0.1)
    return _Window(min(souths) - margin, max(souths) + margin, min(wests) - margin, max(wests) + margin)


def _land(axes: Axes) -> None:
    for polygons in boroughs().values():
        for polygon in polygons:
            axes.fill(*_xy(polygon), facecolor=_LAND, edgecolor=_SHORE, linewidth=0.7, zorder=1)


def _other_paths(axes: Axes, book: PaperBook, person: str) -> None:
    """Thin lines of everybody else, in the order of time."""
    paths: dict[str, list[Point]] = {}
    for chapter in sorted(book.chapters, key=lambda chapter: chapter.event.time):
        if point := book.coordinates.get(chapter.event.space):
            paths.setdefault(chapter.event.entity, []).append(point)
    for entity, points in paths.items():
        if entity != person:
            axes.plot(*_xy(points), color=_OTHERS, linewidth=0.4, zorder=2)


def _numbers(axes: Axes, stops: Sequence[Stop], window: _Window) -> None:
    """The numbers of the stops at each space of the path, beside one another where spaces are close."""
    at: dict[Point, list[int]] = {}
    for stop in stops:
        if stop.point:
            at.setdefault(stop.point, []).append(stop.number)
    taken: list[tuple[float, float, float]] = []  # the middle of each label, and half of its width
    for point, numbers in at.items():
        text = ", ".join(map(str, numbers))
        half = (len(text) * _CHARACTER + 0.12) / 2
        x, y = window.inches(point)
        across, up = next(shift for shift in _shifts(half) if _free(x + shift[0], y + shift[1], half, taken))
        taken.append((x + across, y + up, half))
        axes.annotate(
            text, (point[1], point[0]), (across * 72, up * 72), textcoords="offset points", fontsize=7, zorder=5,
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


def _list(figure: Figure, stops: Sequence[Stop], left: float, top: float) -> None:
    """The stops in words, two lines for each."""
    lines = []
    for stop in stops:
        event = stop.chapter.event
        unknown = "" if stop.point else " (not on the map)"
        lines += [
            f"{stop.number}.  {event.day}: {event.space}{unknown}",
            f"      {event.content}, chapter {stop.chapter.number}",
        ]
    figure.text(left, top, printable("\n".join(lines)), va="top", fontsize=8, color=INK, linespacing=1.25)
