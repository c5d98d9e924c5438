"""The books of a published archive, in the form in which the tables take books."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from epbench.tulving.dataset.load import fingerprint_of_book
from epbench.tulving.events.new_york import known_spaces
from epbench.tulving.paper.books.book import Asked, PaperBook
from epbench.tulving.released.archive import Archive, ReleasedBook, open_archive
from epbench.tulving.released.books import read_book
from epbench.tulving.released.rounds import n_published_events, published_rounds

_SEED = re.compile(r"_seed(\d+)$")


def read_published(source: Path, count: tuple[Callable[[str], int], str]) -> list[PaperBook]:
    """Read all books of an archive.

    Args:
        source: A zip or a folder.
        count: How the length of a text is counted, and what that counts.

    Raises:
        BadInput: The archive is missing or damaged, or holds no published book.
    """
    archive = open_archive(source)
    return [_read(archive, book, count) for book in archive.books]


def _read(archive: Archive, book: ReleasedBook, count: tuple[Callable[[str], int], str]) -> PaperBook:
    data, rounds = read_book(archive, book), published_rounds(archive.files, book)
    seed, text = _SEED.search(book.root), data.book()
    n_answerable = sum(question.n_chapters > 0 for question in data.questions)
    return PaperBook(
        label=book.name,
        name=book.name,
        source="released",
        length=book.book,
        universe=book.universe,
        order=book.order,
        writer=book.generator,
        seed=int(seed[1]) if seed else None,
        fingerprint=fingerprint_of_book([question._asdict() for question in data.selected], text),
        text=text,
        chapters=data.chapters,
        selected=[Asked(q.template, q.cue, q.bin, q.chapters) for q in data.selected],
        n_answerable=n_answerable,
        n_empty=len(data.questions) - n_answerable,
        tokens=count[0](text),
        tokenizer=count[1],
        n_events=n_published_events(archive.files, book),
        rounds=rounds,
        no_rounds="" if rounds else "the archive does not hold the checks of its candidates",
        coordinates=known_spaces(chapter.event.space for chapter in data.chapters),
    )
