"""With retrieved passages: Figure 4, for all questions and where both segments were shown in order (Section 5.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.by_distance import LINES_BY_WORDS, by_words_table, draw_by_words
from epbench.booksort.paper.results.cells import Group, by_words, cells, power_note, width_note, with_memory
from epbench.exhibits.exhibit import Exhibit, Missing

if TYPE_CHECKING:
    import pandas as pd

NEEDS = "at least one run with memory rag"
_TEST = (
    "p: exact binomial test against 0.5, two-sided (with both orders over pairs), by Holm for all bins of a run. "
    "* p < .05, ** p < .01. ±: half of the 95 % interval, by drawing excerpts."
)


def figure_4a(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy with retrieved passages by distance, over all questions."""
    name, title = "Figure 4a", "Accuracy with retrieved passages by distance"
    runs = with_memory(inputs, "rag")
    found = cells(runs, by_words)
    if not found:
        return Missing(name, title, NEEDS)
    orders = {run.label: "the order of the book" if run.identity.get("keep_order") else "similarity" for run in runs}
    how = f"Passages are shown by {'; '.join(f'{label}: {order}' for label, order in orders.items())}."
    notes = [_TEST, LINES_BY_WORDS, how, power_note(found), *width_note(found)]
    return Exhibit(
        name, title, [one.record() for one in found], by_words_table(found, notes), lambda: draw_by_words(found)
    )


def figure_4b(inputs: Inputs) -> Exhibit | Missing:
    """The same over the questions whose segments were both in the passages, in the order of the book."""
    name = "Figure 4b"
    title = "Accuracy with retrieved passages by distance, where both segments were shown in the book's order"
    runs = with_memory(inputs, "rag")
    found = cells(runs, _in_order)
    if not found:
        return Missing(name, title, NEEDS if not runs else "a run with memory rag that found both segments in order")
    shares = {run.label: run.questions["retrieved_order"].fillna(False).astype(bool).mean() for run in runs}
    share = "; ".join(f"{label}: {value:.3f}" for label, value in shares.items())
    notes = [
        _TEST,
        LINES_BY_WORDS,
        f"Share of the questions that this is about: {share}.",
        power_note(found),
        *width_note(found),
    ]
    return Exhibit(
        name, title, [one.record() for one in found], by_words_table(found, notes), lambda: draw_by_words(found)
    )


def _in_order(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    yield from by_words(questions[questions["retrieved_order"] == True])  # noqa: E712
