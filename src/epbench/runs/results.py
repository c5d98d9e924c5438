"""The files that a finished run leaves: questions, scores, usage, a table and a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from epbench.files.json_files import write_json
from epbench.files.writing import filling, naming, write_text

if TYPE_CHECKING:
    import pyarrow as pa

Q = TypeVar("Q")

RESULTS = ("scores.json", "usage.json", "table.md", "report.html")
"""The files that every benchmark writes, in the order of writing, after `QUESTIONS`."""

QUESTIONS = "questions.parquet"
"""The table with a row for each question, so that anyone's own analysis starts from one line of pandas."""


@dataclass(frozen=True, slots=True)
class Scored(Generic[Q]):
    """Scored answers to the questions of a dataset.

    Attributes:
        questions: One for each question, in the order of the rows.
        scores: The scores of all of them, with the names and meanings of scores.json in a run's folder, such as
            `simple_recall_score` of a Tulving book, `accuracy` of Book-SORT and `by_k` of MemFail.
    """

    questions: Sequence[Q]
    scores: dict[str, Any]


Columns = Mapping[str, "str | list[Any] | dict[str, Any]"]
"""The columns of questions.parquet with the types of their values: the name of a type of Arrow's, such as `string`; a list of
one type for lists of such values; or the fields of a record with their types."""

_AT_ONCE = 2**16  # rows; a file of fewer has one group of rows


def write_questions(folder: Path, columns: Columns, records: Iterable[Mapping[str, Any]]) -> None:
    """Write questions.parquet of a run, whole or not at all; the same records give the same bytes. A missing field is null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, schema = folder / QUESTIONS, pa.schema([(name, _arrow(kind)) for name, kind in columns.items()])
    with (
        naming(path),
        filling(folder) as draft,
        pq.ParquetWriter(draft / QUESTIONS, schema, compression="zstd") as writer,
    ):
        left = map(dict, records)
        piece = list(islice(left, _AT_ONCE))  # all at once, as a table, they need far more memory
        writer.write_table(pa.Table.from_pylist(piece, schema))
        while piece := list(islice(left, _AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(piece, schema))


def _arrow(kind: Any) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, str):
        return pa.type_for_alias(kind)
    return pa.list_(_arrow(kind[0])) if isinstance(kind, list) else pa.struct([(n, _arrow(k)) for n, k in kind.items()])


def write_results(
    folder: Path, *, scores: Mapping[str, Any], usage: Mapping[str, Any], table: str, report: str
) -> None:
    """Write the results of a run, after its questions.parquet. Each file appears whole or not at all."""
    write_json(folder / "scores.json", scores)
    write_json(folder / "usage.json", usage)
    write_text(folder / "table.md", table)
    write_text(folder / "report.html", report)
