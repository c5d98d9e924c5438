"""A small Book-SORT set on disk: two made-up books, short excerpts, both splits."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from datasets import Dataset, disable_progress_bars

from epbench.draws import RandomStream

CONFIGS = ((120, 20), (250, 20))
BOOKS = {101: "The Lamp at the Ferry", 102: "Salt and Thunder"}
TEST, HELD_OUT = 6, 2
BINS = 4

_VOCABULARY = (
    "harbour lantern captain winter letter bridge garden whisper marble thunder orchard velvet compass island mirror "
    "shadow violin copper meadow station feather hollow candle river kettle window tower needle saddle pepper anchor "
    "basket curtain desert engine fiddle glacier hammer iron jacket kernel ladder magnet narrow ocean pencil quarry "
    "ribbon silver tunnel umbrella village wagon yellow zephyr amber beacon cellar dragon ember falcon granite"
)


def book_text(book: int, words: int = 3000) -> str:
    """Return distinct sentences of seven words, in paragraphs of ten sentences."""
    stream = RandomStream("made-up book", book)
    sentences = []
    while 7 * len(sentences) < words:
        picked = [stream.pick(_VOCABULARY.split()) for _ in range(6)]
        sentences.append(f"{picked[0].title()} {' '.join(picked[1:])} no{len(sentences)}.")
    return "\n\n".join(" ".join(sentences[i : i + 10]) for i in range(0, len(sentences), 10))


def pair_rows(excerpt: int, segment: int, split: str = "test") -> list[dict[str, Any]]:
    """Return the rows of one config, with the published columns and ours."""
    rows = []
    for book, title in BOOKS.items():
        words = book_text(book).split()
        numbers = range(TEST) if split == "test" else range(TEST, TEST + HELD_OUT)
        for number in numbers:
            stream = RandomStream("excerpt", book, excerpt, segment, number)
            start = stream.index(len(words) - excerpt)
            text = words[start : start + excerpt]
            for bin_ in range(BINS):
                distance = segment + bin_ * (excerpt - 2 * segment) // BINS
                first = stream.index(excerpt - segment - distance)
                shown_first = (number + bin_ + book) % 2
                row = {"id": f"{book}-e{excerpt}_s{segment}-{number}-{bin_}", "book_idx": book, "excerpt_idx": number}
                row |= {"segment_idx": 0, "excerpt_text": " ".join(text), "excerpt_length": excerpt}
                for name, at in (("1", first), ("2", first + distance)):
                    row[f"segment_{name}"] = " ".join(text[at : at + segment])
                row |= {"segment_length": segment, "seg1_pos": first, "seg2_pos": first + distance}
                row |= {"present_seg1_first": shown_first, "distance_bin": 100 * (bin_ + 1)}
                row |= {"excerpt_pos": start / len(words), "book_title": title, "num_words": len(words)}
                rows.append(row | {"distance": distance, "answer": "A" if shown_first else "B"})
    return rows


def book_rows() -> list[dict[str, Any]]:
    """Return the rows of the config `books`."""
    rows = []
    for book, title in BOOKS.items():
        text = book_text(book)
        row = {"book_idx": book, "book_title": title, "text": text, "n_words": len(text.split())}
        rows.append(row | {"sha256": hashlib.sha256(text.encode()).hexdigest()})
    return rows


def write_tables(folder: Path, tables: dict[tuple[str, str], list[dict[str, Any]]]) -> Path:
    """Write a dataset folder with these rows by (config, split); the first config is the default."""
    disable_progress_bars()
    for (config, split), rows in tables.items():
        path = folder / config / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_list(rows).to_parquet(path)
    lines = ["---", "configs:"]
    for number, name in enumerate(dict.fromkeys(config for config, _ in tables)):
        lines += [f"- config_name: {name}", f"  default: {'false' if number else 'true'}", "  data_files:"]
        lines += [f"  - {{split: {split}, path: {name}/{split}-*.parquet}}" for of, split in tables if of == name]
    (folder / "README.md").write_text("\n".join([*lines, "---", "# A set for tests"]))
    return folder


def write_set(folder: Path) -> Path:
    """Write the small set: every config of `CONFIGS` with both splits, and the books."""
    tables = {
        (f"e{excerpt}_s{segment}", split): pair_rows(excerpt, segment, split)
        for excerpt, segment in CONFIGS
        for split in ("test", "validation")
    }
    return write_tables(folder, tables | {("books", "test"): book_rows()})
