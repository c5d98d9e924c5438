"""What passages do: paragraphs or whole chapters, and both beside the whole book (paper: Table 14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.tulving.paper.lines import Line, by_book, runs_among
from epbench.tulving.paper.results.cells import bin_table
from epbench.tulving.paper.results.recall import with_reported_once

_WHOLE, _PARAGRAPHS, _CHAPTERS = "in-context", "rag-paragraph", "rag-chapter"


def chunk_tables(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 14: for each book, the models with at least one kind of passages and the whole book, and all models with both.

    The paper shows the first part for one model on the long book, and the second for all models on the short book.
    """
    first = _part(
        "Table 14, memories", "The whole book, and passages of it: F1 by the number of events that match the cue", lines,
        _with_whole_book, "runs of one model with memory in-context and with rag-paragraph or rag-chapter on the same book",
    )  # fmt: skip
    second = _part(
        "Table 14, chunks", "Paragraphs or chapters as passages: F1 by the number of events that match the cue", lines,
        _with_both_chunks, "runs with memory rag-paragraph and with rag-chapter on the same book",
    )  # fmt: skip
    return [*first, *second]


def _part(
    name: str, title: str, lines: Sequence[Line], chosen: Callable[[Sequence[Line]], list[Line]], needs: str
) -> list[Exhibit | Missing]:
    published = [line for line in lines if line.run is not None or not line.writer]
    found = {book: chosen(with_reported_once(each)) for book, each in by_book(published).items()}
    found = {book: each for book, each in found.items() if runs_among(each)}
    if not found:
        return [Missing(name, title, needs)]
    note = (
        "How many passages a reader saw is noted in run.json of each run; the paper shows 17 chapters or 68 paragraphs of the \
long book, and 3 or 12 of the short one."
    )
    return [
        bin_table(name if len(found) == 1 else f"{name}, {book}", f"{title} ({book})", each, [note])
        for book, each in found.items()
    ]


def _with_whole_book(lines: Sequence[Line]) -> list[Line]:
    """The lines of models that were asked with the whole book and with passages, model by model."""
    known = {(line.source, line.model, line.text) for line in lines if line.memory == _WHOLE}
    known &= {(line.source, line.model, line.text) for line in lines if line.memory in (_PARAGRAPHS, _CHAPTERS)}
    chosen = [
        line
        for line in lines
        if (line.source, line.model, line.text) in known and line.memory in (_WHOLE, _PARAGRAPHS, _CHAPTERS)
    ]
    return sorted(chosen, key=lambda line: (line.source == "reported", line.source, line.model, line.text))


def _with_both_chunks(lines: Sequence[Line]) -> list[Line]:
    """All lines with passages, if there are both kinds among the runs."""
    kinds = {line.memory for line in runs_among(lines)}
    return (
        [line for line in lines if line.memory in (_PARAGRAPHS, _CHAPTERS)] if {_PARAGRAPHS, _CHAPTERS} <= kinds else []
    )
