"""How a book was written: `writing.json`, `positions.svg` and a table (paper: Tables 7 and 8, Figure 5)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from epbench.reports.figures import COLOURS, drawing, svg
from epbench.reports.tables import Table
from epbench.tulving.chapters.chapter import Chapter, assemble, event_values
from epbench.tulving.chapters.checks import facts_in_words, split_paragraphs
from epbench.tulving.chapters.loop import Writing
from epbench.tulving.levels.plan import FACTS


def writing_files(writing: Writing, chapters: Sequence[Chapter], seed: int) -> dict[str, str]:
    """Return the texts of writing.json and positions.svg, by name.

    writing.json has writer, seed, what the writer reports (checker, prompt_hash, temperature, max_tokens, tokens), the
    iterations (Table 7), whether they ended early, the dropped events with the checks that their last candidates failed,
    counts of chapters by n_paragraphs, style and side_characters (Table 8), and the positions of the facts (Figure 5).
    """
    positions = fact_positions(chapters)
    content = {
        "writer": writing.writer,
        "seed": seed,
        **writing.about,
        "iterations": [asdict(iteration) for iteration in writing.iterations],
        "ended_early": writing.ended_early,
        "dropped": [
            {"event_number": number, "event": event_values(event), "failed_checks": checks}
            for number, (event, checks) in writing.dropped.items()
        ],
        "chapters": {
            "n_paragraphs": _counts(chapter.n_paragraphs for chapter in chapters),
            "style": _counts(chapter.style for chapter in chapters),
            "side_characters": _counts(len(chapter.secondary) for chapter in chapters),
        },
        "position_quantiles": position_quantiles(positions),
        "positions": {
            span: {fact: [round(place, 4) for place in places] for fact, places in by_fact.items()}
            for span, by_fact in positions.items()
        },
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return {"writing.json": text, "positions.svg": positions_figure(positions)}


def _counts(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def iteration_table(writing: Writing) -> Table:
    """The iterations of the writing, a row for each (Table 7)."""
    head = ["round", "candidates", "failed exact check", "failed LLM check", "accepted", "chapters so far"]
    rows, total = [], 0
    for n, iteration in enumerate(writing.iterations, 1):
        total += iteration.accepted
        numbers = (n, iteration.candidates, iteration.failed_exact, iteration.failed_llm, iteration.accepted, total)
        rows.append([str(value) for value in numbers])
    return Table(head, rows, f"chapters by {writing.writer}", text_columns=0)


SPANS = ("book", "chapter", "paragraph")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

Positions = Mapping[str, Mapping[str, Sequence[float]]]
"""By span and fact, one number for each chapter in the order of the book: 0 is the beginning of the span, 1 its end."""


def fact_positions(chapters: Sequence[Chapter]) -> Positions:
    """Return the middle of the first occurrence of each fact, in any case, relative to the span's length in characters."""
    places: dict[str, dict[str, list[float]]] = {span: {fact: [] for fact in FACTS} for span in SPANS}
    book, end = assemble(chapters).lower(), 0
    for chapter in chapters:
        text = chapter.text.lower()
        begin = book.index(text, end)
        end = begin + len(text)
        wording = chapter.told or facts_in_words(chapter.event)
        for fact in FACTS:
            words = wording[fact].lower()
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
