"""Where the bins of distances end, for each length of excerpts (Appendix B.2, Table 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from epbench.booksort.dataset.load import config_names
from epbench.booksort.pairs.bins import EXCERPT_WORDS, SEGMENT_WORDS, distance_bins
from epbench.exhibits.exhibit import Exhibit, Value
from epbench.reports.tables import Table

NAME, TITLE = "Table 4", "The longest distance of each bin, in words from start to start"
SOURCE = "Pink et al., 2024, Table 4"
_PRINTED = (
    ("L_E ≤ 2,500", ("L_S", "L_E/4", "L_E/3", "L_E/2", "L_E/0.8")),
    ("L_E ≥ 10,000", ("L_S", "1000", "L_E/4", "L_E/2", "L_E/0.8")),
)


def table_4(datasets: Sequence[str]) -> Exhibit:
    """The bins as the paper prints them, and their ends in words.

    Args:
        datasets: Sets whose lengths are listed besides those of the paper.
    """
    lengths = {(excerpt, segment) for excerpt in EXCERPT_WORDS for segment in SEGMENT_WORDS}
    for name in datasets:
        found = (re.fullmatch(r"e(\d+)_s(\d+)", config) for config in config_names(name))
        lengths |= {(int(match[1]), int(match[2])) for match in found if match}
    records = _printed()
    rows = [[f"{which} (reported)", "", *edges] for which, edges in _PRINTED]
    for excerpt, segment in sorted(lengths):
        bins = distance_bins(excerpt, segment)
        records += [_record("own", excerpt, segment, i, one.least, one.most, "") for i, one in enumerate(bins)]
        rows.append([f"{excerpt:,}", str(segment), str(bins[0].least), *(f"{one.most:,}" for one in bins)])
    notes = [
        f"L_E: words of an excerpt; L_S: words of a segment. Reported: {SOURCE}. It prints the last end as L_E/0.8, which "
        "is longer than the excerpt; the published pairs end at 0.8 L_E, as the rows in words do.",
        "A distance on an end belongs to the bin that ends there.",
    ]
    head = ["excerpt", "segment", "least", "bin 0", "bin 1", "bin 2", "bin 3"]
    return Exhibit(NAME, TITLE, records, Table(head, rows, notes=notes))


def _printed() -> list[dict[str, Value]]:
    return [
        _record("reported", None, None, number, None, None, f"{which}: {edge}")
        for which, (_, *edges) in _PRINTED
        for number, edge in enumerate(edges)
    ]


def _record(
    source: str, excerpt: int | None, segment: int | None, number: int, least: int | None, most: int | None, rule: str
) -> dict[str, Value]:
    lengths: dict[str, Value] = {"source": source, "excerpt_length": excerpt, "segment_length": segment}
    return lengths | {"bin": number, "least": least, "most": most, "rule": rule or None}
