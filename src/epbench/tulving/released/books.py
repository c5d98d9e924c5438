"""A published book as a book of ours, in the order in which it is read, and how it was written.

Its chapters come from its events, their layouts, and its text, cut at the headings. How it was written is in the checks of
each candidate: `paragraphs_verif_direct/model_<generator>_e<event>_iter<round>.json` is `[passed, [failed checks]]`. A
candidate that passed has a file of the same name in `paragraphs_verif_llm`, `[passed, [failed facts], …]`; a missing one
counts as passed, as it did there. Books of one experiment share these files, since their events are the first of one list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.tulving.chapters.chapter import Chapter, assemble
from epbench.tulving.chapters.loop import Iteration
from epbench.tulving.dataset.build import BOOKS, reordered
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.universe import PUBLISHED_SIZE, Event, as_texts, load_universe
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.questions.generate import (
    EmptyRule,
    Origin,
    Question,
    all_questions,
    cue_values,
    question_of,
    unused_values,
)
from epbench.tulving.questions.templates import CUE_LETTERS, PUBLISHED_TEMPLATES, Template
from epbench.tulving.released.archive import Archive, Files, ReleasedBook

_CHAPTER = fields(
    {
        **dict.fromkeys(("chapter", "raw_generated_paragraph_idx"), Whole),
        "post_entities": list[str],
        **dict.fromkeys(("date", "location", "entity", "content"), str),
    }
)
_Event = tuple[str, str, str, str, str]
"""Date, location, entity, content and detail."""


class _Layout(Struct, frozen=True):
    style: str
    nb_paragraphs: Whole


def published_chapters(files: Files, book: ReleasedBook) -> list[Chapter]:
    """Return the chapters of a book as published, before it is reordered; BadInput if a file or a value does not fit."""
    text = files.json(f"{book.base}/book.json", str)
    path = f"{book.base}/df_book_groundtruth.parquet"
    where = files.where(path)
    rows = files.table(path, _CHAPTER)
    events, layouts = published_events(files, book), files.json(f"{book.experiment}/meta_events.json", list[_Layout])
    if len(rows) != book.n_chapters:
        raise BadInput(f"{where}: found {len(rows)} chapters, expected {book.n_chapters} by the folder's name")
    bodies = _cut(text, len(rows), files.where(f"{book.base}/book.json"))
    chapters = []
    for number, (row, body) in enumerate(zip(rows, bodies, strict=True), 1):
        here = f"{where}, chapter {number}"
        event = _event_of(row, number, events[: len(layouts)], here)
        layout = layouts[row["raw_generated_paragraph_idx"]]
        told, secondary = Event(_day(row["date"], here), *event[1:5]), tuple(row["post_entities"])
        chapters.append(Chapter(number, told, layout.style, layout.nb_paragraphs, body, secondary))
    return chapters


def published_events(files: Files, book: ReleasedBook) -> list[_Event]:
    """Return date, location, entity, content and detail of every event of the book's experiment, told or not."""
    return files.json(f"{book.experiment}/events.json", list[_Event])


def _event_of(row: Mapping[str, Any], number: int, events: list[_Event], where: str) -> _Event:
    """The event that a row of the chapters' table tells, after a check that the two agree."""
    k: int = row["raw_generated_paragraph_idx"]
    if row["chapter"] != number:
        raise BadInput(f"{where}, field 'chapter': expected {number}, found {row['chapter']}")
    if not 0 <= k < len(events):
        raise BadInput(f"{where}: event {k} is not in events.json")
    if (row["date"], row["location"], row["entity"], row["content"]) != events[k][:4]:
        raise BadInput(f"{where}: its event differs from event {k} of events.json")
    return events[k]


def _cut(text: str, n: int, where: str) -> list[str]:
    headings = ["Chapter 1\n\n", *(f"\n\n\nChapter {number}\n\n" for number in range(2, n + 1))]
    starts: list[int] = []
    for number, heading in enumerate(headings, 1):
        starts.append(text.find(heading, starts[-1] if starts else 0))
        if starts[-1] < 0:
            raise BadInput(f"{where}: the heading 'Chapter {number}' is missing")
    parts = zip(headings, starts, [*starts[1:], len(text)], strict=True)
    return [text[start + len(heading) : end].strip("\n") for heading, start, end in parts]


def _day(text: str, where: str) -> date:
    try:
        return from_words(text)
    except ValueError:
        raise BadInput(f"{where}, field 'date': expected a date such as 'May 07, 2024', found {shown(text)}") from None


def read_book(archive: Archive, book: ReleasedBook, *, empty: EmptyRule = "paper") -> BookData:
    """Read a published book; `selected` holds the published questions word for word, in their order.

    `questions` are generated anew from the events, in our wording. Those about values that no event uses take them from
    our universe of the same name. The rule `published` of those without an answer gives as many of them as the published code,
    and the same inner ones, since it also takes the number of unused values from the published universe. BadInput if a file is
    missing, truncated or not what its name says, or a value does not fit.
    """
    files = archive.files
    chapters, selected = read_questions(files, book)
    events = [event[:4] for event in published_events(files, book)]
    known = book.universe in universe_names()
    universe = as_texts(load_universe(book.universe)) if known else {letter: [] for letter in CUE_LETTERS}
    unused = unused_values(universe, events)
    if empty == "paper":
        questions = all_questions(chapters, unused)
    else:
        # The archive has one list of events for books of several lengths.
        told = events[: n_published_events(files, book)]
        taken = {letter: {event[i] for event in told} for i, letter in enumerate(CUE_LETTERS)}
        unused = {letter: values[: PUBLISHED_SIZE - len(taken[letter])] for letter, values in unused.items()}
        original = published_chapters(files, book)
        questions = _in_order_of(book, original, all_questions(original, unused, empty=empty))[1]
    return BookData(
        title=f"{book.name}, as published, by {book.generator}",
        chapters=chapters,
        questions=questions,
        selected=selected,
        text=files.json(f"{book.base}/book.json", str) if book.order == "narrative" else assemble(chapters),
    )


def read_questions(files: Files, book: ReleasedBook) -> tuple[list[Chapter], list[Question]]:
    """Return the chapters of a published book in its order, and its questions in the published order; see `read_book`."""
    original = published_chapters(files, book)
    return _in_order_of(book, original, published_questions(files, book, original))


def _in_order_of(
    book: ReleasedBook, chapters: list[Chapter], questions: list[Question]
) -> tuple[list[Chapter], list[Question]]:
    """Chapters and questions as the book has them, from those before it is reordered."""
    return (chapters, questions) if book.order == "narrative" else reordered(chapters, questions)


_QUESTION = fields(
    {
        **dict.fromkeys(("question", "cue_completed", "get"), str),
        **dict.fromkeys(("q_idx", "n_chapters_correct_answer"), Whole),
        "correct_answer": list[str],
        "correct_answer_chapters": list[Whole],
        "debug_existing_change": bool | None,
    }
)
_CUE_PARTS = re.compile(r"\{(.*?)\}(?=[,)])|(?<![\w}])\*")  # of `(*, {High Line}, {Zoe Brown}, *)`
_ORIGINS: dict[bool | None, Origin] = {None: "book", True: "inner", False: "outer"}


def published_questions(files: Files, book: ReleasedBook, chapters: Sequence[Chapter]) -> list[Question]:
    """Return the published questions in their order, by the numbers of the chapters before the book is reordered."""
    path = f"{book.base}/df_qa.parquet"
    of_cue = {chapter.number: dict(zip(CUE_LETTERS, cue_values(chapter), strict=True)) for chapter in chapters}
    texts = {chapter.number: chapter.text for chapter in chapters}
    rows = files.table(path, _QUESTION)
    if not rows:
        raise BadInput(f"{files.where(path)}: found no rows, expected at least one question")
    return [_question(row, of_cue, texts, f"{files.where(path)}, row {number}") for number, row in enumerate(rows)]


def _question(
    row: Mapping[str, Any], of_cue: Mapping[int, Mapping[str, str]], texts: Mapping[int, str], where: str
) -> Question:
    if not 0 <= row["q_idx"] < len(PUBLISHED_TEMPLATES):
        raise BadInput(f"{where}, field 'q_idx': expected 0 to {len(PUBLISHED_TEMPLATES) - 1}, found {row['q_idx']}")
    template = PUBLISHED_TEMPLATES[row["q_idx"]]
    cue = _cue_values(row, template, where)
    matching = sorted(number for number, values in of_cue.items() if cue.items() <= values.items())
    if len(matching) != row["n_chapters_correct_answer"]:
        raise BadInput(
            f"{where}, field 'n_chapters_correct_answer': expected {len(matching)}, as so many chapters match the cue, "
            f"found {row['n_chapters_correct_answer']}"
        )
    answer = [str(item) for item in row["correct_answer"]]
    if template.trace == "full_details":  # published as "Full chapter 7"
        answer = [texts[number] for number in matching]
    origin = _ORIGINS[row["debug_existing_change"]]
    return question_of(template, cue, row["question"], answer, matching, origin)


def _cue_values(row: Mapping[str, Any], template: Template, where: str) -> dict[str, str]:
    """The elements that the cue of a question gives, by letter, after a check that they are those of its template."""
    parts = _CUE_PARTS.findall(row["cue_completed"])
    if len(parts) != len(CUE_LETTERS):
        raise BadInput(f"{where}, field 'cue_completed': expected four elements, found {shown(row['cue_completed'])}")
    cue = {letter: value for letter, value in zip(CUE_LETTERS, parts, strict=True) if value}
    if "".join(cue) != template.cue or row["get"] != template.get:
        raise BadInput(
            f"{where}: cue {shown(row['cue_completed'])} and get {shown(row['get'])} do not fit template {template.id}"
        )
    return cue


def published_rounds(files: Files, book: ReleasedBook) -> list[Iteration]:
    """Return the rounds of a published book (Table 7); none if the archive does not hold the checks."""
    exact = _checks(files, book, "paragraphs_verif_direct")
    n_events = n_published_events(files, book)
    exact = {candidate: failed for candidate, failed in exact.items() if candidate[0] < n_events}
    doubts = _checks(files, book, "paragraphs_verif_llm")
    rounds = []
    for number in sorted({number for _, number in exact}):
        here = [candidate for candidate in exact if candidate[1] == number]
        n_exact = sum(bool(exact[candidate]) for candidate in here)
        by_model = [doubts.get(candidate, ()) for candidate in here if not exact[candidate]]
        n_model = sum(map(bool, by_model))
        counts = Counter(name for candidate in here for name in exact[candidate])
        counts.update(f"llm_{fact}" for failed in by_model for fact in failed)
        rounds.append(Iteration(len(here), len(here) - n_exact - n_model, n_exact, n_model, dict(counts.most_common())))
    return rounds


def n_published_events(files: Files, book: ReleasedBook) -> int:
    """Return how many events a published book was to tell, with those that have no chapter.

    No file says so. It is the number of the paper's books of that length, unless later events have chapters or the checks
    know fewer events; then it is that of the last event with a chapter.
    """
    rows = files.table(f"{book.base}/df_book_groundtruth.parquet", fields({"raw_generated_paragraph_idx": Whole}))
    n_events = 1 + max((row["raw_generated_paragraph_idx"] for row in rows), default=-1)
    checked = {event for event, _ in _names(files, book, "paragraphs_verif_direct")}
    usual = BOOKS[book.book]
    return usual if n_events <= usual and set(range(usual)) <= checked else n_events


def _names(files: Files, book: ReleasedBook, folder: str) -> dict[tuple[int, int], str]:
    """The paths of the files of a folder by the number of the event, and that of the round from 0."""
    name = re.compile(rf"model_{re.escape(book.generator)}_e(\d+)_iter(\d+)\.json")
    base = f"{book.experiment}/{folder}"
    matches = [(path, name.fullmatch(path)) for path in files.below(base)]
    return {(int(match[1]), int(match[2])): f"{base}/{path}" for path, match in matches if match}


def _checks(files: Files, book: ReleasedBook, folder: str) -> Mapping[tuple[int, int], tuple[str, ...]]:
    return {candidate: _failed(files, path) for candidate, path in _names(files, book, folder).items()}


def _failed(files: Files, path: str) -> tuple[str, ...]:
    content: list[Any] = files.json(path, list[Any])
    passed, failed = (*content[:2], None, None)[:2]
    names = isinstance(failed, list) and all(isinstance(name, str) for name in failed)
    if not isinstance(passed, bool) or not isinstance(failed, list) or not names or passed is not (not failed):
        raise BadInput(f"{files.where(path)}: expected [passed, [names of failed checks]], found {shown(content)}")
    return tuple(failed)
