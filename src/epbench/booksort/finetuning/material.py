"""The texts that a model is trained on, and how they are shown to it: as an excerpt is in context (Appendix F)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from epbench.booksort.context.prompts import Pack
from epbench.booksort.context.requests import prompt_of
from epbench.booksort.dataset.load import load_books
from epbench.booksort.texts.books import Published, check_published, read_text, text_files
from epbench.booksort.texts.cleaning import gutenberg_title, sentence_starts, split_at_markers
from epbench.errors import BadInput
from epbench.finetuning.packing import Kind, Sample
from epbench.finetuning.tokens import Learn, SampleTokens, chunk_texts

_WANTED = ".txt files, got none"
_BLANK_LINES = re.compile(r"\n\s*\n")


class TrainingText(NamedTuple):
    """A text to be trained on."""

    id: str  # the book's number in the Book-SORT set
    title: str  # the book's title, as prompts give it
    paragraphs: Sequence[str]  # the paragraphs, with single blanks between words


def books_of_set(dataset: str) -> list[TrainingText]:
    """Return the books of a Book-SORT set as its pairs have them: cleaned, without headings. BadInput if it has none."""
    return [_text(str(b.book_idx), b.title, b.text, f"{dataset}, book {b.book_idx}") for b in load_books(dataset)]


def raw_books(folder: Path) -> list[TrainingText]:
    """Return the texts of a folder without the licence of Project Gutenberg and with everything else, as in the paper.

    Numbers and titles are those of a set that is built from the same folder; see
    `epbench.booksort.texts.books.books_from`. Of the published books, some may be missing here. Headings and footnotes
    stay in the text. BadInput if there is no such folder or no text in it, a text is in another encoding or has no
    words, or one of the published books is there twice or was changed.
    """
    files, published = text_files(folder, _WANTED)
    if published:
        return _published(folder, published)
    texts = []
    for number, path in enumerate(files):
        raw = read_text(path)
        texts.append(_text(str(number), gutenberg_title(raw) or path.stem, split_at_markers(raw)[1], str(path)))
    return texts


def summaries(folder: Path, books: Sequence[TrainingText]) -> list[TrainingText]:
    """Return what was written about some books, in their order, from a folder with `<number or title>.txt` for each book.

    BadInput if a book has no file or two, a file is named like no book, or a text is in another encoding or has no
    words.
    """
    files: dict[str, Path] = {}
    known = {name: book.id for book in books for name in (book.title, book.id)}
    for path in text_files(folder, _WANTED)[0]:
        if path.stem not in known:
            raise BadInput(
                f"{path}: expected the number or title of one of {len(books)} books as its name, such as {_names(books[0])}"
            )
        other = files.setdefault(known[path.stem], path)
        if other != path:
            raise BadInput(
                f"{folder}: expected one summary of book {known[path.stem]}, got {other.name} and {path.name}"
            )
    for book in books:
        if book.id not in files:
            raise BadInput(f"{folder}: expected a summary of every book, got no {_names(book)}")
    return [_text(book.id, book.title, read_text(files[book.id]), str(files[book.id])) for book in books]


def chunks_of_texts(
    texts: Sequence[TrainingText],
    pack: Pack,
    prompt: int,
    tokens: SampleTokens,
    *,
    n_words: int = 5000,
    learn: Learn = "all",
    kind: Kind = "text",
) -> list[Sample]:
    """Return the chunks of texts, of about `n_words` words, as samples, each shown as SORT shows an excerpt in context.

    No word is lost. BadInput, which names the chunk, if it has more tokens than a sample may have, or cannot be written.
    """
    samples, chosen = [], prompt_of(pack, prompt)
    for text in texts:
        for number, chunk in enumerate(chunk_texts(text.paragraphs, sentence_starts(text.paragraphs), n_words)):
            user = chosen.reading.format(title=text.title, excerpt=chunk)
            samples.append(tokens.reading(f"{text.id}/{number}", kind, chosen.system, user, chunk, learn))
    return samples


def _published(folder: Path, files: Sequence[tuple[Path, Published]]) -> list[TrainingText]:
    texts: dict[int, TrainingText] = {}
    for path, book in files:
        if book.id in texts:
            raise BadInput(f"{folder}: expected {book.title!r} once, got {path.name} as well as another file of it")
        raw = read_text(path)
        check_published(raw, book, str(path))
        texts[book.id] = _text(str(book.id), book.title, split_at_markers(raw)[1], str(path))
    return list(texts.values())


def _text(id_: str, title: str, text: str, where: str) -> TrainingText:
    paragraphs = [" ".join(block.split()) for block in _BLANK_LINES.split(text) if block.strip()]
    if not paragraphs:
        raise BadInput(f"{where}: expected a text, got no words")
    return TrainingText(id_, title, paragraphs)


def _names(book: TrainingText) -> str:
    return f"{book.id}.txt or {book.title}.txt"
