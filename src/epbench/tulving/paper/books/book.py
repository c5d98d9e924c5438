"""A book as the tables and figures take it: its chapters and questions, and what is known of how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from epbench.exhibits.exhibit import Source, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import Iteration
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Order
from epbench.tulving.events.universe import PUBLISHED_SIZE
from epbench.tulving.questions.generate import Bin


@dataclass(frozen=True)
class Asked:
    """What the tables need of a selected question.

    Attributes:
        template: The number of its template, from 0.
        cue: The letters of the given elements, of `t s e c`.
        bin: The bin by the number of matching chapters.
        chapters: The numbers of the matching chapters.
    """

    template: int
    cue: str
    bin: Bin
    chapters: Sequence[int]


@dataclass(frozen=True)
class PaperBook:
    """A book.

    Attributes:
        label: How tables name it: the name of the dataset, with its writer or its path where two have one name.
        name: The name of the dataset, such as `long` or `news-short`.
        source: `own`, or `released` for a published book.
        length: `short`, `long` or `very-long`; "" if neither the title nor the archive says so.
        universe: The name of its universe; "" if unknown. That of a published book is the paper's, even where ours has
            the same name.
        order: `narrative`, or `chronological` for chapters sorted by date.
        writer: `template`, or who else wrote the chapters.
        seed: The seed of its draws; None if unknown.
        fingerprint: That of runs on it; see `epbench.tulving.dataset.load`.
        text: The whole book.
        chapters: The chapters with their events.
        selected: The questions that are asked.
        n_answerable: The number of all questions with an answer, before the selection.
        n_empty: The number of all questions without one.
        tokens: The length of the text in tokens, or in words.
        tokenizer: What `tokens` counts: `cl100k_base`, or `words` where that encoding is not at hand.
        n_events: The number of events that were to be told, with those without a chapter; None if unknown.
        universe_size: The number of times, of spaces, of entities and of contents in its universe.
        rounds: The rounds in which a model wrote it; empty if there were none, or if they are unknown.
        no_rounds: Why `rounds` is empty; "" if it is not.
        coordinates: Latitude and longitude, in degrees, of the spaces for which they are known.
    """

    label: str
    name: str
    source: Source
    length: str
    universe: str
    order: Order
    writer: str
    seed: int | None
    fingerprint: str
    text: str = field(repr=False)
    chapters: Sequence[Chapter] = field(repr=False)
    selected: Sequence[Asked] = field(repr=False)
    n_answerable: int
    n_empty: int
    tokens: int
    tokenizer: str
    n_events: int | None = None
    universe_size: int = PUBLISHED_SIZE
    rounds: Sequence[Iteration] = ()
    no_rounds: str = ""
    coordinates: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def marked(self) -> str:
        """The label for a cell."""
        return marked(self.label, self.source)

    @property
    def by_rules(self) -> bool:
        """Whether the template writer wrote it."""
        return self.writer == TemplateWriter.name


def originals(books: Sequence[PaperBook]) -> list[PaperBook]:
    """Return the books without those that only put the chapters of another one of them in the order of their dates."""

    def texts(book: PaperBook) -> frozenset[str]:
        return frozenset(chapter.text for chapter in book.chapters)

    told = [texts(book) for book in books if book.order == "narrative"]
    return [book for book in books if book.order == "narrative" or texts(book) not in told]


def identity_of(book: PaperBook) -> dict[str, Value]:
    """The columns that say which book a record is about."""
    return {
        "source": book.source, "label": book.label, "book": book.name, "universe": book.universe or None,
        "order": book.order, "writer": book.writer or None, "seed": book.seed, "fingerprint": book.fingerprint,
    }  # fmt: skip


def rows_of(table: str, reported: Sequence[ReportedRow], scores: Iterable[str]) -> list[ReportedRow]:
    """Return the rows of a table that have at least one of these scores; other papers have tables of this number too."""
    wanted = set(scores)
    return [row for row in reported if row.table == table and not wanted.isdisjoint(row.scores)]


def reported_identity(row: ReportedRow) -> dict[str, Value]:
    """The columns of `identity_of` for a row of the paper, which names the book and its writer only."""
    return {
        "source": "reported", "label": row.dataset, "book": row.dataset, "universe": None, "order": None,
        "writer": row.model, "seed": None, "fingerprint": None,
    }  # fmt: skip


def reported_notes(rows: Sequence[ReportedRow]) -> list[str]:
    """Say where reported rows are from, with the notes of the rows."""
    sources = sorted({f"{row.source}, {row.table}" for row in rows})
    return [f"(reported): {source}." for source in sources] + [
        f"{marked(row.dataset, 'reported')}: {row.note}" for row in rows if row.note
    ]
