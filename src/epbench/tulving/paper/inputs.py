"""What the tables about answers are made from: runs and reported rows, of which each becomes a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from epbench.files.json_files import read_json
from epbench.models.protocol import name_of
from epbench.reports.comparison import memory_of
from epbench.reports.exhibit import Source, marked, slug
from epbench.reports.plots import grouped_by
from epbench.reports.reported import ReportedRow
from epbench.runs.benchmark import read_questions
from epbench.runs.folder import dataset_of
from epbench.runs.several import MEASURES, measured_runs, names_of
from epbench.statistics.estimate import Estimate, Value
from epbench.tulving.calibration.passport import with_passport
from epbench.tulving.released.archive import reader_of, writer_of
from epbench.tulving.scores.run_files import COLUMNS, read_run, read_scores
from epbench.tulving.scores.tables import judge_names

if TYPE_CHECKING:
    import pandas as pd

# Columns that are added to the questions: what the cue gives, as questions that share it are about the same chapters, so that
# intervals draw it; and the number of the cue's elements, as text
EVENTS, ELEMENTS = "events", "elements"


@dataclass(frozen=True, eq=False)
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
        return text_of(self.columns())

    @property
    def is_short(self) -> bool:
        return parts_of(self.book)[0] == "short"

    @property
    def asked_for_all(self) -> pd.DataFrame:
        """The questions of a run that ask for all items."""
        return self.questions[self.questions["get"] == "all"]

    def reported_score(self, score: str) -> Estimate:
        """A score of a reported row; an empty estimate if the row has no such score."""
        if (row := self.reported) and score in row.scores:
            return Estimate(row.counts.get(score), 0, row.scores[score], row.deviations.get(score))
        return Estimate()

    def columns(self) -> dict[str, Value]:
        """The columns of a frame that say who this is."""
        names = ("source", "label", "model", "memory", "book", "fingerprint", "writer", "judge")
        paper = f"{self.reported.source}, {self.reported.table}" if self.reported else None
        about = {name: getattr(self, name) for name in names}
        return {**about, "fingerprint": self.fingerprint or None, "judge": self.judge or None, "paper": paper}


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
    """Read the folders of finished runs of Tulving books, and of trainings, which stand for the runs that measured epochs.

    Of these, one in which no question was answered is left out, and after the first epoch the memory is `fine-tuned`.
    """
    runs = {
        _read(label, folder, source): read_run(folder)["identity"].get("chapters")
        for label, folder in measured_runs(names_of(folders), ["tulving"]).items()
        # With random weights, as before a training, no question may be answered.
        if folder.parent.parent.name != MEASURES or (folder / "scores.json").is_file()
    }
    several = Counter(of for of, print_ in {(run.fingerprint, print_) for run, print_ in runs.items()} if print_)
    return [  # books of which only the chapters differ are two books; a run that did not note them keeps its fingerprint
        replace(run, fingerprint=f"{print_}-{run.fingerprint}") if print_ and several[run.fingerprint] > 1 else run
        for run, print_ in runs.items()
    ]


def _read(label: str, folder: Path, source: Source) -> Line:
    run, scores = read_run(folder), with_passport(read_scores(folder))
    identity = run["identity"]
    memory, model = memory_of(identity), str(identity.get("model", ""))
    by_openai = memory == "none" and model.startswith("openai:ft:")
    if "run" in identity:  # of a published archive
        memory, model = reader_of(identity["run"])
    elif by_openai or (folder.parent.parent.name == MEASURES and folder.parent.name != "epoch-0"):
        memory = "fine-tuned"
    fingerprint = str(identity.get("fingerprint", run.get("fingerprint")))
    questions = read_questions(folder, COLUMNS)
    cues = questions[["time", "space", "entity", "content"]].fillna("")
    questions[EVENTS] = list(cues.itertuples(index=False, name=None))
    questions[ELEMENTS] = questions["cue"].map(len).astype(str)
    return Line(label, source, folder, str(run.get("book", "")), fingerprint, memory, model, scores, questions)


# As in the tables of the paper; others come after them
MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "fine-tuned")
_BOOK = re.compile(r"(?:(?!very-long)(?P<universe>.+?)-)?(?P<size>very-long|short|long)(?P<rest>-.+)?")


def lines_of(inputs: Inputs) -> list[Line]:
    """A line for each run and for each reported row, ordered by memory as in the paper, own runs before others."""
    judges = judge_names({str(run.folder): run.scores for run in inputs.runs})
    runs = [_of_run(run, judges[str(run.folder)]) for run in inputs.runs]
    # Who made a dataset from a published book has runs of its fingerprint, and the archive knows its writer.
    writers = {line.fingerprint: line.writer for line in runs if line.writer}
    runs = _with_own_names([replace(line, writer=line.writer or writers.get(line.fingerprint)) for line in runs])

    def place(line: Line) -> tuple[int, str, bool, str]:  # released before reported
        return (*MEMORIES, line.memory).index(line.memory), line.memory, line.source != "own", line.source

    return sorted([*runs, *map(_of_reported, inputs.reported)], key=place)


def _of_run(run: Line, judge: str) -> Line:
    written, model, label, writer = read_run(run.folder), name_of(run.model) or "–", run.label, None
    if run.source == "released":
        label, writer = f"{model} {run.memory}".strip(), writer_of(str(written["identity"].get("released", "")))
    elif (dataset := dataset_of(written)) and (path := Path(str(dataset), "writing.json")).is_file():
        said = read_json(path).get("writer")
        writer = said if isinstance(said, str) else None
    return replace(run, label=label, model=model, memory=run.memory or "answers", writer=writer, judge=judge)


def _of_reported(row: ReportedRow) -> Line:
    book, _, writer = row.dataset.partition(" by ")
    who = (book, "", row.memory, row.model, row.scores, cast(Any, None), writer or None)
    return Line(f"{row.model} {row.memory}", "reported", Path(), *who, reported=row)


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


def by_book(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines by the name of the book, for the books of which there is a run."""
    return {book: of for book, of in grouped_by(lines, lambda line: line.book).items() if runs_among(of)}


def parts_of(book: str) -> tuple[str, str, str]:
    """What the name of a book says: `short`, `long`, `very-long` or nothing; its universe; and what else was changed."""
    found = _BOOK.fullmatch(book)
    return (found["size"], found["universe"] or "default", found["rest"] or "") if found else ("", "default", book)
