"""Events: (time, space, entity, content, detail), drawn so that cues match none, one, few or many of them.

Paper: Appendix B.1.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from epbench.draws import UnitStream
from epbench.errors import BadInput
from epbench.tulving.events.dates import in_words
from epbench.tulving.events.universe import Universe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Distribution = Literal["geometric", "uniform"]

MOST_CANDIDATES = 40_000_000
"""Where so many draws do not give the events, the universe is taken to be too small for them (about ten seconds)."""

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Event:
    """What one chapter tells: when, where, who, at what, and what they did there."""

    time: date
    space: str
    entity: str
    content: str
    detail: str

    @property
    def day(self) -> str:
        """The date as the book writes it."""
        return in_words(self.time)

    @property
    def first_name(self) -> str:
        return self.entity.split()[0]

    @property
    def deed(self) -> str:
        """The detail as it stands in a sentence: `demonstrated a backflip`."""
        return self.detail[0].lower() + self.detail[1:]


def draw_events(
    universe: Universe, n: int, *, seed: int = 0, distribution: Distribution = "geometric", p: float | None = None
) -> list[Event]:
    """Draw n events with no two sharing (time, entity) or (time, space).

    Each element is drawn on its own from the truncated geometric law P(i) ∝ (1-p)^i, or uniformly; a candidate
    that repeats a pair is dropped and occupies nothing. The first n of any longer run are these n.

    Args:
        universe: where the elements come from.
        n: number of events, at least 1.
        seed: the same seed gives the same events on any machine.
        distribution: `geometric` as in the paper, or `uniform`.
        p: parameter of the geometric law in (0, 1); by default 10 / size, which is the paper's 0.1 at 100.

    Raises:
        BadInput: n < 1, p outside (0, 1), or more events than the universe can hold.
    """
    size = universe.size
    if n < 1:
        raise BadInput(f"{n} events asked for, at least 1 expected")
    if n > size * size:
        raise BadInput(
            f"{n} events cannot be had from a universe of {size}: it has only {size * size} pairs of time and place; "
            f"ask for fewer events or for a larger universe"
        )
    bounds = _cumulative(size, distribution, min(0.5, 10 / size) if p is None else p)
    stream = UnitStream("events", universe.name, size, seed, distribution, p)
    accepted = _accept(stream, bounds, size, n)
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
    """Go through the candidates in order; look at one by one only those whose pairs were free before their block."""
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
        f"a universe of {size} holds {len(accepted)} of the {n} events asked for after {seen:,} draws; "
        f"ask for fewer events or for a larger universe"
    )


def _cumulative(size: int, distribution: Distribution, p: float) -> NDArray[np.float64]:
    """Upper bounds of the first size-1 items in [0, 1).

    By repeated multiplication, not by powers: products and sums are rounded alike on all machines.
    """
    import numpy as np

    if distribution == "uniform":
        weights = [1.0] * size
    elif distribution != "geometric":
        raise BadInput(f"unknown distribution {distribution!r}; expected geometric or uniform")
    elif not 0 < p < 1:
        raise BadInput(f"p = {p} for the geometric law, a number between 0 and 1 expected")
    else:
        weights = list(accumulate([1.0] * size, lambda weight, _: weight * (1 - p)))
    total = list(accumulate(weights))
    return np.array([bound / total[-1] for bound in total[:-1]])
