"""A universe, the finite sets of times, spaces, entities and contents, and the events that are drawn from it.

Paper: Section 4.1, Appendices B.1.1 to B.1.4. The lists are files: ours are in `data/universes/`, and a user's own are
in a folder of the same form; `universe_files` reads and checks both. Events are drawn so that a cue may match none, one, a few or
many of them. A layout says how the chapter of an event must be built, so that the position of each fact is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench.draws import RandomStream, UnitStream
from epbench.errors import BadInput
from epbench.tulving.events.dates import in_words
from epbench.tulving.events.universe_files import (
    NAMES,
    OWN_NAMES,
    UniverseFiles,
    check_names,
    read_universe_files,
    words_in,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PUBLISHED_SIZE = 100
N_SECONDARY = 100_000

_MORE_NAMES = "list more names"


@dataclass(frozen=True)
class Universe:
    """What can happen, when, where and to whom. The order of each list is the order of its probabilities."""

    name: str  # the name of a universe of the package, or of the user's folder
    kind: str  # `novel`, `news` or `scifi`: the tone of its chapters
    times: tuple[date, ...]  # the days on which events happen
    spaces: tuple[str, ...]  # the names of locations
    entities: tuple[str, ...]  # full names of people: first name, blank, last name
    contents: tuple[str, ...]  # the kinds of event
    details: Mapping[str, tuple[str, ...]]  # what a person may do, by content, such as `Demonstrated a backflip`
    styles: Mapping[str, tuple[str, ...]]  # three adjectives for each style of a chapter
    coordinates: Mapping[str, tuple[float, float]]  # latitude and longitude of the real locations, in degrees
    files_hash: str | None  # a hash of the files of a user's own universe; None for one of the package
    folder: Path = field(compare=False)  # where its files are
    listed: Mapping[str, str]  # each location and content as its file has it, without a qualifier

    @property
    def size(self) -> int:
        """The number of times, of spaces, of entities and of contents."""
        return len(self.times)


def load_universe(name: str = "default", size: int = PUBLISHED_SIZE, seed: int = 0) -> Universe:
    """Draw a universe of a size from the lists of a packaged world or of a folder of one's own (see `universe_files`).

    The same seed gives the same one on any machine. If there are fewer listed locations or contents than the size, 100 in the
    paper, each of them gets a qualifier (`Upper`, `Grand`). BadInput if the lists are missing, faulty or too short.
    """
    if size < 1:
        raise BadInput(f"universe size {size}: expected at least 1")
    files = read_universe_files(name)
    draws, settings = RandomStream("universe", files.name, seed), files.settings
    days = [settings["start"] + timedelta(n) for n in range((settings["end"] - settings["start"]).days + 1)]
    kind, folder, qualifiers = "days between start and end", files.folder, settings["qualifiers"]
    times = _take(draws, days, size, kind, f"{folder / 'universe.toml'}", "move start and end apart")
    spaces = _names(draws, list(files.locations), qualifiers["spaces"], size, f"{folder / 'locations.csv'}")
    contents = _names(draws, list(files.details), qualifiers["contents"], size, f"{folder / 'contents.json'}")
    entities = _full_names(draws, files, size)
    if files.hash:  # our own lists are known to be disjoint
        names = [*(full for full, _ in spaces), *(full for full, _ in contents), *entities]
        check_names(names, f"{files.folder}, locations, contents and people")
    return Universe(
        name=files.name,
        kind=settings["kind"],
        times=tuple(times),
        spaces=tuple(full for full, _ in spaces),
        entities=tuple(entities),
        contents=tuple(full for full, _ in contents),
        details={full: files.details[plain] for full, plain in contents},
        styles={style: tuple(adjectives) for style, adjectives in settings["styles"].items()},
        coordinates={full: point for full, plain in spaces if (point := files.locations[plain]) is not None},
        files_hash=files.hash,
        folder=files.folder,
        listed=dict([*spaces, *contents]),
    )


def secondary_names(seed: int = 0, also: Sequence[str] = ()) -> Iterator[str]:
    """Yield 100,000 full names for side characters in random order, none of them a main name (Appendix B.1.8).

    They may have `also` first names of main characters, with other last names.
    """
    first, last = words_in(NAMES / "secondary_first.txt"), words_in(NAMES / "secondary_last.txt")
    first = (*first, *dict.fromkeys(also))
    numbers = RandomStream("secondary names", seed).one_by_one(range(len(first) * len(last)))
    for n in islice(numbers, N_SECONDARY):
        yield f"{first[n // len(last)]} {last[n % len(last)]}"


def as_texts(universe: Universe) -> dict[str, list[str]]:
    """Return the four lists as the books write them, keyed by the letters `t s e c` of cues."""
    return {
        "t": [in_words(day) for day in universe.times],
        "s": list(universe.spaces),
        "e": list(universe.entities),
        "c": list(universe.contents),
    }


def _take(draws: RandomStream, items: Sequence[Any], size: int, kind: str, where: str, remedy: str) -> list[Any]:
    if size > len(items):
        raise BadInput(
            f"a universe of {size} needs {size} {kind}; {where} gives {len(items)}; make the universe smaller, or {remedy}"
        )
    return draws.sample(items, size)


def _names(
    draws: RandomStream, plain: Sequence[str], qualifiers: Sequence[str], size: int, where: str
) -> list[tuple[str, str]]:
    """(full name, listed name) for `size` names; all of them are qualified if the list alone is too short."""
    pairs = [(name, name) for name in plain]
    if size > len(plain):
        pairs = [(f"{word} {name}", name) for word in qualifiers for name in plain]
        where += ", with the qualifiers of universe.toml,"
    taken = _take(draws, pairs, size, "names", where, _MORE_NAMES)
    check_names([full for full, _ in taken], where.removesuffix(","))
    return taken


def _full_names(draws: RandomStream, files: UniverseFiles, size: int) -> list[str]:
    first, last = files.first_names, files.last_names
    own = any((files.folder / name).exists() for name in OWN_NAMES)
    where = f"{files.folder / 'first.txt and last.txt' if own else NAMES}"
    numbers = _take(draws, range(len(first) * len(last)), size, "full names", where, _MORE_NAMES)
    names = [f"{first[n // len(last)]} {last[n % len(last)]}" for n in numbers]
    check_names(names, where)
    return names


Distribution = Literal["geometric", "uniform"]

MOST_CANDIDATES = 40_000_000
"""If so many candidates do not yield the events, the universe counts as too small for them (about ten seconds)."""

_BLOCK = 1 << 16  # candidates


@dataclass(frozen=True, slots=True)
class Event:
    """What one chapter tells."""

    time: date  # the day of the event
    space: str  # the name of the location
    entity: str  # the full name of the main character
    content: str  # the kind of event
    detail: str  # what the main character does there, such as `Demonstrated a backflip`

    @property
    def day(self) -> str:
        """The date as the book writes it."""
        return in_words(self.time)

    @property
    def first_name(self) -> str:
        """The first name of the main character."""
        return self.entity.split()[0]

    @property
    def detail_in_sentence(self) -> str:
        """The detail as part of a sentence: `demonstrated a backflip`."""
        return self.detail[0].lower() + self.detail[1:]


def draw_events(universe: Universe, n: int, *, seed: int = 0, distribution: Distribution = "geometric") -> list[Event]:
    """Draw n events with no two sharing (time, entity) or (time, space); the same seed gives the same ones on any machine.

    Each element is drawn independently from the truncated geometric law P(i) ∝ (1-p)^i, or uniformly; p is 10 / size, which
    is the paper's 0.1 at size 100, and at most 0.5. A candidate that repeats a pair is dropped, and its pairs remain free.
    The first n events of any longer list are the same. BadInput if n is below 1, or the universe cannot hold so many events.
    """
    size = universe.size
    if n < 1:
        raise BadInput(f"expected at least 1 event, found {n}")
    if n > size * size:
        raise BadInput(
            f"{n} events do not fit into a universe of {size}, which has only {size * size} pairs of time and space; "
            f"ask for fewer events or for a larger universe"
        )
    stream = UnitStream("events", universe.name, size, seed, distribution, None)
    events = []
    for t, e, s, c, unit in _accept(stream, _cumulative(size, distribution), size, n):
        content, details = universe.contents[c], universe.details[universe.contents[c]]
        about = universe.times[t], universe.spaces[s], universe.entities[e], content
        events.append(Event(*about, details[int(unit * len(details))]))
    return events


def _accept(
    stream: UnitStream, bounds: NDArray[np.float64], size: int, n: int
) -> list[tuple[int, int, int, int, float]]:
    """Accept candidates in order; only those with pairs that were free before their block are looked at one by one."""
    import numpy as np

    accepted: list[tuple[int, int, int, int, float]] = []
    taken_te = np.zeros((size, size), dtype=bool)
    taken_ts = np.zeros((size, size), dtype=bool)
    seen = 0
    while seen < MOST_CANDIDATES:
        units = stream.take(5 * _BLOCK).reshape(-1, 5)
        seen += _BLOCK
        t, e, s, c = (np.searchsorted(bounds, units[:, k], side="right") for k in range(4))
        for i in np.flatnonzero(~taken_te[t, e] & ~taken_ts[t, s]):
            if not taken_te[t[i], e[i]] and not taken_ts[t[i], s[i]]:
                taken_te[t[i], e[i]] = taken_ts[t[i], s[i]] = True
                accepted.append((int(t[i]), int(e[i]), int(s[i]), int(c[i]), float(units[i, 4])))
                if len(accepted) == n:
                    return accepted
    raise BadInput(
        f"after {seen:,} draws, a universe of {size} holds only {len(accepted)} of {n} events; "
        f"ask for fewer events or for a larger universe"
    )


def _cumulative(size: int, distribution: Distribution) -> NDArray[np.float64]:
    """The upper bounds of the first size-1 items in [0, 1).

    Computed by repeated multiplication, not by powers, because all machines round products and sums in the same way.
    """
    import numpy as np

    ratio = 1.0 if distribution == "uniform" else 1 - min(0.5, 10 / size)
    total = list(accumulate(accumulate([1.0] * size, lambda weight, _: weight * ratio)))
    return np.array([bound / total[-1] for bound in total[:-1]])


MOST_PARAGRAPHS = 10


@dataclass(frozen=True, slots=True)
class Layout:
    """How one chapter must be built."""

    n_paragraphs: int  # the number of paragraphs, 1 to 10
    space: int  # the paragraph, from 1, that alone names the location
    time: int  # the paragraph that alone names the date
    entity: int  # the paragraph that alone has the full name
    content: int  # the paragraph that alone tells the detail
    style: str  # the style of the chapter, one of the universe's


def draw_layouts(n: int, styles: Sequence[str], *, seed: int = 0) -> list[Layout]:
    """Draw the layouts of the first n chapters; each depends only on seed and number, so those of any longer list begin alike."""
    layouts, styles = [], sorted(styles)
    for i in range(n):
        draws = RandomStream("plan", seed, i)
        k = draws.between(1, MOST_PARAGRAPHS)
        space, time, entity, content = (draws.between(1, k) for _ in range(4))
        layouts.append(Layout(k, space, time, entity, content, draws.pick(styles)))
    return layouts
