"""From a recipe to a book with its questions, in the paper's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from epbench.errors import BadInput
from epbench.progress import Progress, no_progress
from epbench.tulving.chapters.chapter import Chapter, Writer, in_chronological_order
from epbench.tulving.chapters.checks import Vocabulary
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.chapters.loop import write_chapters
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.universe import (
    PUBLISHED_SIZE,
    Event,
    Layout,
    Universe,
    as_texts,
    draw_events,
    draw_layouts,
    load_universe,
    secondary_names,
)
from epbench.tulving.events.universe_files import universe_name, universe_names
from epbench.tulving.levels.plan import ChapterPlan, check_level
from epbench.tulving.levels.plot import draw_plans
from epbench.tulving.questions.evidence import outcome_questions
from epbench.tulving.questions.generate import (
    EmptyRule,
    Question,
    Selection,
    all_questions,
    cue_values,
    select,
    unused_values,
    without_collector,
)
from epbench.tulving.solving.solver import prove

Order = Literal["narrative", "chronological"]

BOOKS = {"short": 20, "long": 200, "very-long": 2000}
"""The number of events of each published book (Table 28)."""


@dataclass(frozen=True)
class Recipe:
    """What determines a book: the same recipe gives the same events and layouts on any machine.

    With a writer that follows rules, the rows are the same too.
    """

    book: str  # `short`, `long` or `very-long`
    universe: str = "default"  # one of ours, or the path of a folder with a universe of the user's own
    # What the book takes to be understood: 1 (the template) to 5; see `LEVELS`. The events are those of level 1.
    level: int = 1
    events: int | None = None  # the number of events; by default that of the published book
    universe_size: int = PUBLISHED_SIZE  # the number of values per element
    seed: int = 0  # the seed of all draws
    order: Order = "narrative"  # `narrative`, or `chronological` for chapters sorted by date
    selection: Selection = "uniform"  # the rule by which questions are selected
    empty: EmptyRule = "paper"  # the rule by which questions without an answer are made; see `fake_events`
    writer: str = TemplateWriter.name  # `template`, or the name of a model
    checker: str | None = None  # the name of the model that checks the chapters of a model; None for the writer itself
    wording: str | None = None  # the name of the file of wording; None for ours

    @property
    def n_events(self) -> int:
        if self.book not in BOOKS:
            raise BadInput(f"unknown book {self.book!r}; there are: {', '.join(BOOKS)}")
        return self.events if self.events is not None else BOOKS[self.book]

    @property
    def name(self) -> str:
        """The name of the dataset: `long`, `news-short`, `long-l3`, `long-ordered`; of a folder, its own name."""
        return dataset_name(self.book, universe_name(self.universe), self.order, self.level)


def dataset_name(book: str, universe: str, order: Order, level: int = 1) -> str:
    """Return the name of a Tulving book's dataset."""
    parts = [universe] if universe != "default" else []
    parts += [book, *([f"l{level}"] if level > 1 else []), *(["ordered"] if order == "chronological" else [])]
    return "-".join(parts)


@dataclass(frozen=True)
class Outline:
    """What to write."""

    universe: Universe
    events: list[Event]  # the event of each chapter
    layouts: list[Layout]  # the layout of each chapter
    plans: list[ChapterPlan] = field(default_factory=list)  # in which words each chapter tells it; empty at level 1


@without_collector()
def draw_outline(recipe: Recipe) -> Outline:
    """Universe → events → layouts → plans, which are the same for every writer; BadInput if the recipe cannot be followed."""
    check_level(recipe.level)
    if recipe.universe not in universe_names():  # a folder's name must not mean a book from our own universes
        for universe_of_ours, book in product(universe_names(), BOOKS):
            if recipe.name == dataset_name(book, universe_of_ours, recipe.order, recipe.level):
                raise BadInput(
                    f"{recipe.universe}: a book from this folder would be named {recipe.name}, which is the {book} book of "
                    f"the universe {universe_of_ours}; rename the folder"
                )
    universe = load_universe(recipe.universe, recipe.universe_size, recipe.seed)
    events = draw_events(universe, recipe.n_events, seed=recipe.seed)
    layouts = draw_layouts(len(events), list(universe.styles), seed=recipe.seed)
    plans = draw_plans(recipe.level, events, layouts, universe, seed=recipe.seed) if recipe.level > 1 else []
    return Outline(universe, events, layouts, plans)


def make_book(
    recipe: Recipe,
    outline: Outline | None = None,
    writer: Writer | None = None,
    progress: Progress = no_progress,
    texts: Mapping[int, str] | None = None,
) -> BookData:
    """Universe → events → layouts → chapters → questions → selection.

    The outline is drawn, and a writer that follows rules is loaded, unless they are given; a model must be given. `texts` has
    the words of the questions by number of their template, if they are not ours.

    Raises:
        BadInput: The recipe cannot be followed, or none of the chapters passes the checks.
        RunFailed: The writer's model left requests without an answer, or its checker gave no verdict on some chapters;
            or, at level 2 or higher, a fact cannot be derived from the words of the book.
    """
    outline = outline or draw_outline(recipe)
    universe, events = outline.universe, outline.events
    # From level 2 on, a first name alone does not tell a side character from a main character of another chapter.
    also = [name.split()[0] for name in universe.entities] if recipe.level > 1 else []
    writer = writer or load_writer(recipe.writer, universe, seed=recipe.seed, level=recipe.level)
    # Not for a model, which writes for hours.
    with without_collector() if recipe.writer == TemplateWriter.name else nullcontext():
        chapters, writing = write_chapters(
            events,
            outline.layouts,
            writer,
            secondary_names(recipe.seed, also),
            plans=outline.plans,
            vocabulary=Vocabulary(universe) if outline.plans else None,
            progress=progress,
        )
        if recipe.level >= 2:
            chapters = prove(chapters, universe)
        unused = unused_values(as_texts(universe), [(one.day, one.space, one.entity, one.content) for one in events])
        questions = all_questions(chapters, unused, empty=recipe.empty, seed=recipe.seed)
    if recipe.level >= 5:
        questions += outcome_questions(chapters, seed=recipe.seed)
    if texts:
        questions = [
            one._replace(question=texts[one.template].format(t=one.time, s=one.space, e=one.entity, c=one.content))
            for one in questions
        ]
    if recipe.order == "chronological":
        chapters, questions = reordered(chapters, questions)
    by = "" if writing.writer == TemplateWriter.name else f", written by {writing.writer}"
    return BookData(
        title=f"The days of {recipe.name}, seed {recipe.seed}{by}",
        chapters=chapters,
        questions=questions,
        selected=select(questions, rule=recipe.selection, seed=recipe.seed),
        writing=writing,
        universe_hash=universe.files_hash,
    )


def reordered(chapters: Sequence[Chapter], questions: Sequence[Question]) -> tuple[list[Chapter], list[Question]]:
    """Return the chapters by date, and the questions with the new chapter numbers; answers are in date order anyway."""
    ordered = in_chronological_order(chapters)
    by_event = {cue_values(chapter): chapter.number for chapter in ordered}
    number = {chapter.number: by_event[cue_values(chapter)] for chapter in chapters}
    return ordered, [one._replace(chapters=sorted(number[old] for old in one.chapters)) for one in questions]
