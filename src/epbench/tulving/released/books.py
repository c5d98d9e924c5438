"""A published book as a book of ours, in the order in which it is read."""

from __future__ import annotations

from epbench.tulving.chapters.chapter import Chapter, assemble, in_chronological_order
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.universe import as_texts, load_universe
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.questions.generate import Question, all_questions, unused_values
from epbench.tulving.questions.templates import CUE_LETTERS
from epbench.tulving.released.archive import Archive, ReleasedBook
from epbench.tulving.released.chapters import published_chapters, published_events
from epbench.tulving.released.files import Files
from epbench.tulving.released.questions import published_questions


def read_book(archive: Archive, book: ReleasedBook) -> BookData:
    """Read a published book; `selected` holds the published questions word for word, in their order.

    `questions` are generated anew from the events, in our wording. Those about values that no event uses take them from
    our universe of the same name.

    Raises:
        BadInput: A file is missing, truncated or not what its name says, or a value does not fit.
    """
    files = archive.files
    chapters, selected = read_questions(files, book)
    used = [(day, space, entity, content) for day, space, entity, content, _ in published_events(files, book)]
    known = book.universe in universe_names()
    universe = as_texts(load_universe(book.universe)) if known else {letter: [] for letter in CUE_LETTERS}
    return BookData(
        title=f"{book.name}, as published, by {book.generator}",
        chapters=chapters,
        questions=all_questions(chapters, unused_values(universe, used)),
        selected=selected,
        text=files.json(f"{book.base}/book.json", str) if book.order == "narrative" else assemble(chapters),
    )


def read_questions(files: Files, book: ReleasedBook) -> tuple[list[Chapter], list[Question]]:
    """Return the chapters of a published book in its order, and its questions in the published order.

    Raises:
        BadInput: As for `read_book`.
    """
    original = published_chapters(files, book)
    questions = published_questions(files, book, original)
    if book.order == "narrative":
        return original, questions
    reordered = in_chronological_order(original)
    new_number = {(c.event.time, c.event.entity): c.number for c in reordered}
    renumbered = {c.number: new_number[c.event.time, c.event.entity] for c in original}
    return reordered, [
        question._replace(chapters=sorted(renumbered[chapter] for chapter in question.chapters))
        for question in questions
    ]
