"""The nine files of Project Gutenberg with made-up words, in the form that the shipped table describes for each book.

Between the START and END lines are front matter, the narrative with its headings (in number and form as in the real book)
and back matter. The narrative has quoted speech, titles, italics, footnotes, captions, drawings and scene breaks. Next to the
files is a copy of the shipped table with their checksums and numbers of words.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from epbench.booksort.texts import books
from epbench.booksort.texts.books import Published, content_hash, published_books
from tests.booksort.made_texts import paragraphs

T = TypeVar("T")
TABLE = "books.toml"
# Just long enough for 110 excerpts of 20,000 words; one book is shorter than 10,000, as in the paper.
WORDS = {
    69087: 26_000, 72578: 24_500, 72600: 25_000, 72869: 25_500, 72958: 24_000, 72963: 27_000, 72972: 26_500, 73017: 8_000,
    73042: 28_000,
}  # fmt: skip
# Narrative that careless cleaning would damage: capitals that look like numerals, a word right after the end of a sentence.
PLANTED = {
    72972: "Very soon the Vulgaris of Rudge-in-the-Vale came. I went.",
    72963: "It seems. Reality is a Line. When?",
}


@dataclass
class Written:
    """The content of one file."""

    paragraphs: list[str] = field(default_factory=list)  # the narrative
    headings: list[str] = field(default_factory=list)  # as cleaning reports them, in order
    sub_headings: list[str] = field(default_factory=list)  # the run-in headings likewise
    words: int = 0  # of the narrative with headings, footnotes, captions and breaks, as Table 3 counts them
    raw: str = ""  # the text of the file


def write_nine(folder: Path) -> dict[int, Written]:
    """Write the nine files and their table into a folder, and return what was written by number of the book."""
    folder.mkdir(parents=True, exist_ok=True)
    nine = {index: _written(book, WORDS[index]) for index, book in published_books().items()}
    table = books._TABLE.read_text("utf-8")
    for index, written in nine.items():
        digest = content_hash(re.split(r"\*\*\*.*\*\*\*\n", written.raw)[1])
        table = re.sub(
            rf'(id = {index}\n(?:.*\n)*?)words = \d+\nsha256 = "\w+"',
            rf'\g<1>words = {written.words}\nsha256 = "{digest}"',
            table,
        )
        content = written.raw.replace("\n", "\r\n").encode("utf-8-sig" if index != 72963 else "utf-8")
        (folder / f"{index}-0.txt").write_bytes(content)
    (folder / TABLE).write_text(table, "utf-8")
    return nine


@contextmanager
def table_of(folder: Path) -> Iterator[None]:
    """Make the package take the nine books from the table in the folder, if the folder has one."""
    table = folder / TABLE
    with patch.object(books, "_TABLE", table if table.is_file() else books._TABLE):
        published_books.cache_clear()
        try:
            yield
        finally:
            published_books.cache_clear()


def _written(book: Published, n_words: int) -> Written:
    draw = random.Random(book.id)
    written = Written()
    prose = paragraphs(n_words, seed=book.id)
    headings, sub_headings = _spread(_headings(book, draw), len(prose)), _spread(book.rules.sub_headings, len(prose))
    blocks: list[str] = []
    for i, paragraph in enumerate(prose):
        for heading in headings.get(i, ()):
            blocks.append(heading)
            written.headings.append(" ".join(heading.split()))
        text = _spoken(paragraph, draw)
        if i == 0 and not headings:  # an essay begins with its start line
            text = f"{book.rules.start} {text}"
        if i == 3 and book.id in PLANTED:
            text = f"{PLANTED[book.id]} {text}"
        written.paragraphs.append(text)
        if i in sub_headings:
            written.sub_headings.append(sub_headings[i])
            blocks.append(f"{sub_headings[i]}\n{_wrapped(text)}")
        elif i:
            blocks += _marked(text, i, book, draw)
        else:
            blocks.append(_wrapped(text, book.rules.start))
    narrative = "\n\n".join(blocks)
    written.words = len(narrative.split())
    written.raw = _file(book, narrative)
    return written


def _spread(stops: Sequence[T], n: int) -> dict[int, T]:
    """Spread the stops over n paragraphs; return by number of a paragraph what comes before it."""
    return {n * i // len(stops): stop for i, stop in enumerate(stops)}


def _headings(book: Published, draw: random.Random) -> list[list[str]]:
    """Return the headings, in lists of adjacent ones, in the number and form of the real book."""

    def title() -> str:
        return " ".join(draw.sample(["THE", "LAMP", "FERRY", "OLD", "SALT", "DR. K’S", "ROAD"], 3))

    n = {69087: 27, 72958: 24, 72578: 25, 72600: 16, 72869: 20, 72963: 15, 72972: 15, 73042: 56}.get(book.id, 0)
    chapters = [f"CHAPTER {_roman(i)}" for i in range(1, n + 1)]
    match book.id:
        case 69087 | 72958:
            return [[chapter, title()] for chapter in chapters]
        case 72578:
            return [[f"{chapter}\n{title()}"] for chapter in chapters]
        case 72600:
            return [[book.rules.start], *([f"{above}\n{title()}"] for above in [*chapters, "EPILOGUE"])]
        case 72869:
            names = book.rules.headings[1:]
            return [[f"Chapter {_roman(i)}", name] for i, name in enumerate(names, start=1)]
        case 72963:
            return [*([f"Chapter {_roman(i)}\n{title()}"] for i in range(1, n + 1)), ["CONCLUSION"]]
        case 72972:
            return _in_sections([[chapter] for chapter in chapters], 9, _roman)
        case 73042:
            names = [[f"CHAPTER {i}"] for i in range(1, n + 1)]
            for i, number in enumerate(("ONE", "TWO", "THREE", "FOUR", "FIVE")):
                names[12 * i].insert(0, f"BOOK {number}")
            return _in_sections(names, 43, str)
    return []


def _in_sections(chapters: Sequence[list[str]], of_four: int, number: Callable[[int], str]) -> list[list[str]]:
    """Return chapters whose sections have only numbers: four in the first `of_four` chapters, three in the others."""
    return [
        [*(chapter if section == 1 else []), number(section)]
        for i, chapter in enumerate(chapters)
        for section in range(1, 5 if i < of_four else 4)
    ]


def _roman(n: int) -> str:
    return "X" * (n // 10) + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[n % 10]


def _spoken(paragraph: str, draw: random.Random) -> str:
    """Turn some paragraphs into speech, and add a person with a title to others."""
    chance = draw.random()
    if chance < 0.3:
        return f"“{paragraph[:-1]}!” he said."
    if chance < 0.5:
        first, rest = paragraph.split(" ", 1)
        return f"{first} saw {draw.choice(['Mr.', 'Mrs.', 'Dr.', 'St.', 'Prof.'])} {draw.choice('BDGK')}ara {rest}"
    return paragraph


def _marked(text: str, i: int, book: Published, draw: random.Random) -> Iterator[str]:
    """Yield a paragraph as it is in the file, and any blocks after it that are not narrative."""
    words = text.split()
    at = draw.randrange(len(words))
    if draw.random() < 0.2 and words[at].isalpha():
        words[at] = f"_{words[at]}_"
    noted = draw.random() < 0.03
    lines = _wrapped(" ".join(words) + (f"[{i}]" if noted else ""))
    if book.rules.page_breaks and re.match(r".*\w\n", lines):
        lines = lines.replace("\n", "\n\n", 1)
    yield lines
    if noted:
        yield f"[{i}] A note that is no part of what is told."
    if i % 40 == 17:
        yield "[Illustration: _What somebody\ndrew of it._]"
    if i % 60 == 31 and book.id != 73017:  # whose essay ends at such a line
        yield "*       *       *       *       *"
    if i % 90 == 5 and book.rules.labels:
        yield f"Fig. {i % 9}"
    if i in (8, 50) and book.id == 69087:
        yield "[Illustration:\n\n  +---+\n  | x ]  DOOR\n\n  +---+\n]"


def _wrapped(text: str, first_line: str = "") -> str:
    """Wrap a text into lines of 72 characters, except for a first line of any length."""
    head, rest = ([first_line], text.removeprefix(first_line)) if text.startswith(first_line or "\0") else ([], text)
    return "\n".join([*head, *textwrap.wrap(rest.strip(), 72, break_on_hyphens=False, break_long_words=False)])


def _file(book: Published, narrative: str) -> str:
    title = book.title.upper()
    return (
        f"The Project Gutenberg eBook of {book.title}\n\nTitle: {book.title}\n\nAuthor: {book.author}\n\n"
        f"*** START OF THE PROJECT GUTENBERG EBOOK {title} ***\n\n\n\n"
        f"{title}\n\nby {book.author}\n\nContents\n\n  I. A First Thing\n\n\n\n"
        f"{narrative}\n\n\n{book.rules.end}\n\nTranscriber’s note: a few marks were mended.\n\n"
        f"*** END OF THE PROJECT GUTENBERG EBOOK {title} ***\n\nHere stood the terms of Project Gutenberg.\n"
    )
