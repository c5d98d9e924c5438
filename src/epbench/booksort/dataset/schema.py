"""Book-SORT as a dataset: a config per excerpt and segment length, the config `books`, and the manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from epbench.booksort.pairs.bins import EXCERPT_WORDS, SEGMENT_WORDS, distance_bins
from epbench.booksort.pairs.sampling import Cell, PairDraw, draw_pairs
from epbench.booksort.texts.books import Book
from epbench.errors import BadInput
from epbench.hub.dataset_folder import Config

if TYPE_CHECKING:
    from datasets import Features

Task = tuple[Cell, Book]


@dataclass(frozen=True)
class Recipe:
    """What fixes a set besides its books: the same recipe gives the same rows on any machine.

    Attributes:
        excerpt_words: lengths of excerpts.
        segment_words: lengths of segments.
        excerpts: number of test excerpts per book and config.
        validation: number of validation excerpts per book and config.
        seed: of all draws.
    """

    excerpt_words: tuple[int, ...] = EXCERPT_WORDS
    segment_words: tuple[int, ...] = SEGMENT_WORDS
    excerpts: int = 100
    validation: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.excerpts < 1 or self.validation < 0:
            raise BadInput(
                f"{self.excerpts} test and {self.validation} validation excerpts: 1 or more and 0 or more expected"
            )
        for cell in self.cells():
            distance_bins(cell.excerpt_words, cell.segment_words)

    def cells(self) -> list[Cell]:
        """Every combination of lengths, short excerpts first."""
        return [
            Cell(excerpt, segment, self.excerpts, self.validation, self.seed)
            for excerpt in sorted(set(self.excerpt_words))
            for segment in sorted(set(self.segment_words))
        ]

    @property
    def options(self) -> str:
        """Of `builders/booksort.py`, those that differ from the defaults."""
        told = []
        for field in fields(self):
            if (value := getattr(self, field.name)) != field.default:
                text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                told.append(f"--{field.name.replace('_', '-')} {text}")
        return " ".join(told)


def tasks_of(books: Sequence[Book], recipe: Recipe) -> list[Task]:
    """Every cell of every book; a book that is shorter than an excerpt is left out there, as in the paper.

    Raises:
        BadInput: a book is shorter than all excerpts.
    """
    least = min(recipe.excerpt_words)
    for book in books:
        if len(book.words) < least:
            raise BadInput(
                f"{book.file}: {len(book.words)} words of narrative, {least} (the shortest excerpt) expected; remove it, or "
                "ask for shorter excerpts (--excerpt-words)"
            )
    return [(cell, book) for cell in recipe.cells() for book in books if len(book.words) >= cell.excerpt_words]


def make_configs(
    books: Sequence[Book],
    recipe: Recipe,
    progress: Callable[[Sequence[Task]], Iterable[Task]] = iter,
) -> list[Config]:
    """All configs, one entry per split; the first is the default.

    Args:
        books: with texts of their own.
        recipe: what to make of them.
        progress: wraps the cells, to show a bar.

    Raises:
        BadInput: a book is too short, or has too few excerpts.
    """
    rows: dict[tuple[str, str], list[tuple[Cell, Book, PairDraw]]] = {}
    for cell, book in progress(tasks_of(books, recipe)):
        for trial in draw_pairs(cell, book):
            rows.setdefault((cell.config, trial.split), []).append((cell, book, trial))
    pairs = [Config(name, split, _pair_features(), _pair_columns(rows_)) for (name, split), rows_ in rows.items()]
    return [*pairs, Config("books", "test", _book_features(), _book_columns(books))]


def _pair_columns(rows: Sequence[tuple[Cell, Book, PairDraw]]) -> Mapping[str, Sequence[Any]]:
    """Columns of the published set under their names, then ours. An excerpt's text is kept once for its pairs."""
    import numpy as np
    import pyarrow as pa

    excerpts: dict[tuple[int, int], int] = {}
    texts: list[memoryview] = []
    which = []
    for cell, book, trial in rows:
        key = (book.index, trial.excerpt)
        if key not in excerpts:
            excerpts[key] = len(texts)
            texts.append(book.stretch(trial.excerpt, cell.excerpt_words))
        which.append(excerpts[key])
    values = [_values(*row) for row in rows]
    columns: dict[str, Any] = {name: [value[name] for value in values] for name in values[0]}
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    joined = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)))
    columns["excerpt_text"] = pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), joined)
    return columns


def _values(cell: Cell, book: Book, trial: PairDraw) -> dict[str, Any]:
    first, second = trial.pair
    return {
        "id": f"{book.index}-{cell.config}-{trial.excerpt_idx}-{trial.distance_bin}",
        "book_idx": book.index,
        "excerpt_idx": trial.excerpt_idx,
        "segment_idx": 0,
        "excerpt_length": cell.excerpt_words,
        "segment_1": _words(book, first, cell.segment_words),
        "segment_2": _words(book, second, cell.segment_words),
        "segment_length": cell.segment_words,
        "seg1_pos": first - trial.excerpt,
        "seg2_pos": second - trial.excerpt,
        "present_seg1_first": int(trial.first_is_a),
        "distance_bin": trial.distance_bin,
        "excerpt_pos": trial.excerpt / len(book.words),
        "book_title": book.title,
        "num_words": len(book.words),
        "distance": second - first,
        "answer": "A" if trial.first_is_a else "B",
    }


def _words(book: Book, first: int, n: int) -> str:
    return " ".join(book.words[first : first + n])


def _book_columns(books: Sequence[Book]) -> Mapping[str, Sequence[Any]]:
    return {
        "book_idx": [book.index for book in books],
        "book_title": [book.title for book in books],
        "text": [book.text for book in books],
        "n_words": [len(book.words) for book in books],
        "sha256": [book.sha256 for book in books],
    }


def _pair_features() -> Features:
    from datasets import Features, Value

    text, number = Value("string"), Value("int32")
    columns = dict.fromkeys(
        ("id", "book_idx", "excerpt_idx", "segment_idx", "excerpt_text", "excerpt_length", "segment_1", "segment_2",
         "segment_length", "seg1_pos", "seg2_pos", "present_seg1_first", "distance_bin", "excerpt_pos", "book_title",
         "num_words", "distance", "answer"),
        number,
    )  # fmt: skip
    columns |= dict.fromkeys(("id", "segment_1", "segment_2", "book_title", "answer"), text)
    return Features(columns | {"excerpt_text": Value("large_string"), "excerpt_pos": Value("float64")})


def _book_features() -> Features:
    from datasets import Features, Value

    text, number = Value("string"), Value("int32")
    return Features(
        {"book_idx": number, "book_title": text, "text": Value("large_string"), "n_words": number, "sha256": text}
    )


def manifest(books: Sequence[Book], recipe: Recipe, configs: Sequence[Config]) -> str:
    """manifest.json: what the set was made of and what came out, each with its sha256.

    That of a config's split is taken over its rows as JSON objects, one a line, columns in their order, where the long
    texts (`excerpt_text`, `text`) are replaced by their own sha256.
    """
    made: dict[str, dict[str, Any]] = {}
    for config in configs:
        made.setdefault(config.name, {})[config.split] = {"rows": config.n_rows, "sha256": _rows_sha256(config)}
    content = {
        "versions": {library: version(library) for library in ("epbench", "datasets", "numpy", "pyarrow")},
        "recipe": asdict(recipe),
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
    """A column with the sha256 of long texts in their place."""
    if name == "text":
        return [hashlib.sha256(text.encode()).hexdigest() for text in column]
    if name == "excerpt_text":
        texts = [hashlib.sha256(text).hexdigest() for text in column.dictionary.cast("large_binary").to_pylist()]
        return [texts[i] for i in column.indices.to_pylist()]
    return column  # type: ignore[no-any-return]
