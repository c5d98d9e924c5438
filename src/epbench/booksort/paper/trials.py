"""Trials of people as others publish them, in one CSV file: whether people were right about pairs of segments of a book."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert

from epbench.booksort.context.reader import READ_ONCE
from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.paper.rates import share_of_excerpts
from epbench.errors import BadInput
from epbench.files.csv_tables import read_csv
from epbench.judges.people import PEOPLE


class _Trial(Struct):
    participant: str
    segment_length: int
    distance: int
    correct: bool


def people_of(path: Path) -> PaperRun:
    """Read trials as the run of one reader.

    Args:
        path: A CSV file with a row for each trial: participant (intervals draw them), segment_length and distance in words,
            and correct (1, 0, true or false).

    Raises:
        BadInput: A column is missing, or a value is of another kind.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for number, row in enumerate(read_csv(path, _Trial.__struct_fields__)):
        try:
            trial = convert(row, _Trial, strict=False)
        except ValidationError as error:
            raise BadInput(f"{path}, row {number}: {error}".replace(" - at `$.", ", field `")) from None
        lengths = {"segment_length": trial.segment_length, "distance": trial.distance}
        rows.append(
            lengths | {"excerpt": trial.participant, "pair": number, "swapped": False, "right": float(trial.correct)}
        )
    if not rows:
        raise BadInput(f"{path}: expected a row for each trial, found none")
    return PaperRun(PEOPLE, path, path.stem, (), READ_ONCE, PEOPLE, "", {}, pd.DataFrame(rows))


def reported_of(run: PaperRun) -> dict[str, Any]:
    """Return its accuracies as a file of reported numbers; see `epbench.reports.reported`."""
    parts = {f"accuracy_s{words}": part for words, part in run.questions.groupby("segment_length")}
    found = {name: share_of_excerpts(part, "right") for name, part in {"accuracy": run.questions, **parts}.items()}
    row: dict[str, Any] = {"dataset": "book-sort", "model": run.model, "memory": run.memory}
    row |= {
        "scores": {name: of.mean for name, of in found.items()},
        "counts": {name: of.n for name, of in found.items()},
    }
    row["intervals"] = {name: [of.low, of.high] for name, of in found.items() if of.low is not None}
    return {
        "benchmark": "booksort",
        "tables": [{"source": run.folder.name, "table": "trials of people", "rows": [row]}],
    }
