"""The prompts, and the ways to present passages, that can be chosen from (Appendix C.2 and C.4.2, Tables 6 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.context.prompts import load_prompts
from epbench.exhibits.exhibit import Exhibit, Value
from epbench.reports.tables import Table
from epbench.safe_text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBERS = (
    "The texts are those of this package, in its own words; their numbers are those of the paper, so that a number that it "
    "reports means the same kind of text here."
)
_CHARACTERS = 92  # of a line in the picture


def table_6() -> Exhibit:
    """The prompts: how an excerpt is presented, and the task."""
    prompts = load_prompts().prompts
    records: list[dict[str, Value]] = [
        {"source": "own", "number": n, "reading": one_line(one.reading), "task": one_line(one.task)}
        for n, one in prompts.items()
    ]
    first = next(iter(prompts.values()))
    notes = [
        _NUMBERS,
        f'Before each prompt stands the system message "{first.system}", and the answer begins with "{first.answer_start}" '
        "where a model can be made to continue its answer.",
    ]
    return _exhibit("Table 6", "The prompts: a reading and a task", records, ("reading", "task"), notes)


def table_9() -> Exhibit:
    """The readings that present retrieved passages in place of an excerpt."""
    records: list[dict[str, Value]] = [
        {"source": "own", "number": n, "reading": one_line(text)}
        for n, text in enumerate(load_prompts().passage_readings)
    ]
    return _exhibit("Table 9", "The ways to present retrieved passages", records, ("reading",), [_NUMBERS])


def _exhibit(
    name: str, title: str, records: Sequence[dict[str, Value]], texts: Sequence[str], notes: Sequence[str]
) -> Exhibit:
    rows = [[str(record["number"]), *(str(record[text]) for text in texts)] for record in records]
    table = Table(["no.", *texts], rows, notes=notes, text_columns=1 + len(texts))
    return Exhibit(name, title, records, table, lambda: _draw(rows, ["no.", *texts]))


def _draw(rows: Sequence[Sequence[str]], head: Sequence[str]) -> Figure:
    """The texts in lines of some words, as a table of long texts would be wider than any page."""
    import textwrap

    from matplotlib.figure import Figure

    lines: list[tuple[str, str]] = []
    for number, *texts in rows:
        for title, text in zip(head[1:], texts, strict=True):
            wrapped = textwrap.wrap(f"{title}: {text}" if len(texts) > 1 else text, _CHARACTERS)
            lines += [(number if i == 0 and title == head[1] else "", line) for i, line in enumerate(wrapped)]
    figure = Figure(figsize=(7.6, 0.17 * len(lines) + 0.2))
    for place, (number, line) in enumerate(lines, 1):
        y = 1 - place / (len(lines) + 1)
        figure.text(0.04, y, number, fontsize=8.5, ha="right", va="center", weight="bold")
        figure.text(0.06, y, line, fontsize=8.5, va="center")
    return figure
