"""Numbers that a paper reports, from a JSON file that names the source of each group of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.shapes import NUMBER, Each, Items, Shape, check

_ROW = Shape(
    {"dataset": (str,), "model": (str,), "memory": (str,), "scores": Each(NUMBER)},
    {"deviations": Each(NUMBER), "counts": Each((int,)), "intervals": Each(Items(NUMBER, 2)), "note": (str,)},
)
_FILE = Shape({"benchmark": (str,), "tables": Items(Shape({"source": (str,), "table": (str,), "rows": Items(_ROW)}))})


@dataclass(frozen=True, slots=True)
class ReportedRow:
    """The numbers of one model in one table of a paper."""

    source: str  # the paper, such as "Huet et al., ICLR 2025"
    table: str  # the table or the figure, such as "Table 3"
    dataset: str  # what was read, in the words of this package, such as "long"
    model: str  # who answered
    memory: str  # with which memory, in the words of this package, such as "in-context"
    scores: Mapping[str, float]  # the numbers by name; names are those of scores.json, such as "f1_by_bin.2"
    deviations: Mapping[str, float]  # the standard deviation of each score that has one, by its name
    counts: Mapping[str, int]  # the number of questions of each score that has one
    intervals: Mapping[str, Sequence[float]]  # the 95 % interval of each score that has one
    note: str = ""  # a sentence about the row; empty for none


def read_reported(path: Path, benchmark: str) -> list[ReportedRow]:
    """Read a file of reported numbers.

    Args:
        path: A JSON object: `benchmark`, and `tables`, each with `source`, `table` and `rows`. A row has dataset, model,
            memory and scores, and may have deviations, counts, intervals and a note; see `ReportedRow`.
        benchmark: Which benchmark's numbers are expected.

    Raises:
        BadInput: The file cannot be read, has other fields, or is about another benchmark.
    """
    content: Any = read_json(path)
    check(str(path), content, _FILE)
    if content["benchmark"] != benchmark:
        raise BadInput(f"{path}: expected reported numbers of {benchmark}, found those of {content['benchmark']!r}")
    return [_row(table, row) for table in content["tables"] for row in table["rows"]]


def _row(table: Mapping[str, Any], row: Mapping[str, Any]) -> ReportedRow:
    more = {name: row.get(name, {}) for name in ("scores", "deviations", "counts", "intervals")}
    about = {name: row[name] for name in ("dataset", "model", "memory")}
    return ReportedRow(table["source"], table["table"], **about, **more, note=row.get("note", ""))
