"""From a recipe to a book with its questions, in the paper's order."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from epbench.errors import BadInput
from epbench.runs.answers import Progress, no_progress
from epbench.tulving.chapters.chapter import Chapter, in_chronological_order
from epbench.tulving.chapters.loop import Writer, write_chapters
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.events import Event, draw_events
from epbench.tulving.events.layouts import Layout, draw_layouts
from epbench.tulving.events.universe import PUBLISHED_SIZE, Universe, as_texts, load_universe, secondary_names
from epbench.tulving.questions.generate import Question, all_questions, cue_values, unused_values
from epbench.tulving.questions.selection import Selection, select

Order = Literal["narrative", "chronological"]

BOOKS = {"short": 20, "long": 200, "very-long": 2000}
"""Number of events of the published books (Table 28)."""


@dataclass(frozen=True)
class Recipe:
    """What fixes a book: the same recipe gives the same events and plans on any machine.

    With the template writer the rows are the same too; a model's chapters are its own.

    Attributes:
        book: `short`, `long` or `very-long`.
        universe: `default`, `news` or `scifi`.
        events: number of events; that of the published book unless given.
        universe_size: values per element; 100 in the paper. The geometric parameter is 10 / size.
        seed: of all draws.
        order: `narrative`, or `chronological` for the chapters sorted by date.
        selection: rule by which questions are picked.
        writer: of the chapters: `template`, or a model as on the command line.
        checker: of the chapters that a model writes, as on the command line; None for the writer itself.
    """

    book: str
    universe: str = "default"
    events: int | None = None
    universe_size: int = PUBLISHED_SIZE
    seed: int = 0
    order: Order = "narrative"
    selection: Selection = "uniform"
    writer: str = TemplateWriter.name
    checker: str | None = None

    @property
    def n_events(self) -> int:
        if self.book not in BOOKS:
            raise BadInput(f"unknown book {self.book!r}; there are: {', '.join(BOOKS)}")
        return self.events if self.events is not None else BOOKS[self.book]

    @property
    def name(self) -> str:
        """Name of the dataset: `long`, `news-short`, `scifi-long`, `long-ordered`."""
        return dataset_name(self.book, self.universe, self.order)

    @property
    def command(self) -> str:
        """What makes the same dataset again; only what differs from the defaults is named."""
        options = [
            f"--{field.name.replace('_', '-')} {value}"
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        ]
        return " ".join(["python builders/tulving.py", *options])


def dataset_name(book: str, universe: str, order: Order) -> str:
    """How the datasets of the Tulving books are called."""
    parts = [universe] if universe != "default" else []
    return "-".join([*parts, book, *(["ordered"] if order == "chronological" else [])])


@dataclass(frozen=True)
class Outline:
    """What is to be written: an event and a plan for every chapter."""

    universe: Universe
    events: list[Event]
    plans: list[Layout]


def draw_outline(recipe: Recipe) -> Outline:
    """Universe → events → plans, whoever writes.

    Raises:
        BadInput: unknown book or universe, or more events than the universe holds.
    """
    universe = load_universe(recipe.universe, recipe.universe_size, recipe.seed)
    events = draw_events(universe, recipe.n_events, seed=recipe.seed)
    return Outline(universe, events, draw_layouts(len(events), list(universe.styles), seed=recipe.seed))


def make_book(recipe: Recipe, writer: Writer | None = None, progress: Progress = no_progress) -> BookData:
    """Universe → events → plans → chapters → questions → selection.

    Args:
        recipe: what to make.
        writer: of the chapters, the one that the recipe names; the template writer unless given.
        progress: shows how far the writing is.

    Raises:
        BadInput: unknown book, universe or selection, more events than the universe holds, or a writer none of whose
            chapters passes the checks.
        RunFailed: the writer's model left requests without an answer, or its checker gave no verdict on some chapters.
    """
    outline = draw_outline(recipe)
    universe, events = outline.universe, outline.events
    writer = writer or TemplateWriter(universe.kind, seed=recipe.seed)
    chapters, writing = write_chapters(events, outline.plans, writer, secondary_names(recipe.seed), progress=progress)

    used = [(event.day, event.space, event.entity, event.content) for event in events]
    questions = all_questions(chapters, unused_values(as_texts(universe), used), seed=recipe.seed)
    if recipe.order == "chronological":
        chapters, questions = _reordered(chapters, questions)
    return BookData(
        title=_title(recipe, writing.writer),
        chapters=chapters,
        questions=questions,
        selected=select(questions, rule=recipe.selection, seed=recipe.seed),
        writing=writing,
    )


def _title(recipe: Recipe, writer: str) -> str:
    by = "" if writer == TemplateWriter.name else f", written by {writer}"
    return f"The days of {recipe.name}, seed {recipe.seed}{by}"


def _reordered(chapters: list[Chapter], questions: list[Question]) -> tuple[list[Chapter], list[Question]]:
    """The chapters by date; questions and answers stay (answers are in date order anyway), chapter numbers follow."""
    ordered = in_chronological_order(chapters)
    by_event = {cue_values(chapter): chapter.number for chapter in ordered}
    number = {chapter.number: by_event[cue_values(chapter)] for chapter in chapters}
    return ordered, [
        question._replace(chapters=sorted(number[old] for old in question.chapters)) for question in questions
    ]
