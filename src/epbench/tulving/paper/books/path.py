"""Figure 6: the path of one person through a book, on the map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.new_york import Point
from epbench.tulving.paper.books.book import PaperBook, identity_of, originals
from epbench.tulving.paper.books.map_drawing import draw_path

_TITLE = "The path of one person through the book"
MOST_STOPS = 24
"""The longest path that is shown unless a person is chosen by name; more stops cannot be told apart on the map."""


@dataclass(frozen=True)
class Stop:
    """An event on the path.

    Attributes:
        number: Its position in the order of time, from 1.
        chapter: The chapter that tells it.
        point: Where its space is; None if that is unknown.
    """

    number: int
    chapter: Chapter
    point: Point | None


def path_figures(books: Sequence[PaperBook], entity: str | None = None) -> list[Exhibit | Missing]:
    """Return Figure 6 for every book whose spaces have coordinates, and what is missing for the others.

    Args:
        books: The books; one that orders the chapters of another by date is left out.
        entity: Whose path is shown; books that do not tell of this person are left out. None for the person with the most
            events in a book, up to `MOST_STOPS`; of several the first one.

    Raises:
        BadInput: No book tells of this person.
    """
    shown = originals(books)
    if entity is not None:
        shown = [book for book in shown if any(chapter.event.entity == entity for chapter in book.chapters)]
        if not shown:
            raise BadInput(f"entity {entity!r}: expected a main character of one of the books, found none of this name")
    if not shown:
        return [Missing("Figure 6", _TITLE, "a book whose spaces have coordinates")]
    alone = len(shown) == 1
    return [_figure("Figure 6" if alone else f"Figure 6, {book.marked}", book, entity) for book in shown]


def path_of(book: PaperBook, entity: str | None = None) -> tuple[str, list[Stop]]:
    """Return a person and the stops of their path, in the order of time; see `path_figures`."""
    if entity is None:
        counts = Counter(chapter.event.entity for chapter in book.chapters)
        shown = [name for name, n in counts.items() if n <= MOST_STOPS] or [min(counts, key=counts.__getitem__)]
        entity = max(shown, key=counts.__getitem__)
    told = [chapter for chapter in book.chapters if chapter.event.entity == entity]
    told.sort(key=lambda chapter: chapter.event.time)
    stops = [Stop(number, chapter, book.coordinates.get(chapter.event.space)) for number, chapter in enumerate(told, 1)]
    return entity, stops


def _figure(name: str, book: PaperBook, entity: str | None) -> Exhibit | Missing:
    person, stops = path_of(book, entity)
    if not any(stop.point for stop in stops):
        needs = f"coordinates of the spaces of {book.marked}"
        whose = f"the universe {book.universe}" if book.universe else "its universe"
        return Missing(name, _TITLE, f"{needs}: {whose} has none that are known here")
    records: list[dict[str, Value]] = []
    rows = []
    for stop in stops:
        event, (south, west) = stop.chapter.event, stop.point or (None, None)
        records.append(
            {**identity_of(book), "entity": person, "stop": stop.number, "chapter": stop.chapter.number}
            | {"date": event.time.isoformat(), "space": event.space, "content": event.content, "detail": event.detail}
            | {"latitude": south, "longitude": west}
        )
        where = f"{south:.3f}, {west:.3f}" if stop.point else "–"
        rows.append([str(stop.number), event.day, event.space, event.content, where, str(stop.chapter.number)])
    notes = [f"The path of {person} in {book.marked}, in the order of the dates; chapters are in another order."]
    unknown = sorted({stop.chapter.event.space for stop in stops if not stop.point})
    notes += [f"Not on the map, since their coordinates are unknown: {', '.join(unknown)}."] if unknown else []
    head = ["stop", "date", "space", "content", "latitude, longitude", "chapter"]
    table = Table(head, rows, notes=notes, text_columns=5)
    return Exhibit(name, f"{_TITLE}: {person} in {book.marked}", records, table, lambda: draw_path(book, person, stops))
