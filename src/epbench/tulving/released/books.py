"""A published book as a book of ours, in the order in which it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.tulving.chapters.chapter import Chapter, assemble, in_chronological_order
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.universe import as_texts, load_universe
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.questions.generate import Origin, Question, all_questions, cue_values, question_of, unused_values
from epbench.tulving.questions.templates import CUE_LETTERS, PUBLISHED_TEMPLATES, Template
from epbench.tulving.released.archive import Archive, ReleasedBook
from epbench.tulving.released.chapters import published_chapters, published_events
from epbench.tulving.released.files import Files


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


_ROW = fields(
    {
        **dict.fromkeys(("question", "cue_completed", "get"), str),
        **dict.fromkeys(("q_idx", "n_chapters_correct_answer"), Whole), "correct_answer": list[str],
        "correct_answer_chapters": list[Whole], "debug_existing_change": bool | None,
    }
)  # fmt: skip
_CUE_PARTS = re.compile(r"\{(.*?)\}(?=[,)])|(?<![\w}])\*")  # of `(*, {High Line}, {Zoe Brown}, *)`
_ORIGINS: dict[bool | None, Origin] = {None: "book", True: "inner", False: "outer"}


def published_questions(files: Files, book: ReleasedBook, chapters: Sequence[Chapter]) -> list[Question]:
    """Return the published questions in the published order.

    Args:
        files: The files of the archive.
        book: The book that the questions are about.
        chapters: Its chapters before it is reordered; the questions name chapters by these numbers.

    Raises:
        BadInput: The table of questions is missing, truncated or empty, or a value does not fit.
    """
    path = f"{book.base}/df_qa.parquet"
    of_cue = {chapter.number: dict(zip(CUE_LETTERS, cue_values(chapter), strict=True)) for chapter in chapters}
    texts = {chapter.number: chapter.text for chapter in chapters}
    rows = files.table(path, _ROW)
    if not rows:
        raise BadInput(f"{files.where(path)}: found no rows, expected at least one question")
    return [_question(row, of_cue, texts, f"{files.where(path)}, row {number}") for number, row in enumerate(rows)]


def _question(
    row: Mapping[str, Any], of_cue: Mapping[int, Mapping[str, str]], texts: Mapping[int, str], where: str
) -> Question:
    if not 0 <= row["q_idx"] < len(PUBLISHED_TEMPLATES):
        raise BadInput(f"{where}, field 'q_idx': expected 0 to {len(PUBLISHED_TEMPLATES) - 1}, found {row['q_idx']}")
    template = PUBLISHED_TEMPLATES[row["q_idx"]]
    given = _given(row, template, where)
    matching = sorted(
        number for number, values in of_cue.items() if all(values[letter] == v for letter, v in given.items())
    )
    if len(matching) != row["n_chapters_correct_answer"]:
        raise BadInput(
            f"{where}, field 'n_chapters_correct_answer': expected {len(matching)}, as so many chapters match the cue, "
            f"found {row['n_chapters_correct_answer']}"
        )
    answer = [str(item) for item in row["correct_answer"]]
    if template.trace == "full_details":  # published as "Full chapter 7"
        answer = [texts[number] for number in matching]
    origin = _ORIGINS[row["debug_existing_change"]]
    return question_of(template, given, row["question"], answer, matching, origin)


def _given(row: Mapping[str, Any], template: Template, where: str) -> dict[str, str]:
    """The elements that the cue of a question gives, by letter, after a check that they are those of its template."""
    parts = _CUE_PARTS.findall(row["cue_completed"])
    if len(parts) != len(CUE_LETTERS):
        raise BadInput(f"{where}, field 'cue_completed': expected four elements, found {shown(row['cue_completed'])}")
    given = {letter: value for letter, value in zip(CUE_LETTERS, parts, strict=True) if value}
    if "".join(given) != template.cue or row["get"] != template.get:
        raise BadInput(
            f"{where}: cue {shown(row['cue_completed'])} and get {shown(row['get'])} do not fit template {template.id}"
        )
    return given
