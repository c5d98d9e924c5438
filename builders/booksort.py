"""Build Book-SORT: pairs of text segments to put in the right order, and the books that they come from.

    python builders/booksort.py --out out
    python builders/booksort.py --texts gutenberg --out out
    python builders/booksort.py --template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 50 --out out/template
    python builders/booksort.py --texts my_texts --excerpt-words 250 1000 --excerpts 20 --validation 4 --out out
    python builders/booksort.py --excerpt-words 250 --segment-words 20 --seed 3 --out out
    python builders/booksort.py --whole-book 300 --excerpt-words 250 --segment-words 50 --out out

Without --texts, the nine books are downloaded once from Project Gutenberg, checked, and kept in
~/.cache/epbench/gutenberg (or $EPBENCH_CACHE/gutenberg). --texts takes a folder of these nine files (69087-0.txt and so on),
or a folder of other UTF-8 texts in .txt files, which become a set of your own. --template-books N makes N books of 200
chapters by the template writer on the spot, for a machine without a network.

Writes OUT/booksort/README.md, OUT/booksort/manifest.json and OUT/booksort/<config>/*.parquet, with the configs e250_s20,
e250_s50, e1000_s20 and so on (splits test and validation) and books. --whole-book 300 adds the configs book_s20 and book_s50,
with 300 pairs from all of each book for every bin of distance up to 40,000 words; ask them with --memory full-book. Load it with
`load_dataset("OUT/booksort", "e250_s20", split="test")`, or from any folder after
`python builders/publish.py OUT/booksort --to cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.booksort.dataset.schema import Recipe
    from epbench.booksort.texts.books import Book
    from epbench.hub.dataset_folder import Config


@dataclass(frozen=True, kw_only=True)
class Arguments:
    texts: Path | None = argument("folder of the nine books, or of your own texts", metavar="DIR")
    template_books: int | None = argument("N books by the template writer, without a network", metavar="N")
    excerpt_words: list[int] | None = argument("words per excerpt (default: 250 1000 2500 10000 20000)", metavar="N")
    segment_words: list[int] | None = argument("words per segment (default: 20 50)", metavar="N")
    excerpts: int = argument("test excerpts per book and config (default: 100)", default=100)
    validation: int = argument("validation excerpts per book and config (default: 10)", default=10)
    whole_book: int = argument(
        "pairs per whole book and distance bin, in configs such as book_s50; 0 for none", default=0, metavar="N"
    )
    seed: int = argument("random seed; the same seed gives the same rows on any machine (default: 0)", default=0)
    base_url: str | None = argument("a mirror of Project Gutenberg (default: https://www.gutenberg.org)", metavar="URL")
    out: Path = argument("folder in which the dataset's folder is made")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.booksort.dataset.card import benchmark_yaml, booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs, manifest
    from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS
    from epbench.hub.card import BENCHMARK_FILE
    from epbench.hub.dataset_folder import refuse_other_folder, write_dataset

    recipe = Recipe(
        tuple(args.excerpt_words or EXCERPT_WORDS),
        tuple(args.segment_words or SEGMENT_WORDS),
        args.excerpts,
        args.validation,
        args.seed,
        args.whole_book,
    )
    folder = args.out / "booksort"
    refuse_other_folder(folder)

    # 1. The books, each reduced to its narrative.
    books = read_books(args)

    # 2. In every book and at every length, excerpts and a pair of segments per distance bin.
    configs = make_configs(books, recipe, lambda cells: command.bar(cells, "pairs", len(cells)))

    # 3. The folder, written as a whole, with a card and the hashes of everything.
    card = booksort_card(made_by(args, books, recipe), books, recipe, configs)
    more = {"manifest.json": manifest(books, recipe, configs), BENCHMARK_FILE: benchmark_yaml(configs)}
    write_dataset(folder, configs, card.reworded(command.translated), more)
    show(configs, len(books), folder)


def read_books(args: Arguments) -> list[Book]:
    from epbench.booksort.texts.books import BASE_URL, books_from, published_set
    from epbench.errors import BadInput

    given = {"--texts": args.texts, "--template-books": args.template_books, "--base-url": args.base_url}
    if len(named := [name for name, value in given.items() if value is not None]) > 1:
        raise BadInput(f"{' and '.join(named)} name different books; use only one of them")
    if args.template_books is not None and args.template_books < 1:
        raise BadInput(f"--template-books: expected at least 1, got {args.template_books}")
    progress = partial(command.bar, what="books")
    if args.template_books:
        with TemporaryDirectory() as folder:
            write_template_books(Path(folder), args.template_books)
            return books_from(Path(folder), lambda files: progress(files, total=len(files)))
    if args.texts:
        return books_from(args.texts, lambda files: progress(files, total=len(files)))
    return published_set(args.base_url or BASE_URL, lambda files: progress(files, total=len(files)))


def write_template_books(folder: Path, n: int) -> None:
    """Write the long books of the template writer with the seeds from 0, as texts."""
    from epbench.files.writing import write_text
    from epbench.tulving.dataset.build import Recipe, make_book

    for seed in range(n):
        book = make_book(Recipe("long", seed=seed))
        write_text(folder / f"{book.title}.txt", book.book())


def made_by(args: Arguments, books: Sequence[Book], recipe: Recipe) -> str:
    """Return the command that makes the same set again; the card shows it."""
    options = [f"--{name.replace('_', '-')} {value}" for name, value in recipe.changed.items()]
    own_texts = [] if all(book.published_words for book in books) else ["--texts DIR"]
    if args.template_books:
        own_texts = [f"--template-books {args.template_books}"]
    return " ".join(["python builders/booksort.py", *own_texts, *options])


def show(configs: Sequence[Config], n_books: int, folder: Path) -> None:
    from epbench.reports.tables import Table

    rows = []
    for config in configs:
        if config.name == "books":
            words, share_a = sum(config.columns["n_words"]), ""
        else:
            texts = zip(*(config.columns[name] for name in ("book_idx", "excerpt_pos", "excerpt_length")), strict=True)
            words = sum(
                length for *_, length in set(texts)
            )  # the pairs of an excerpt, or of a whole book, share its text
            share_a = f"{config.columns['answer'].count('A') / config.n_rows:.3f}"
        rows.append([config.name, config.split, f"{config.n_rows:,}", share_a, f"{words:,}"])
    console = command.console()
    console.print(Table(["config", "split", "rows", "answer A", "words"], rows, text_columns=2))
    n_pairs = sum(config.n_rows for config in configs if config.name != "books")
    console.print(f"{folder}: {n_books} books, {n_pairs:,} pairs", soft_wrap=True)


if __name__ == "__main__":
    command.run(main)
