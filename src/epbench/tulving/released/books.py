"""The published data of the paper (figshare), read into our books.

Its layout: `U<universe>_S<styles>_seed<n>/` with `events.json`, `meta_events.json`, `books/<book>/` (the text, its
chapters and its questions) and `answers/<book>/<run>/` (answers and verdicts by question number). A book's folder is
named `model_<generator>_itermax_10_I<indexing>_nbchapters_<n>_nbtokens_<n>`. Of the books sorted by date only answers
were published; their text and chapter numbers follow from the book that they reorder. A folder below `answers/<book>/`
is a run only if it holds `raw_answers`: what fine-tuning was given (`ftuning_single.id`, `ftuning_single_<n>.jsonl`)
stands there as well, in a folder of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.tulving.chapters.chapter import Chapter, assemble, in_chronological_order
from epbench.tulving.dataset.build import Order, dataset_name
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.events import Event
from epbench.tulving.events.universe import as_texts, load_universe, universe_names
from epbench.tulving.questions.generate import (
    Origin,
    Question,
    all_questions,
    bin_of,
    cue_values,
    question_id,
    unused_values,
)
from epbench.tulving.questions.templates import CUE_LETTERS, TEMPLATES
from epbench.tulving.released.files import Files

_EXPERIMENT = re.compile(r"U(?P<universe>[A-Za-z]+?)(?P<ordered>Ordered)?_S[A-Za-z]+_seed\d+")
_BOOK = re.compile(
    r"model_(?P<generator>.+)_itermax_\d+_I(?P<indexing>[A-Za-z]+)_nbchapters_(?P<chapters>\d+)_nbtokens_\d+"
)
_QA_COLUMNS: dict[str, list[type]] = {
    "q_idx": [int], "question": [str], "cue_completed": [str], "get": [str], "correct_answer": [list],
    "correct_answer_chapters": [list], "n_chapters_correct_answer": [int], "debug_existing_change": [bool, NoneType],
}  # fmt: skip
_CHAPTER_COLUMNS: dict[str, list[type]] = {
    "chapter": [int], "date": [str], "location": [str], "entity": [str], "content": [str], "post_entities": [list],
    "raw_generated_paragraph_idx": [int],
}  # fmt: skip
_ORIGINS: dict[bool | None, Origin] = {None: "book", True: "inner", False: "outer"}


@dataclass(frozen=True)
class ReleasedBook:
    """One published book.

    Attributes:
        root: folder of its experiment inside the archive.
        folder: its own name, as in the archive.
        base: path of the folder with its text and questions (for a reordered book, that of the original).
        universe, generator, n_chapters, order: what it is.
    """

    root: str
    folder: str
    base: str
    universe: str
    generator: str
    n_chapters: int
    order: Order

    @property
    def book(self) -> str:
        """`short`, `long` or `very-long`, by the number of chapters."""
        return "short" if self.n_chapters < 100 else "long" if self.n_chapters < 1000 else "very-long"

    @property
    def name(self) -> str:
        return dataset_name(self.book, self.universe, self.order)


@dataclass(frozen=True)
class Archive:
    """A published archive: its files, its books, and by book the paths of its runs and of the other folders there.

    The keys of both are `<root>/<folder>` of the book.
    """

    files: Files
    books: Sequence[ReleasedBook]
    runs: dict[str, list[str]]
    other_folders: dict[str, list[str]]

    def find_book(self, book: str, universe: str, order: Order, generator: str | None = None) -> ReleasedBook:
        """The one book of that kind.

        Raises:
            BadInput: none or several fit; the message lists what there is.
        """
        kind = [b for b in self.books if (b.book, b.universe, b.order) == (book, universe, order)]
        fitting = [b for b in kind if generator in (None, b.generator)]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            there = ", ".join(sorted({f"{b.name} by {b.generator}" for b in self.books}))
            by = f" by {generator}" if generator else ""
            raise BadInput(f"{self.files.source} has no {dataset_name(book, universe, order)}{by}; it has: {there}")
        names = ", ".join(sorted({b.generator for b in fitting}))
        if len({b.generator for b in fitting}) > 1:
            raise BadInput(f"{self.files.source}: several books fit; choose one by --generator: {names}")
        folders = ", ".join(sorted(f"{b.root}/{b.folder}" for b in fitting))
        raise BadInput(f"{self.files.source}: several books of {names} fit: {folders}")


def open_archive(source: Path) -> Archive:
    """List the books and runs of an archive, a folder or a zip, wherever in it the experiments stand.

    Raises:
        BadInput: no such archive, a damaged or foreign one.
    """
    files = Files(source)
    texts: dict[tuple[str, str], str] = {}  # (experiment's path, book's folder) → path of the book's folder
    answers: dict[tuple[str, str], dict[str, bool]] = {}  # path of a folder of answers → whether it is a run
    for path in files.paths:
        parts = PurePosixPath(path).parts
        at = next((i for i, part in enumerate(parts) if _EXPERIMENT.fullmatch(part)), None)
        if at is None or len(parts) < at + 4 or not _BOOK.fullmatch(parts[at + 2]):
            continue
        key = ("/".join(parts[: at + 1]), parts[at + 2])
        if parts[at + 1] == "books":
            texts[key] = "/".join(parts[: at + 3])
        elif parts[at + 1] == "answers" and len(parts) > at + 4:
            folders, folder = answers.setdefault(key, {}), "/".join(parts[: at + 4])
            folders[folder] = folders.get(folder, False) or parts[at + 4] == "raw_answers"
    books = [_described(root, folder, texts) for root, folder in sorted({*texts, *answers})]
    if not books:
        raise BadInput(f"{source}: no published book in it (folders U…_S…_seed…/books/model_… are expected)")
    runs: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for (root, book), folders in answers.items():
        for path in sorted(folders):
            (runs if folders[path] else others).setdefault(f"{root}/{book}", []).append(path)
    return Archive(files, books, runs, others)


def _described(root: str, folder: str, texts: dict[tuple[str, str], str]) -> ReleasedBook:
    experiment, book = _EXPERIMENT.fullmatch(PurePosixPath(root).name), _BOOK.fullmatch(folder)
    assert experiment is not None and book is not None
    ordered = experiment["ordered"] is not None or book["indexing"] == "ordered"
    base = texts.get((root, folder)) or next(
        (
            path
            for (other_root, other), path in sorted(texts.items())
            if ordered
            and PurePosixPath(other_root).name == PurePosixPath(root).name.replace("Ordered", "")
            and (found := _BOOK.fullmatch(other)) is not None
            and (found["generator"], found["chapters"]) == (book["generator"], book["chapters"])
        ),
        f"{root}/books/{folder}",  # not there; whoever reads it is told so
    )
    return ReleasedBook(
        root=root,
        folder=folder,
        base=base,
        universe=experiment["universe"],
        generator=book["generator"],
        n_chapters=int(book["chapters"]),
        order="chronological" if ordered else "narrative",
    )


def read_book(archive: Archive, book: ReleasedBook) -> BookData:
    """A published book as ours: `selected` holds the published questions word for word, in their order.

    `questions` are made anew from the events, in our wording; outer empty ones take values that our universe of the
    same name lists and no event of the archive uses.

    Raises:
        BadInput: a missing, truncated or foreign file, or a value that does not fit.
    """
    files = archive.files
    chapters, selected = read_questions(files, book)
    events = _events(files, book)
    universe = (
        as_texts(load_universe(book.universe)) if book.universe in universe_names() else {key: [] for key in "tsec"}
    )
    return BookData(
        title=f"{book.name}, as published, by {book.generator}",
        chapters=chapters,
        questions=all_questions(chapters, unused_values(universe, [tuple(event[:4]) for event in events])),
        selected=selected,
        text=files.json(f"{book.base}/book.json", str) if book.order == "narrative" else assemble(chapters),
    )


def read_questions(files: Files, book: ReleasedBook) -> tuple[list[Chapter], list[Question]]:
    """The chapters of a published book in its order, and its questions in the published order.

    Raises:
        BadInput: as `read_book`.
    """
    original = load_chapters(files, book)
    if book.order == "narrative":
        return original, published_questions(files, book, original)
    chapters = in_chronological_order(original)
    place = {(c.event.time, c.event.entity): c.number for c in chapters}
    renumbered = {c.number: place[c.event.time, c.event.entity] for c in original}
    return chapters, [
        question._replace(chapters=sorted(renumbered[chapter] for chapter in question.chapters))
        for question in published_questions(files, book, original)
    ]


def _experiment_of(book: ReleasedBook) -> str:
    """Folder of the experiment that holds the book's text."""
    return book.base.rsplit("/books/", 1)[0]


def load_chapters(files: Files, book: ReleasedBook) -> list[Chapter]:
    """The chapters of the (not reordered) book, cut out of its text one after another.

    Raises:
        BadInput: as `read_book`.
    """
    text = files.json(f"{book.base}/book.json", str)
    path = f"{book.base}/df_book_groundtruth.parquet"
    rows = files.table(path, _CHAPTER_COLUMNS)
    events, plans = _events(files, book), _plans(files, book)
    if len(rows) != book.n_chapters:
        raise BadInput(
            f"{files.where(path)}: {len(rows)} chapters found, {book.n_chapters} expected by the folder's name"
        )
    bodies = _cut(text, len(rows), files.where(f"{book.base}/book.json"))
    chapters = []
    for number, (row, body) in enumerate(zip(rows, bodies, strict=True), 1):
        where, k = f"{files.where(path)}, chapter {number}", row["raw_generated_paragraph_idx"]
        if row["chapter"] != number:
            raise BadInput(f"{where}, field 'chapter': {row['chapter']} found, {number} expected")
        if not 0 <= k < min(len(events), len(plans)):
            raise BadInput(f"{where}: event {k} is not in events.json")
        if [row["date"], row["location"], row["entity"], row["content"]] != events[k][:4]:
            raise BadInput(f"{where}: its event differs from event {k} of events.json")
        if not all(isinstance(name, str) for name in row["post_entities"]):
            found = shown(row["post_entities"])
            raise BadInput(f"{where}, field 'post_entities': {found} found, a list of texts expected")
        chapters.append(
            Chapter(
                number=number,
                event=Event(_day(row["date"], files, path), *events[k][1:5]),
                style=plans[k]["style"],
                n_paragraphs=plans[k]["nb_paragraphs"],
                text=body,
                secondary=tuple(row["post_entities"]),
            )
        )
    return chapters


def _cut(text: str, n: int, where: str) -> list[str]:
    """The texts of the chapters, without their headings."""
    headings = ["Chapter 1\n\n", *(f"\n\n\nChapter {number}\n\n" for number in range(2, n + 1))]
    starts: list[int] = []
    for number, heading in enumerate(headings, 1):
        starts.append(text.find(heading, starts[-1] if starts else 0))
        if starts[-1] < 0:
            raise BadInput(f"{where}: the heading 'Chapter {number}' is missing")
    ends = [*starts[1:], len(text)]
    return [
        text[start + len(heading) : end].strip("\n") for start, heading, end in zip(starts, headings, ends, strict=True)
    ]


def _events(files: Files, book: ReleasedBook) -> list[list[str]]:
    """The planned events: date, location, entity, content and detail of each."""
    path = f"{_experiment_of(book)}/events.json"
    events: list[list[str]] = files.json(path, list)
    for number, event in enumerate(events):
        if not (isinstance(event, list) and len(event) == 5 and all(isinstance(part, str) for part in event)):
            raise BadInput(f"{files.where(path)}, event {number}: {shown(event)} found, a list of five texts expected")
    return events


def _plans(files: Files, book: ReleasedBook) -> list[dict[str, Any]]:
    """How each event was to be told."""
    path = f"{_experiment_of(book)}/meta_events.json"
    plans: list[dict[str, Any]] = files.json(path, list)
    for number, plan in enumerate(plans):
        for name, expected in (("style", str), ("nb_paragraphs", int)):
            if not (isinstance(plan, dict) and isinstance(plan.get(name), expected)):
                raise BadInput(
                    f"{files.where(path)}, event {number}: {shown(plan)} found, an object with {name!r} expected"
                )
    return plans


def _day(text: str, files: Files, path: str) -> Any:
    try:
        return from_words(text)
    except ValueError:
        raise BadInput(f"{files.where(path)}: {shown(text)} is no date such as 'May 07, 2024'") from None


def published_questions(files: Files, book: ReleasedBook, chapters: Sequence[Chapter]) -> list[Question]:
    """The published questions in the published order.

    Args:
        chapters: of the book before it was reordered; the questions name the chapters by these numbers.

    Raises:
        BadInput: as `read_book`.
    """
    path = f"{book.base}/df_qa.parquet"
    of_cue = {chapter.number: dict(zip(CUE_LETTERS, cue_values(chapter), strict=True)) for chapter in chapters}
    texts = {chapter.number: chapter.text for chapter in chapters}
    questions = []
    for number, row in enumerate(files.table(path, _QA_COLUMNS)):
        where = f"{files.where(path)}, row {number}"
        if not 0 <= row["q_idx"] < len(TEMPLATES):
            raise BadInput(f"{where}, field 'q_idx': {row['q_idx']} found, 0 to {len(TEMPLATES) - 1} expected")
        questions.append(_published(row, of_cue, texts, where))
    if not questions:
        raise BadInput(f"{files.where(path)}: no row found, at least one question expected")
    return questions


def _published(row: dict[str, Any], of_cue: dict[int, dict[str, str]], texts: dict[int, str], where: str) -> Question:
    template = TEMPLATES[row["q_idx"]]
    parts = re.findall(r"\{(.*?)\}(?=[,)])|(?<![\w}])\*", row["cue_completed"])
    if len(parts) != len(CUE_LETTERS):
        raise BadInput(f"{where}, field 'cue_completed': {shown(row['cue_completed'])} found, four elements expected")
    given = {letter: value for letter, value in zip(CUE_LETTERS, parts, strict=True) if value}
    if "".join(given) != template.cue or row["get"] != template.get:
        raise BadInput(
            f"{where}: cue {shown(row['cue_completed'])} and get {shown(row['get'])} do not fit template {template.id}"
        )
    matching = sorted(
        number for number, values in of_cue.items() if all(values[letter] == v for letter, v in given.items())
    )
    if len(matching) != row["n_chapters_correct_answer"]:
        raise BadInput(
            f"{where}, field 'n_chapters_correct_answer': {row['n_chapters_correct_answer']} found, "
            f"{len(matching)} chapters match the cue"
        )
    answer = [str(item) for item in row["correct_answer"]]
    if template.trace == "full_details":  # published as "Full chapter 7"
        answer = [texts[number] for number in matching]
    return Question(
        question_id(template.id, given),
        template.id,
        template.cue,
        given.get("t"),
        given.get("s"),
        given.get("e"),
        given.get("c"),
        template.trace,
        template.get,
        row["question"],
        answer,
        matching,
        len(matching),
        bin_of(len(matching)),
        _ORIGINS[row["debug_existing_change"]],
    )
