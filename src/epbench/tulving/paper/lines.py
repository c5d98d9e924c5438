"""Who stands in a row of the paper's tables: an own run, a released run, or a row that a paper reports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Source, Value, marked, slug
from epbench.exhibits.reported import ReportedRow
from epbench.files.json_files import read_json
from epbench.models.protocol import name_of
from epbench.runs.folder import dataset_of
from epbench.tulving.paper.inputs import Inputs, PaperRun
from epbench.tulving.released.run_names import writer_of
from epbench.tulving.scores.run_files import read_run
from epbench.tulving.scores.tables import judge_names

if TYPE_CHECKING:
    import pandas as pd

MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "fine-tuned")
"""The memories of the paper, in the order of its tables; others come after them."""

_BOOK = re.compile(r"(?:(?!very-long)(?P<universe>.+?)-)?(?P<size>very-long|short|long)(?P<rest>-.+)?")


@dataclass(frozen=True)
class Line:
    """A row, and what it is about.

    Attributes:
        source: Where its numbers come from.
        label: The name of an own run; of others, the model and the memory. No two lines of runs have one file name.
        model: Who answered.
        memory: With which memory.
        book: The name of the dataset, such as `long-ordered`.
        fingerprint: That of the dataset; empty for a reported row.
        writer: The model that wrote the book, or `template`; None if it is not known.
        judge: The judge in words; empty for a reported row.
        run: The run; None for a reported row.
        reported: The reported row; None for a run.
    """

    source: Source
    label: str
    model: str
    memory: str
    book: str
    fingerprint: str
    writer: str | None
    judge: str
    run: PaperRun | None = None
    reported: ReportedRow | None = None

    @property
    def questions(self) -> pd.DataFrame:
        """The questions of a run, those that were lost included."""
        assert self.run is not None
        return self.run.questions

    @property
    def who(self) -> str:
        """The name of the line in a figure or a list, with a mark unless it is one's own."""
        return marked(self.label, self.source)

    @property
    def text(self) -> str:
        """Which of several books of one name was read: by its writer if that is a model, or by its fingerprint."""
        if self.writer and self.writer != "template":
            return f"{self.book} by {self.writer}"
        return f"{self.book} ({self.fingerprint[:8]})" if self.fingerprint else self.book

    def columns(self) -> dict[str, Value]:
        """The columns of a record that say who this is."""
        return {
            "source": self.source, "label": self.label, "model": self.model, "memory": self.memory, "book": self.book,
            "fingerprint": self.fingerprint or None, "writer": self.writer, "judge": self.judge or None,
        }  # fmt: skip


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


def _of_run(run: PaperRun, judge: str) -> Line:
    written = read_run(run.folder)
    released = run.source == "released"
    writer = writer_of(str(written["identity"].get("released", ""))) if released else _writer_of(dataset_of(written))
    model, memory = name_of(run.model) or "–", run.memory or "answers"
    label = f"{model} {run.memory}".strip() if released else run.label
    return Line(run.source, label, model, memory, run.book, run.fingerprint, writer, judge, run)


def _writer_of(dataset: object) -> str | None:
    """The writer that writing.json in the folder of a dataset names; None for a dataset that is no such folder."""
    path = Path(str(dataset), "writing.json")
    if not dataset or not path.is_file():
        return None
    writer = read_json(path).get("writer")
    return writer if isinstance(writer, str) else None


def _of_reported(row: ReportedRow) -> Line:
    book, _, writer = row.dataset.partition(" by ")
    label = f"{row.model} {row.memory}"
    return Line("reported", label, row.model, row.memory, book, "", writer or None, "", reported=row)


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
    return [line for line in lines if line.run is not None]


def by_book(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines by the name of the book, for the books of which there is a run."""
    lines = list(lines)
    books = dict.fromkeys(line.book for line in runs_among(lines))
    return {book: [line for line in lines if line.book == book] for book in books}


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
