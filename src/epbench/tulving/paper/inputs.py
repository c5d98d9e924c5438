"""What the tables of the paper are made from: runs on Tulving books with their questions, and reported rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.exhibits.exhibit import Source
from epbench.exhibits.reported import ReportedRow
from epbench.runs.question_table import read_questions
from epbench.runs.several import MEASURES, measured_runs, names_of
from epbench.tulving.released.run_names import reader_of
from epbench.tulving.scores.correction import with_passport
from epbench.tulving.scores.question_files import COLUMNS
from epbench.tulving.scores.run_files import read_run, read_scores

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("tulving",)
"""The runs that measure an epoch of a training."""


@dataclass(frozen=True)
class PaperRun:
    """A run on a book.

    Attributes:
        label: The name of the run in tables: its folder, or for a released run its name in the archive.
        source: `own` or `released`.
        folder: The run's folder.
        book: The name of the dataset, such as `long` or `news-short`.
        fingerprint: The fingerprint of the dataset; runs that share it answered the same questions about the same text.
        memory: The memory, such as `in-context` or `rag-paragraph`.
        model: Who answered.
        scores: The content of scores.json.
        questions: The content of questions.parquet; see `epbench.tulving.scores.question_files`.
    """

    label: str
    source: Source
    folder: Path
    book: str
    fingerprint: str
    memory: str
    model: str
    scores: dict[str, Any]
    questions: pd.DataFrame


@dataclass(frozen=True)
class Inputs:
    """Everything that was given.

    Attributes:
        runs: Own and released runs, in the order of the command line.
        reported: Numbers from papers.
    """

    runs: Sequence[PaperRun]
    reported: Sequence[ReportedRow] = ()


def read_runs(folders: Sequence[Path], source: Source = "own") -> list[PaperRun]:
    """Read the folders of finished runs, and of trainings on the questions of a book.

    Args:
        folders: The folders. Two runs of one name are told apart by their whole paths. A training stands for the runs that
            measured its epochs, without those in which no question was answered; after the first epoch, their memory is
            `fine-tuned`.
        source: Whether they are one's own or were made from a released archive.

    Raises:
        BadInput: A folder holds no finished run of a Tulving book, or a file in it is damaged.
    """
    found = measured_runs(names_of(folders), _KINDS)
    runs = [_read(label, folder, source) for label, folder in found.items() if not _gave_no_answer(folder)]
    chapters = [read_run(run.folder)["identity"].get("chapters") for run in runs]
    known: dict[str, set[str]] = {}
    for run, print_ in zip(runs, chapters, strict=True):
        known.setdefault(run.fingerprint, set()).update([print_] if print_ else [])
    return [  # books of which only the chapters differ are two books; a run that did not note them keeps its fingerprint
        replace(run, fingerprint=f"{print_}-{run.fingerprint}") if print_ and len(known[run.fingerprint]) > 1 else run
        for run, print_ in zip(runs, chapters, strict=True)
    ]


def _gave_no_answer(folder: Path) -> bool:
    """Whether a run is the measure of an epoch in which no question was answered, as with random weights."""
    return _is_measure(folder) and not (folder / "scores.json").is_file()


def _is_measure(folder: Path) -> bool:
    return folder.parent.parent.name == MEASURES


def _read(label: str, folder: Path, source: Source) -> PaperRun:
    run, scores = read_run(folder), with_passport(read_scores(folder))
    identity = run["identity"]
    memory, model = str(identity.get("memory", "")), str(identity.get("model", ""))
    if "run" in identity:  # of a published archive
        memory, model = reader_of(identity["run"])
    elif _is_measure(folder) and folder.parent.name != "epoch-0":
        memory = "fine-tuned"
    return PaperRun(
        label=label,
        source=source,
        folder=folder,
        book=str(run.get("book", "")),
        fingerprint=str(identity.get("fingerprint", run.get("fingerprint"))),
        memory=memory,
        model=model,
        scores=scores,
        questions=read_questions(folder, COLUMNS),
    )
