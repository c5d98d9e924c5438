"""questions.parquet of a run: a row for each question, so that anyone's own analysis starts from one line of pandas."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.runs.benchmark import find_benchmark
from epbench.runs.results import QUESTIONS
from epbench.runs.verification import recompute

if TYPE_CHECKING:
    import pandas as pd


def read_questions(folder: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read questions.parquet of a run, or compute it from the journals of a run of an earlier version, which has none.

    Raises:
        BadInput: The file is no Parquet file, or lacks one of the columns; or there is none and the journals do not give
            it.
    """
    path = folder / QUESTIONS
    return _read(path, columns, "to_pandas") if path.is_file() else _computed(folder, columns)


def read_records(folder: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    """Read the rows of questions.parquet as records, with None for null; none for a run of an earlier version without it.

    Raises:
        BadInput: As in `read_questions`.
    """
    path = folder / QUESTIONS
    return _read(path, columns, "to_pylist") if path.is_file() else []


def _read(path: Path, columns: Iterable[str], form: str) -> Any:
    """The rows in a form to which a table of Arrow can be turned."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        rows = getattr(table, form)()
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise BadInput(f"{path}: expected a Parquet file ({error})") from None
    if absent := [column for column in columns if column not in table.column_names]:
        raise BadInput(f"{path}: expected a column {absent[0]!r}, found {', '.join(table.column_names)}")
    return rows


def _computed(folder: Path, columns: Iterable[str]) -> pd.DataFrame:
    with tempfile.TemporaryDirectory(prefix="epbench-questions-") as scratch:
        recomputed = Path(scratch) / "run"
        try:
            checks = recompute(find_benchmark(folder), folder, recomputed)
            why = "; ".join(check.said for check in checks if not check.held)
        except BadInput as error:
            why = str(error)
        if (recomputed / QUESTIONS).is_file():
            return read_questions(recomputed, columns)
    raise BadInput(
        f"{folder} has no {QUESTIONS}; start the run again with the same command, which writes it and asks nothing twice "
        f"({why})"
    )
