"""A set in its published form: CSV files by combination of lengths, with asterisks around segments and excerpts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SEGMENTS = (
    "book_idx", "excerpt_idx", "segment_idx", "segment_1", "segment_2", "seg1_pos", "seg2_pos", "distance_bin",
    "present_seg1_first",
)  # fmt: skip
EXCERPTS = ("book_idx", "excerpt_idx", "excerpt_pos", "excerpt_text")

Rows = Iterable[Mapping[str, Any]]


def write_segments(folder: Path, excerpt: int, segment: int, rows: Rows) -> None:
    """Write the pairs of one combination of lengths."""
    marked = (row | {f"segment_{i}": f"*{row[f'segment_{i}']}*" for i in (1, 2)} for row in map(dict, rows))
    _write(folder / f"segments_{excerpt}-s{segment}-n110.csv", SEGMENTS, marked)


def write_excerpts(folder: Path, excerpt: int, segment: int, rows: Rows) -> None:
    """Write the excerpts of these pairs, each once."""
    unique = {(row["book_idx"], row["excerpt_idx"]): row for row in rows}
    marked = (dict(row) | {"excerpt_text": f"*{row['excerpt_text']}*\n\n"} for row in unique.values())
    _write(folder / f"excerpts_{excerpt}-s{segment}-n110.csv", EXCERPTS, marked)


def _write(path: Path, names: Iterable[str], rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", *names])  # the index of a data frame has no name
        writer.writerows([number, *(row[name] for name in names)] for number, row in enumerate(rows))
