"""Layouts: how each chapter must be built, so that the position of each fact is known (paper: Appendix B.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.draws import RandomStream

MOST_PARAGRAPHS = 10


@dataclass(frozen=True, slots=True)
class Layout:
    """How one chapter must be built.

    Attributes:
        n_paragraphs: The number of paragraphs, 1 to 10.
        space: The paragraph, from 1, that alone names the location.
        time: The paragraph that alone names the date.
        entity: The paragraph that alone has the full name.
        content: The paragraph that alone tells the detail.
        style: The style of the chapter, one of the universe's.
    """

    n_paragraphs: int
    space: int
    time: int
    entity: int
    content: int
    style: str


def draw_layouts(n: int, styles: Sequence[str], *, seed: int = 0) -> list[Layout]:
    """Draw the layouts of the first n chapters.

    Each depends only on its number, so the first n of any longer list are the same.

    Args:
        n: The number of chapters.
        styles: The styles to draw from, in any order.
        seed: The same seed gives the same layouts on any machine.
    """
    return [_draw_layout(RandomStream("plan", seed, i), sorted(styles)) for i in range(n)]


def _draw_layout(draws: RandomStream, styles: Sequence[str]) -> Layout:
    k = draws.between(1, MOST_PARAGRAPHS)
    return Layout(
        k, draws.between(1, k), draws.between(1, k), draws.between(1, k), draws.between(1, k), draws.pick(styles)
    )
