"""Events (time, space, entity, content, detail), drawn so that a cue may match none, one, a few or many of them.

And layouts: how the chapter of each event must be built, so that the position of each fact is known.

Paper: Appendices B.1.3 and B.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from epbench.draws import RandomStream, UnitStream
from epbench.errors import BadInput
from epbench.tulving.events.dates import in_words
from epbench.tulving.events.universe import Universe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    The first n events of any longer list are the same.

    Raises:
        BadInput: n is below 1, or the universe cannot hold so many events.
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
    accepted = _accept(stream, _cumulative(size, distribution), size, n)
    return [
        Event(
            universe.times[t],
            universe.spaces[s],
            universe.entities[e],
            universe.contents[c],
            (choices := universe.details[universe.contents[c]])[int(unit * len(choices))],
        )
        for t, e, s, c, unit in accepted
    ]


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

    if distribution == "uniform":
        weights = [1.0] * size
    elif distribution != "geometric":
        raise BadInput(f"distribution: expected geometric or uniform, found {distribution!r}")
    else:
        weights = list(accumulate([1.0] * size, lambda weight, _: weight * (1 - min(0.5, 10 / size))))
    total = list(accumulate(weights))
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
