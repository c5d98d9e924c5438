"""questions.parquet of a run: a row for each question, so that anyone's own analysis starts from one line of pandas."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.writing import naming

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

QUESTIONS = "questions.parquet"
_AT_ONCE = 2**16  # rows; a file of fewer has one group of rows


def write_questions(folder: Path, schema: pa.Schema, records: Iterable[Mapping[str, Any]]) -> None:
    """Write questions.parquet of a run, whole or not at all; the same records give the same bytes.

    Args:
        folder: The run's folder.
        schema: The columns with their types. A benchmark says what its columns mean.
        records: A record for each question, in the order of the rows; a missing field is null.

    Raises:
        OSError: The file could not be written; the error names it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / QUESTIONS
    with naming(path), tempfile.TemporaryDirectory(prefix=f".{QUESTIONS}-", suffix=".scratch", dir=folder) as scratch:
        draft = Path(scratch) / QUESTIONS
        with pq.ParquetWriter(draft, schema, compression="zstd") as writer:
            left = map(dict, records)
            piece = list(islice(left, _AT_ONCE))  # all at once, as a table, they need far more memory
            writer.write_table(pa.Table.from_pylist(piece, schema))
            while piece := list(islice(left, _AT_ONCE)):
                writer.write_table(pa.Table.from_pylist(piece, schema))
        draft.replace(path)


def read_questions(folder: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read questions.parquet of a run, or compute it from the journals of a run of an earlier version, which has none.

    Args:
        folder: The run's folder.
        columns: The columns that the file must have; it may have others, which are read as well.

    Raises:
        BadInput: The file is no Parquet file, or lacks a column; or there is none and the journals do not give it.
    """
    import pandas as pd

    path = folder / QUESTIONS
    if not path.is_file():
        return _computed(folder, columns)
    try:
        found = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise BadInput(f"{path}: expected a Parquet file ({error})") from None
    if absent := [column for column in columns if column not in found.columns]:
        raise BadInput(f"{path}: expected a column {absent[0]!r}, found {', '.join(found.columns)}")
    return found


def _computed(folder: Path, columns: Sequence[str]) -> pd.DataFrame:
    from epbench.runs.benchmark import find_benchmark
    from epbench.runs.verification import recompute

    with tempfile.TemporaryDirectory(prefix="epbench-questions-") as scratch:
        again = Path(scratch) / "run"
        try:
            why = "; ".join(check.said for check in recompute(find_benchmark(folder), folder, again) if not check.held)
        except BadInput as error:
            why = str(error)
        if (again / QUESTIONS).is_file():
            return read_questions(again, columns)
    raise BadInput(
        f"{folder} has no {QUESTIONS}; start the run again with the same command, which writes it and asks nothing twice "
        f"({why})"
    )
