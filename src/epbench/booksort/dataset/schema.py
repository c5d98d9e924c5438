"""Book-SORT as a dataset: one config per excerpt and segment length, the config `books`, and the manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from epbench.booksort.pairs import (
    EXCERPT_WORDS,
    SEGMENT_WORDS,
    WHOLE_BOOK_EDGES,
    Cell,
    PairDraw,
    distance_bins,
    draw_pairs,
    whole_book_bins,
)
from epbench.booksort.texts.books import Book
from epbench.errors import BadInput
from epbench.hub.dataset_folder import Config

if TYPE_CHECKING:
    from datasets import Features


Task = tuple[Cell, Book]


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a set besides its books. The same recipe gives the same rows on any machine."""

    excerpt_words: tuple[int, ...] = EXCERPT_WORDS  # lengths of excerpts in words
    segment_words: tuple[int, ...] = SEGMENT_WORDS  # lengths of segments in words
    excerpts: int = 100  # number of test excerpts per book and config, at least 1
    validation: int = 10  # number of validation excerpts per book and config, at least 0
    seed: int = 0  # seed of all random streams
    # Number of test pairs per book and distance bin in the configs of whole books, such as `book_s50`; a tenth as many
    # are for validation. 0 for no such configs.
    whole_book: int = 0

    def __post_init__(self) -> None:
        for name, least in (("excerpts", 1), ("validation", 0), ("whole_book", 0)):
            if getattr(self, name) < least:
                raise BadInput(f"{name}: expected at least {least}, got {getattr(self, name)}")
        for cell in self.cells():
            if cell.excerpt_words is not None:
                distance_bins(cell.excerpt_words, cell.segment_words)

    def cells(self) -> list[Cell]:
        """Return every combination of lengths, short excerpts first, then whole books."""
        lengths: list[tuple[int | None, int, int]] = [
            (excerpt, self.excerpts, self.validation) for excerpt in sorted(set(self.excerpt_words))
        ]
        if self.whole_book:
            lengths.append((None, self.whole_book, self.whole_book // 10 if self.validation else 0))
        return [
            Cell(excerpt, segment, test, validation, self.seed)
            for excerpt, test, validation in lengths
            for segment in sorted(set(self.segment_words))
        ]

    @property
    def changed(self) -> dict[str, str]:
        """The fields that differ from their defaults, by name, with the items of a tuple separated by blanks."""
        return {
            field.name: " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }


def tasks_of(books: Sequence[Book], recipe: Recipe) -> list[Task]:
    """Return every cell of every book. As in the paper, a book is left out where it is shorter than the excerpts."""
    least = min(recipe.excerpt_words)
    for book in books:
        if len(book.words) < least:
            raise BadInput(
                f"{book.file}: expected at least {least} words of narrative (the shortest excerpt), got {len(book.words)}; "
                "remove the file or ask for shorter excerpts"
            )
    if recipe.whole_book and not any(whole_book_bins(len(book.words), max(recipe.segment_words)) for book in books):
        raise BadInput(f"whole books: expected one of at least {WHOLE_BOOK_EDGES[0]} words and a segment, got none")
    return [(cell, book) for cell in recipe.cells() for book in books if cell.bins(len(book.words))]


def make_configs(
    books: Sequence[Book], recipe: Recipe, progress: Callable[[Sequence[Task]], Iterable[Task]] = iter
) -> list[Config]:
    """Make all configs of books with distinct texts, an entry for each split, the default first; `progress` wraps the cells."""
    rows: dict[tuple[str, str], list[tuple[Cell, Book, PairDraw]]] = {}
    for cell, book in progress(tasks_of(books, recipe)):
        for drawn in draw_pairs(cell, book):
            rows.setdefault((cell.config, drawn.split), []).append((cell, book, drawn))
    pairs = [Config(name, split, _pair_features(), _pair_columns(rows_)) for (name, split), rows_ in rows.items()]
    return [*pairs, _book_config(books)]


def _pair_columns(rows: Sequence[tuple[Cell, Book, PairDraw]]) -> Mapping[str, Sequence[Any]]:
    """The published columns, then ours; the text of an excerpt is stored once, that of a whole book in the config `books`."""
    import numpy as np
    import pyarrow as pa

    excerpts, texts, which = dict[tuple[int, int], int](), list[memoryview](), list[int]()
    values = [_values(*row) for row in rows]
    columns: dict[str, Any] = {name: [value[name] for value in values] for name in values[0]}
    for cell, book, drawn in rows:
        if cell.excerpt_words is None:
            return columns | {"excerpt_text": [None] * len(rows)}
        key = (book.index, drawn.excerpt)
        if key not in excerpts:
            excerpts[key] = len(texts)
            texts.append(book.stretch(drawn.excerpt, cell.excerpt_words))
        which.append(excerpts[key])
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    joined = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)))
    columns["excerpt_text"] = pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), joined)
    return columns


def _values(cell: Cell, book: Book, drawn: PairDraw) -> dict[str, Any]:
    first, second = drawn.pair
    segments = [" ".join(book.words[position : position + cell.segment_words]) for position in drawn.pair]
    return {
        "id": f"{book.index}-{cell.config}-{drawn.excerpt_idx}-{drawn.distance_bin}",
        "book_idx": book.index,
        "excerpt_idx": drawn.excerpt_idx,
        "segment_idx": 0,
        "excerpt_length": cell.excerpt_words or len(book.words),
        "segment_1": segments[0],
        "segment_2": segments[1],
        "segment_length": cell.segment_words,
        "seg1_pos": first - drawn.excerpt,
        "seg2_pos": second - drawn.excerpt,
        "present_seg1_first": int(drawn.first_is_a),
        "distance_bin": drawn.distance_bin,
        "excerpt_pos": drawn.excerpt / len(book.words),
        "book_title": book.title,
        "num_words": len(book.words),
        "distance": second - first,
        "answer": "A" if drawn.first_is_a else "B",
        "choices": segments if drawn.first_is_a else segments[::-1],
    }


_PAIR_COLUMNS = """
    id book_idx excerpt_idx segment_idx excerpt_text excerpt_length segment_1 segment_2 segment_length
    seg1_pos seg2_pos present_seg1_first distance_bin excerpt_pos book_title num_words distance answer
""".split()


def _pair_features() -> Features:
    from datasets import Features, List, Value

    text, number = Value("string"), Value("int32")
    columns = dict.fromkeys(_PAIR_COLUMNS, number)
    columns |= dict.fromkeys(("id", "segment_1", "segment_2", "book_title", "answer"), text)
    long_text, share = Value("large_string"), Value("float64")
    return Features(columns | {"excerpt_text": long_text, "excerpt_pos": share, "choices": List(text)})


def _book_config(books: Sequence[Book]) -> Config:
    from datasets import Features, Value

    text, number, long_text = Value("string"), Value("int32"), Value("large_string")
    features = {"book_idx": number, "book_title": text, "text": long_text, "n_words": number, "sha256": text}
    columns: dict[str, Sequence[Any]] = {
        "book_idx": [book.index for book in books],
        "book_title": [book.title for book in books],
        "text": [book.text for book in books],
        "n_words": [len(book.words) for book in books],
        "sha256": [book.sha256 for book in books],
    }
    return Config("books", "test", Features(features), columns)


def manifest(books: Sequence[Book], recipe: Recipe, configs: Sequence[Config]) -> str:
    """Return manifest.json, which describes the sources and the results of a set, each with its SHA-256.

    The hash of a split is that of its rows as JSON objects without the canary, one per line and with the columns in order,
    in which the long texts (`excerpt_text`, `text`) are replaced by their own hashes.
    """
    made: dict[str, dict[str, Any]] = {}
    for config in configs:
        made.setdefault(config.name, {})[config.split] = {"rows": config.n_rows, "sha256": _rows_sha256(config)}
    content = {
        "versions": {library: version(library) for library in ("epbench", "datasets", "numpy", "pyarrow")},
        "recipe": {name: value for name, value in asdict(recipe).items() if name != "whole_book" or value},
        "books": [
            {
                "book_idx": book.index,
                "book_title": book.title,
                "file_sha256": book.raw_sha256,
                "sha256": book.sha256,
                "words": len(book.words),
                "sentences": len(book.starts),
                "removed": {kind: {"n": n, "words": words} for kind, (n, words) in book.removed_words().items()},
            }
            for book in books
        ],
        "configs": made,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _rows_sha256(config: Config) -> str:
    columns = [_short(name, config.columns[name]) for name in config.features]
    digest = hashlib.sha256()
    for row in zip(*columns, strict=True):
        digest.update(json.dumps(dict(zip(config.features, row, strict=True)), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def _short(name: str, column: Any) -> Sequence[Any]:
    """Return a column in which long texts are replaced by their SHA-256."""
    if name == "text":
        return [hashlib.sha256(text.encode()).hexdigest() for text in column]
    if name == "excerpt_text" and not isinstance(column, list):
        texts = [hashlib.sha256(text.as_buffer()).hexdigest() for text in column.dictionary]
        return [texts[i] for i in column.indices.to_pylist()]
    return column  # type: ignore[no-any-return]
