"""How long Book-SORT takes to build, from texts to Parquet, and how large it is.

    python benchmarks/booksort.py
    python benchmarks/booksort.py --quick
    python benchmarks/booksort.py --texts gutenberg

Prints what was run on what, a table, and as its last line one JSON object: seconds (of the whole build, libraries
already imported), megabytes (of the dataset folder), and of_write (the whole build over the time pyarrow takes to write
the same rows as Parquet, with every excerpt written out in memory). Without --texts the texts are made up, of the lengths of
the nine books. Each time is the least of two.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from questions import best, machine

PUBLISHED_WORDS = (69_720, 43_853, 59_081, 79_946, 42_354, 104_530, 82_331, 9_273, 163_217)  # Table 3


def make_texts(folder: Path) -> None:
    """Prose that nobody wrote: sentences of random words, paragraphs and chapters, as many words as the nine books."""
    from epbench.draws import RandomStream

    draws = RandomStream("benchmark booksort")
    syllables = [a + b for a in "bdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol", "ust")]
    words = ["".join(draws.pick(syllables) for _ in range(draws.between(1, 3))) for _ in range(8000)]
    for number, length in enumerate(PUBLISHED_WORDS):
        paragraphs, n = ["CHAPTER I"], 0
        while n < length:
            sentences = []
            for _ in range(draws.between(2, 8)):
                sentence = [draws.pick(words) for _ in range(draws.between(3, 28))]
                sentences.append(" ".join(sentence).capitalize() + ".")
                n += len(sentence)
            paragraphs.append(" ".join(sentences))
        (folder / f"made-up-{number}.txt").write_text("\n\n".join(paragraphs), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="excerpts of 250 and 1000 words only, once")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="folder of the nine books, or of other texts")
    args = parser.parse_args()

    import datasets
    import numpy as np
    import pyarrow
    from rich.console import Console
    from rich.table import Table

    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs, manifest
    from epbench.booksort.pairs import EXCERPT_WORDS
    from epbench.booksort.texts.books import books_from
    from epbench.hub.dataset_folder import write_dataset, write_tables

    console = Console()
    console.print(
        f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pyarrow.__version__}, "
        f"datasets {datasets.__version__}, {machine()}"
    )
    repeats = 1 if args.quick else 2
    recipe = Recipe(EXCERPT_WORDS[:2] if args.quick else EXCERPT_WORDS)
    with tempfile.TemporaryDirectory() as scratch:
        texts = args.texts or Path(scratch) / "texts"
        if not args.texts:
            texts.mkdir()
            make_texts(texts)
        folder = Path(scratch) / "booksort"

        def build() -> int:
            books = books_from(texts)
            configs = make_configs(books, recipe)
            more = {"manifest.json": manifest(books, recipe, configs)}
            write_dataset(folder, configs, booksort_card("python builders/booksort.py", books, recipe, configs), more)
            return sum(config.n_rows for config in configs if config.name != "books")

        seconds, pairs = best(build, repeats)
        megabytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
        books = books_from(texts)
        reading, _ = best(lambda: [book.starts for book in books_from(texts)], repeats)
        drawing, configs = best(lambda: make_configs(books, recipe), repeats)
        writing = 0.0
        for config in configs:  # one table at a time
            table = config.table
            writing += best(lambda t=table: write_tables([t], Path(scratch) / "alone.parquet"), repeats)[0]  # type: ignore[misc]

    shown = Table("what", "seconds")
    shown.add_row(f"whole build, {len(books)} books, {pairs:,} pairs, {megabytes:.0f} MB", f"{seconds:.2f}")
    shown.add_row(f"texts cleaned and split, {sum(len(book.words) for book in books):,} words", f"{reading:.2f}")
    shown.add_row("excerpts and pairs", f"{drawing:.2f}")
    shown.add_row("pyarrow writing the same rows", f"{writing:.2f}")
    console.print(shown)
    result = {
        "seconds": round(seconds, 2),
        "megabytes": round(megabytes, 1),
        "of_write": round(seconds / writing, 2),
        "pairs": pairs,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
