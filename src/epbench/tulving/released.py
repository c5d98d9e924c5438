"""The published data of the paper (figshare), read into our books.

Its layout: `U<universe>_S<styles>_seed<n>/` with `events.json`, `meta_events.json`, `books/<book>/` (the text, its
chapters and its questions) and `answers/<book>/<run>/` (answers and verdicts by question number). A book's folder is
named `model_<generator>_itermax_10_I<indexing>_nbchapters_<n>_nbtokens_<n>`. Of the books sorted by date only answers
were published; their text and chapter numbers follow from the book that they reorder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from epbench.errors import BadInput
from epbench.tulving.archive import Files
from epbench.tulving.book import Chapter, assemble, in_chronological_order
from epbench.tulving.build import Order, dataset_name
from epbench.tulving.dataset import BookData
from epbench.tulving.dates import from_words
from epbench.tulving.events import Event
from epbench.tulving.questions import Question, all_questions, bin_of, question_id, unused_values
from epbench.tulving.templates import CUE_LETTERS, TEMPLATES
from epbench.tulving.universe import as_texts, load_universe, universe_names

_EXPERIMENT = re.compile(r"U(?P<universe>[A-Za-z]+?)(?P<ordered>Ordered)?_S[A-Za-z]+_seed\d+")
_BOOK = re.compile(
    r"model_(?P<generator>.+)_itermax_\d+_I(?P<indexing>[A-Za-z]+)_nbchapters_(?P<chapters>\d+)_nbtokens_\d+"
)
_QA_COLUMNS = (
    "q_idx", "question", "cue_completed", "get", "correct_answer", "correct_answer_chapters", "n_chapters_correct_answer",
    "debug_existing_change",
)  # fmt: skip
_CHAPTER_COLUMNS = (
    "chapter", "date", "location", "entity", "content", "post_entities", "raw_generated_paragraph_idx",
)  # fmt: skip
_ORIGINS = {None: "book", True: "inner", False: "outer"}


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
    """A published archive: its files, its books, and the paths of its runs by book."""

    files: Files
    books: Sequence[ReleasedBook]
    runs: dict[str, list[str]]  # by `<root>/<folder>` of the book

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
    runs: dict[tuple[str, str], set[str]] = {}
    for path in files.paths:
        parts = PurePosixPath(path).parts
        at = next((i for i, part in enumerate(parts) if _EXPERIMENT.fullmatch(part)), None)
        if at is None or len(parts) < at + 4 or not _BOOK.fullmatch(parts[at + 2]):
            continue
        key = ("/".join(parts[: at + 1]), parts[at + 2])
        if parts[at + 1] == "books":
            texts[key] = "/".join(parts[: at + 3])
        elif parts[at + 1] == "answers" and len(parts) > at + 4:
            runs.setdefault(key, set()).add("/".join(parts[: at + 4]))
    books = [_described(root, folder, texts) for root, folder in sorted({*texts, *runs})]
    if not books:
        raise BadInput(f"{source}: no published book in it (folders U…_S…_seed…/books/model_… are expected)")
    return Archive(files, books, {f"{root}/{folder}": sorted(found) for (root, folder), found in runs.items()})


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
    text = files.json(f"{book.base}/book.json", str)
    original = load_chapters(files, book)
    chapters = in_chronological_order(original) if book.order == "chronological" else original
    place = {(c.event.time, c.event.entity): c.number for c in chapters}
    renumbered = {c.number: place[c.event.time, c.event.entity] for c in original}
    events = files.json(f"{_experiment_of(book)}/events.json", list)
    universe = (
        as_texts(load_universe(book.universe)) if book.universe in universe_names() else {key: [] for key in "tsec"}
    )
    return BookData(
        title=f"{book.name}, as published, by {book.generator}",
        chapters=chapters,
        questions=all_questions(chapters, unused_values(universe, [tuple(event[:4]) for event in events])),
        selected=[question for _, question in published_questions(files, book, original, renumbered)],
        text=text if book.order == "narrative" else assemble(chapters),
    )


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
    events = files.json(f"{_experiment_of(book)}/events.json", list)
    plans = files.json(f"{_experiment_of(book)}/meta_events.json", list)
    if len(rows) != book.n_chapters:
        raise BadInput(
            f"{files.where(path)}: {len(rows)} chapters found, {book.n_chapters} expected by the folder's name"
        )
    starts = [0]
    for number in range(2, len(rows) + 1):
        starts.append(text.find(f"\n\n\nChapter {number}\n\n", starts[-1]))
        if starts[-1] < 0:
            raise BadInput(f"{files.where(book.base + '/book.json')}: the heading 'Chapter {number}' is missing")
    chapters = []
    for row, start, end in zip(rows, starts, [*starts[1:], len(text)], strict=True):
        k = row["raw_generated_paragraph_idx"]
        if not 0 <= k < min(len(events), len(plans)):
            raise BadInput(f"{files.where(path)}, chapter {row['chapter']}: event {k} is not in events.json")
        if [row["date"], row["location"], row["entity"], row["content"]] != events[k][:4]:
            raise BadInput(
                f"{files.where(path)}, chapter {row['chapter']}: its event differs from event {k} of events.json"
            )
        body = text[start:end].strip("\n").split("\n\n", 1)[1]
        chapters.append(
            Chapter(
                number=row["chapter"],
                event=Event(_day(row["date"], files, path), *events[k][1:5]),
                style=plans[k]["style"],
                n_paragraphs=plans[k]["nb_paragraphs"],
                text=body,
                secondary=tuple(row["post_entities"]),
            )
        )
    return chapters


def _day(text: str, files: Files, path: str) -> Any:
    try:
        return from_words(text)
    except ValueError:
        raise BadInput(f"{files.where(path)}: {text!r} is no date such as 'May 07, 2024'") from None


def published_questions(
    files: Files, book: ReleasedBook, chapters: Sequence[Chapter], renumbered: dict[int, int] | None = None
) -> list[tuple[int, Question]]:
    """(published number, question) in the published order.

    Raises:
        BadInput: as `read_book`.
    """
    path = f"{book.base}/df_qa.parquet"
    by_number = {chapter.number: chapter for chapter in chapters}
    questions = []
    for number, row in enumerate(files.table(path, _QA_COLUMNS)):
        where = f"{files.where(path)}, row {number}"
        if not 0 <= row["q_idx"] < len(TEMPLATES):
            raise BadInput(f"{where}, field 'q_idx': {row['q_idx']} found, 0 to {len(TEMPLATES) - 1} expected")
        question = _published(row, by_number, where)
        if renumbered:
            question = question._replace(chapters=sorted(renumbered[chapter] for chapter in question.chapters))
        questions.append((number, question))
    return questions


def _published(row: dict[str, Any], chapters: dict[int, Chapter], where: str) -> Question:
    template = TEMPLATES[row["q_idx"]]
    parts = re.findall(r"\{(.*?)\}(?=[,)])|(?<![\w}])\*", row["cue_completed"])
    if len(parts) != len(CUE_LETTERS):
        raise BadInput(f"{where}, field 'cue_completed': {row['cue_completed']!r} found, four elements expected")
    given = {letter: value for letter, value in zip(CUE_LETTERS, parts, strict=True) if value}
    if "".join(given) != template.cue or row["get"] != template.get:
        raise BadInput(
            f"{where}: cue {row['cue_completed']!r} and get {row['get']!r} do not fit template {template.id}"
        )
    matching = sorted(
        number for number, chapter in chapters.items() if all(_value(chapter, k) == v for k, v in given.items())
    )
    if len(matching) != row["n_chapters_correct_answer"]:
        raise BadInput(
            f"{where}, field 'n_chapters_correct_answer': {row['n_chapters_correct_answer']} found, "
            f"{len(matching)} chapters match the cue"
        )
    answer = [str(item) for item in row["correct_answer"]]
    if template.trace == "full_details":  # published as "Full chapter 7"
        answer = [chapters[number].text for number in matching]
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
        _ORIGINS[row["debug_existing_change"]],  # type: ignore[arg-type]
    )


def _value(chapter: Chapter, letter: str) -> str:
    event = chapter.event
    return {"t": event.day, "s": event.space, "e": event.entity, "c": event.content}[letter]
