"""Make Book-SORT: pairs of text segments of which one is to say which came first, and the books that they are from.

    python builders/booksort.py --out out
    python builders/booksort.py --texts gutenberg --out out
    python builders/booksort.py --texts my_texts --excerpt-words 250 1000 --excerpts 20 --validation 4 --out out
    python builders/booksort.py --excerpt-words 250 --segment-words 20 --seed 3 --out out

Without --texts the nine books come from Project Gutenberg, once: they are checked and kept in ~/.cache/epbench/gutenberg
(or $EPBENCH_CACHE/gutenberg). --texts names a folder of these nine files (69087-0.txt and so on), or of other texts in
UTF-8, each a .txt file, which make a set of your own.

Writes OUT/booksort/README.md, OUT/booksort/manifest.json and OUT/booksort/<config>/*.parquet with the configs e250_s20,
e250_s50, e1000_s20 and so on (splits test and validation) and books. Load it with
`load_dataset("OUT/booksort", "e250_s20", split="test")`, or from anywhere after
`python builders/publish.py OUT/booksort --to cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--texts", type=Path, metavar="DIR", help="folder of the nine books, or of texts of your own")
    parser.add_argument("--excerpt-words", type=int, nargs="+", metavar="N", help="words of an excerpt (250 … 20000)")
    parser.add_argument("--segment-words", type=int, nargs="+", metavar="N", help="words of a segment (20 50)")
    parser.add_argument("--excerpts", type=int, default=100, help="test excerpts per book and config (100)")
    parser.add_argument("--validation", type=int, default=10, help="validation excerpts per book and config (10)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same rows on any machine (0)")
    parser.add_argument("--base-url", metavar="URL", help="a mirror of Project Gutenberg (https://www.gutenberg.org)")
    parser.add_argument("--out", type=Path, required=True, help="folder in which the dataset's folder is made")
    args = parser.parse_args(argv)

    from rich.table import Table

    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs, manifest
    from epbench.booksort.pairs.bins import EXCERPT_WORDS, SEGMENT_WORDS
    from epbench.booksort.texts.books import books_from, published_set
    from epbench.booksort.texts.gutenberg import BASE_URL
    from epbench.errors import BadInput
    from epbench.hub.dataset_folder import refuse_other_folder, write_dataset

    recipe = Recipe(
        tuple(args.excerpt_words or EXCERPT_WORDS),
        tuple(args.segment_words or SEGMENT_WORDS),
        args.excerpts,
        args.validation,
        args.seed,
    )
    folder = args.out / "booksort"
    refuse_other_folder(folder)
    if args.texts and args.base_url:
        raise BadInput("--base-url is for downloads and --texts for files that are there; give one of them")

    if args.texts:
        books = books_from(args.texts, lambda files: command.bar(files, "books", len(files)))
    else:
        books = published_set(args.base_url or BASE_URL, lambda files: command.bar(files, "books", len(files)))
    configs = make_configs(books, recipe, lambda tasks: command.bar(tasks, "pairs", len(tasks)))
    write_dataset(
        folder, configs, booksort_card(books, recipe, configs), {"manifest.json": manifest(books, recipe, configs)}
    )

    table = Table("config", "split", "rows", "answer A", "words")
    for column in table.columns[2:]:
        column.justify = "right"
    for config in configs:
        if config.name == "books":
            words, of_a = sum(config.columns["n_words"]), ""
        else:
            words = sum(config.columns["excerpt_length"]) // 4
            of_a = f"{config.columns['answer'].count('A') / config.n_rows:.3f}"
        table.add_row(config.name, config.split, f"{config.n_rows:,}", of_a, f"{words:,}")
    console = command.console()
    console.print(table)
    n_pairs = sum(config.n_rows for config in configs if config.name != "books")
    console.print(f"{folder}: {len(books)} books, {n_pairs:,} pairs", soft_wrap=True)


if __name__ == "__main__":
    command.run(main)
