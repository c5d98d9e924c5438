"""The position of each fact in the book, in its chapter and in its paragraph (paper: Appendix B.1.12, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epbench.reports.figures import COLOURS, drawing, svg
from epbench.tulving.chapters.chapter import Chapter, assemble
from epbench.tulving.chapters.exact_checks import FACTS, facts_in_words, split_paragraphs

SPANS = ("book", "chapter", "paragraph")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

Positions = Mapping[str, Mapping[str, Sequence[float]]]
"""By span and fact, one number for each chapter in the order of the book: 0 is the beginning of the span, 1 its end."""


def fact_positions(chapters: Sequence[Chapter]) -> Positions:
    """Return the middle of the first occurrence of each fact, relative to the span's length in characters.

    Args:
        chapters: A whole book. The words that tell each fact occur in its chapter, in any case.
    """
    places: dict[str, dict[str, list[float]]] = {span: {fact: [] for fact in FACTS} for span in SPANS}
    book = assemble(chapters).lower()
    end = 0
    for chapter in chapters:
        text = chapter.text.lower()
        begin = book.index(text, end)
        end = begin + len(text)
        told = chapter.told or facts_in_words(chapter.event)
        for fact in FACTS:
            words = told[fact].lower()
            paragraph = next(paragraph for paragraph in split_paragraphs(text) if words in paragraph)
            places["book"][fact].append((begin + _middle(words, text)) / len(book))
            places["chapter"][fact].append(_middle(words, text) / len(text))
            places["paragraph"][fact].append(_middle(words, paragraph) / len(paragraph))
    return places


def _middle(words: str, text: str) -> float:
    return text.index(words) + len(words) / 2


def position_quantiles(positions: Positions) -> dict[str, dict[str, dict[str, float]]]:
    """Return the quantiles of the positions by span, fact and the names `0.1` to `0.9`."""
    import numpy as np

    return {
        span: {
            fact: {str(q): round(float(np.quantile(places, q)), 4) for q in QUANTILES}
            for fact, places in by_fact.items()
        }
        for span, by_fact in positions.items()
    }


def positions_figure(positions: Positions) -> str:
    """Return Figure 5 as an SVG file: for each span, the share of chapters that have told a fact by a position."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(6, 8), layout="constrained")
        for axes, (span, by_fact) in zip(figure.subplots(len(positions), 1), positions.items(), strict=True):
            for colour, (fact, places) in zip(COLOURS, by_fact.items(), strict=False):
                axes.ecdf(places, color=colour, label=fact)
            axes.plot([0, 1], [0, 1], color="#999", linewidth=0.8, linestyle=":")  # spread evenly
            axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"position in the {span}", ylabel="share of chapters")
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        return svg(figure)
