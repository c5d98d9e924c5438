"""What the tables of the paper are made from: runs on Tulving books, reported rows, and the line that stands for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.files.json_files import read_json
from epbench.models.protocol import name_of
from epbench.reports.between import memory_of
from epbench.reports.exhibit import Source, marked, slug
from epbench.reports.reported import ReportedRow
from epbench.runs.folder import dataset_of
from epbench.runs.question_table import read_questions
from epbench.runs.several import MEASURES, measured_runs, names_of
from epbench.statistics.estimate import Value
from epbench.tulving.calibration.passport import with_passport
from epbench.tulving.released.archive import reader_of, writer_of
from epbench.tulving.scores.run_files import COLUMNS, read_run, read_scores
from epbench.tulving.scores.tables import judge_names

if TYPE_CHECKING:
    import pandas as pd

Key = TypeVar("Key")

_KINDS = ("tulving",)
"""The runs that measure an epoch of a training."""

EVENTS, ELEMENTS = "events", "elements"
"""Columns that are added to the questions: what the cue gives, as questions that share it are about the same chapters, so
that intervals draw it; and the number of the cue's elements, as text."""


@dataclass(frozen=True)
class Line:
    """A line of the tables, and what it is about: a run on a book, or numbers that a paper reports."""

    label: str  # the name of an own run; of others, the model and the memory; `lines_of` makes them differ
    source: Source
    folder: Path  # the run's folder; empty for reported numbers
    book: str  # the name of the dataset, such as `long` or `news-short-ordered`
    fingerprint: str  # runs that share it answered the same questions about the same text; empty for reported numbers
    memory: str  # such as `in-context` or `rag-paragraph`
    model: str  # who answered
    scores: Mapping[str, Any]  # the content of scores.json; the reported numbers
    questions: pd.DataFrame  # the content of questions.parquet, with `EVENTS` and `ELEMENTS`; None for reported numbers
    writer: str | None = None  # the model that wrote the book, or `template`; None if it is not known
    judge: str = ""  # in words; empty for reported numbers
    reported: ReportedRow | None = None  # the reported numbers; None for a run

    @property
    def who(self) -> str:
        """The name of the line in a figure or a list, with a mark unless it is one's own."""
        return marked(self.label, self.source)

    @property
    def text(self) -> str:
        """Which of several books of one name was read; see `text_of`."""
        return text_of(self.columns())

    def columns(self) -> dict[str, Value]:
        """The columns of a frame that say who this is."""
        paper = f"{self.reported.source}, {self.reported.table}" if self.reported else None
        reader: dict[str, Value] = {
            name: getattr(self, name) for name in ("source", "label", "model", "memory", "book")
        }
        text = {"fingerprint": self.fingerprint or None, "writer": self.writer}
        return {**reader, **text, "judge": self.judge or None, "paper": paper}


def text_of(row: Mapping[str, Any]) -> str:
    """Which of several books of one name a row is about: by its writer if that is a model, or by its fingerprint."""
    if row["writer"] and row["writer"] != "template":
        return f"{row['book']} by {row['writer']}"
    return f"{row['book']} ({row['fingerprint'][:8]})" if row["fingerprint"] else str(row["book"])


@dataclass(frozen=True)
class Inputs:
    """Everything that was given."""

    runs: Sequence[Line]  # own and released runs, in the order of the command line
    reported: Sequence[ReportedRow] = ()


def read_runs(folders: Sequence[Path], source: Source = "own") -> list[Line]:
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
    # With random weights, as before a training, no question may be answered.
    found = {
        label: folder
        for label, folder in found.items()
        if not _is_measure(folder) or (folder / "scores.json").is_file()
    }
    runs = [_read(label, folder, source) for label, folder in found.items()]
    chapters = [read_run(run.folder)["identity"].get("chapters") for run in runs]
    known: dict[str, set[str]] = {}
    for run, print_ in zip(runs, chapters, strict=True):
        known.setdefault(run.fingerprint, set()).update([print_] if print_ else [])
    return [  # books of which only the chapters differ are two books; a run that did not note them keeps its fingerprint
        replace(run, fingerprint=f"{print_}-{run.fingerprint}") if print_ and len(known[run.fingerprint]) > 1 else run
        for run, print_ in zip(runs, chapters, strict=True)
    ]


def _is_measure(folder: Path) -> bool:
    return folder.parent.parent.name == MEASURES


def _read(label: str, folder: Path, source: Source) -> Line:
    run, scores = read_run(folder), with_passport(read_scores(folder))
    identity = run["identity"]
    memory, model = memory_of(identity), str(identity.get("model", ""))
    by_openai = memory == "none" and model.startswith("openai:ft:")
    if "run" in identity:  # of a published archive
        memory, model = reader_of(identity["run"])
    elif by_openai or (_is_measure(folder) and folder.parent.name != "epoch-0"):
        memory = "fine-tuned"
    fingerprint = str(identity.get("fingerprint", run.get("fingerprint")))
    questions = _with_cues(read_questions(folder, COLUMNS))
    return Line(label, source, folder, str(run.get("book", "")), fingerprint, memory, model, scores, questions)


def _with_cues(questions: pd.DataFrame) -> pd.DataFrame:
    given = questions[["time", "space", "entity", "content"]].fillna("")
    questions[EVENTS] = list(given.itertuples(index=False, name=None))
    questions[ELEMENTS] = questions["cue"].map(len).astype(str)
    return questions


MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "fine-tuned")
"""The memories of the paper, in the order of its tables; others come after them."""

_BOOK = re.compile(r"(?:(?!very-long)(?P<universe>.+?)-)?(?P<size>very-long|short|long)(?P<rest>-.+)?")


def lines_of(inputs: Inputs) -> list[Line]:
    """A line for each run and for each reported row, ordered by memory as in the paper, own runs before others."""
    judges = judge_names({str(run.folder): run.scores for run in inputs.runs})
    runs = [_of_run(run, judges[str(run.folder)]) for run in inputs.runs]
    # Who made a dataset from a published book has runs of its fingerprint, and the archive knows its writer.
    writers = {line.fingerprint: line.writer for line in runs if line.writer}
    known = [replace(line, writer=line.writer or writers.get(line.fingerprint)) for line in runs]
    found = [*_with_own_names(known), *map(_of_reported, inputs.reported)]
    sources = ("own", "released", "reported")
    return sorted(found, key=lambda line: (_memory_order(line.memory), sources.index(line.source)))


def _memory_order(memory: str) -> tuple[int, str]:
    return (MEMORIES.index(memory), "") if memory in MEMORIES else (len(MEMORIES), memory)


def _of_run(run: Line, judge: str) -> Line:
    written = read_run(run.folder)
    released = run.source == "released"
    writer = writer_of(str(written["identity"].get("released", ""))) if released else _writer_of(dataset_of(written))
    model, memory = name_of(run.model) or "–", run.memory or "answers"
    label = f"{model} {run.memory}".strip() if released else run.label
    return replace(run, label=label, model=model, memory=memory, writer=writer, judge=judge)


def _writer_of(dataset: object) -> str | None:
    """The writer that writing.json in the folder of a dataset names; None for a dataset that is no such folder."""
    path = Path(str(dataset), "writing.json")
    if not dataset or not path.is_file():
        return None
    writer = read_json(path).get("writer")
    return writer if isinstance(writer, str) else None


def _of_reported(row: ReportedRow) -> Line:
    book, _, writer = row.dataset.partition(" by ")
    who: tuple[str, Source, Path] = (f"{row.model} {row.memory}", "reported", Path())
    none: Any = None
    return Line(*who, book, "", row.memory, row.model, row.scores, none, writer or None, reported=row)


def _with_own_names(lines: Sequence[Line]) -> list[Line]:
    """Give lines whose labels would make one file name the name of their book as well, then of its text, then a number."""
    labels = [line.label for line in lines]
    for more in ("book", "text", "number"):
        counts = Counter(map(slug, labels))
        for number, line in enumerate(lines):
            if counts[slug(labels[number])] > 1:
                what = f"on {getattr(line, more)}" if more != "number" else f"({number + 1})"
                labels[number] = f"{line.label} {what}"
    return [replace(line, label=label) for line, label in zip(lines, labels, strict=True)]


def runs_among(lines: Iterable[Line]) -> list[Line]:
    """The lines of runs, own and released."""
    return [line for line in lines if not line.reported]


def grouped_by(lines: Iterable[Line], key: Callable[[Line], Key]) -> dict[Key, list[Line]]:
    """The lines by what a function gives for each, in the order in which that comes."""
    found: dict[Key, list[Line]] = {}
    for line in lines:
        found.setdefault(key(line), []).append(line)
    return found


def by_book(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines by the name of the book, for the books of which there is a run."""
    return {book: of for book, of in grouped_by(lines, lambda line: line.book).items() if runs_among(of)}


def size_of(book: str) -> str:
    """`short`, `long` or `very-long`, from the name of a book; empty for a name without any of them."""
    found = _BOOK.fullmatch(book)
    return found["size"] if found else ""


def universe_of(book: str) -> str:
    """The universe of a book, from its name; `default` where the name has none."""
    found = _BOOK.fullmatch(book)
    return (found["universe"] or "default") if found else "default"


def is_plain(book: str) -> bool:
    """Whether the name of a book is that of its universe and size, so that nothing else about it was changed."""
    found = _BOOK.fullmatch(book)
    return found is not None and not found["rest"]
