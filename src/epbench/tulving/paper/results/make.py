"""Every table and figure of the paper that is about answers, in the order of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from epbench.exhibits.exhibit import Exhibit, Missing, slug
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results import (
    books_compared,
    chunks,
    cues,
    estimation,
    heat_map,
    order,
    ranks,
    recall,
    traces,
)
from epbench.tulving.paper.results.realism import Ratings, realism_tables


def exhibits(inputs: Inputs, realism: Ratings | None = None) -> list[Exhibit | Missing]:
    """Make the tables and figures.

    Args:
        inputs: The runs and the reported rows.
        realism: How realistic the event of each chapter is, by the fingerprint of the book; None if nobody has
            said so.
    """
    lines = lines_of(inputs)
    return _with_own_files([
        *ranks.long_ranks(lines),  # Figure 3
        *recall.long_recall(lines),  # Table 3
        *heat_map.heat_maps(lines),  # Figure 4
        *order.order_tables(lines),  # Table 4
        *ranks.short_ranks(lines),  # Figure 7
        *recall.short_recall(lines),  # Table 13
        *chunks.chunk_tables(lines),  # Table 14
        *cues.by_number_of_items(lines),  # Table 15
        *cues.by_cue_long(lines),  # Table 16
        *cues.by_cue_short(lines),  # Table 17
        *traces.by_trace(lines),  # Table 18
        *traces.by_cue_and_trace(lines),  # Table 19
        *books_compared.books_by_writer(lines),  # Tables 20 and 21
        *books_compared.books_by_order(lines),  # Tables 22 and 23
        *realism_tables(lines, realism),  # Tables 24 and 25
        *estimation.estimation_plots(lines),  # Figure 8
        *recall.diverse_books(lines),  # Table 27
    ])  # fmt: skip


def _with_own_files(made: Sequence[Exhibit | Missing]) -> list[Exhibit | Missing]:
    """Number exhibits whose names would make one file name, such as those of books `a b` and `a-b`."""
    seen: Counter[str] = Counter()
    found: list[Exhibit | Missing] = []
    for one in made:
        name = slug(one.name)
        seen[name] += 1
        found.append(replace(one, name=f"{one.name}, {seen[name]}") if seen[name] > 1 else one)
    return found
