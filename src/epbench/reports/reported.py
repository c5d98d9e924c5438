"""Numbers that a paper reports, from a JSON file that names the source of each group of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.typed import Interval, Number, Whole, fields, typed

_TABLE: Any = fields({"source": str, "table": str, "rows": list[dict[str, Any]]})
_FILE = fields({"benchmark": str, "tables": list[_TABLE]})


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """The numbers of one model in one table of a paper."""

    source: str  # the paper, such as "Huet et al., ICLR 2025"
    table: str  # the table or the figure, such as "Table 3"
    dataset: str  # what was read, in the words of this package, such as "long"
    model: str  # who answered
    memory: str  # with which memory, in the words of this package, such as "in-context"
    scores: Mapping[str, Number]  # the numbers by name; names are those of scores.json, such as "f1_by_bin.2"
    deviations: Mapping[str, Number] = field(default_factory=dict)  # the standard deviation of each score that has one
    counts: Mapping[str, Whole] = field(default_factory=dict)  # the number of questions of each score that has one
    intervals: Mapping[str, Interval] = field(default_factory=dict)  # the 95 % interval of each score that has one
    note: str = ""  # a sentence about the row; empty for none


def read_reported(path: Path, benchmark: str) -> list[ReportedRow]:
    """Read a file of reported numbers.

    It is a JSON object: `benchmark`, which is checked, and `tables`, each with `source`, `table` and `rows`. A row has
    dataset, model, memory and scores, and may have deviations, counts, intervals and a note; see `ReportedRow`. BadInput if
    the file cannot be read, has other fields, or is about another benchmark.
    """
    content = read_json(path, _FILE)
    if content["benchmark"] != benchmark:
        raise BadInput(f"{path}: expected reported numbers of {benchmark}, found those of {content['benchmark']!r}")
    return [
        typed(f"{path}, table {table['table']!r}, row {number}", row | about, ReportedRow)
        for table in content["tables"]
        for about in [{"source": table["source"], "table": table["table"]}]
        for number, row in enumerate(table["rows"])
    ]


def sources(rows: Sequence[ReportedRow]) -> list[str]:
    """A note that says where reported rows come from, and what is said of a single one; none without rows."""
    named = dict.fromkeys(f"{row.source}, {row.table}" for row in rows)
    said = f" {rows[0].note.rstrip('.')}." if len(rows) == 1 and rows[0].note else ""
    return [f"Rows marked (reported): {'; '.join(named)}.{said}"] if rows else []
