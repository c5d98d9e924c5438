"""How a book was written: `writing.json`, `positions.svg` and a table (paper: Tables 7 and 8, Figure 5)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from epbench.reports.tables import Table
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import Writing
from epbench.tulving.chapters.positions import fact_positions, position_quantiles, positions_figure
from epbench.tulving.events.events import Event


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


def event_values(event: Event) -> dict[str, str]:
    """Return the parts of an event under the names that the config `chapters` gives them."""
    return {
        "date": event.time.isoformat(),
        "location": event.space,
        "entity": event.entity,
        "content": event.content,
        "detail": event.detail,
    }


def _counts(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def iteration_table(writing: Writing) -> Table:
    """The iterations of the writing, a row for each (Table 7)."""
    head = ["round", "candidates", "failed exact check", "failed LLM check", "accepted", "chapters so far"]
    rows, total = [], 0
    for number, one in enumerate(writing.iterations, 1):
        total += one.accepted
        numbers = (number, one.candidates, one.failed_exact, one.failed_llm, one.accepted, total)
        rows.append([str(value) for value in numbers])
    return Table(head, rows, f"chapters by {writing.writer}", text_columns=0)
