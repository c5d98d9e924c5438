"""A set in its published form: CSV files by combination of lengths, with asterisks around segments and excerpts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

SEGMENTS = (
    "book_idx", "excerpt_idx", "segment_idx", "segment_1", "segment_2", "seg1_pos", "seg2_pos", "distance_bin",
    "present_seg1_first",
)  # fmt: skip
EXCERPTS = ("book_idx", "excerpt_idx", "excerpt_pos", "excerpt_text")

Rows = Iterable[Mapping[str, Any]]


def write_segments(folder: Path, excerpt: int, segment: int, rows: Rows) -> None:
    """Write the pairs of one combination of lengths."""
    table = pd.DataFrame(rows, columns=[*SEGMENTS])
    marked = {name: "*" + table[name] + "*" for name in ("segment_1", "segment_2")}
    table.assign(**marked).to_csv(folder / f"segments_{excerpt}-s{segment}-n110.csv")


def write_excerpts(folder: Path, excerpt: int, segment: int, rows: Rows) -> None:
    """Write the excerpts of these pairs, each once."""
    table = pd.DataFrame(rows, columns=[*EXCERPTS]).drop_duplicates(["book_idx", "excerpt_idx"], ignore_index=True)
    table["excerpt_text"] = "*" + table["excerpt_text"] + "*\n\n"
    table.to_csv(folder / f"excerpts_{excerpt}-s{segment}-n110.csv")
