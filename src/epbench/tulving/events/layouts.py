"""Plans: how a chapter must be built, so that where each fact stands is known (paper: Appendix B.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.draws import RandomStream

MOST_PARAGRAPHS = 10


@dataclass(frozen=True, slots=True)
class Layout:
    """Number of paragraphs (1-10), the paragraph (from 1) that alone holds each fact, and the style."""

    n_paragraphs: int
    space: int
    time: int
    entity: int
    content: int  # of the detail
    style: str


def draw_layouts(n: int, styles: Sequence[str], *, seed: int = 0) -> list[Layout]:
    """Plans of the first n chapters; each depends on its number only, so the first n of any longer run are these."""
    return [_draw_plan(RandomStream("plan", seed, i), sorted(styles)) for i in range(n)]


def _draw_plan(draws: RandomStream, styles: Sequence[str]) -> Layout:
    k = draws.between(1, MOST_PARAGRAPHS)
    return Layout(
        k, draws.between(1, k), draws.between(1, k), draws.between(1, k), draws.between(1, k), draws.pick(styles)
    )
