"""Write the cards of all published datasets into dataset_cards/.

    python builders/cards.py --out dataset_cards
    python builders/cards.py --texts gutenberg --out dataset_cards

Each dataset is built in memory, and only its card is kept. The builders write the same cards into their folders, and
tests compare the two. The card of Book-SORT needs its nine books, so it is only made with --texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command

if TYPE_CHECKING:
    from epbench.hub.croissant import Card
    from epbench.tulving.dataset.build import Order

BOOKS: tuple[tuple[str, str, Order, int], ...] = (
    ("short", "default", "narrative", 1),
    ("long", "default", "narrative", 1),
    ("very-long", "default", "narrative", 1),
    ("short", "default", "chronological", 1),
    ("long", "default", "chronological", 1),
    ("short", "news", "narrative", 1),
    ("long", "news", "narrative", 1),
    ("short", "scifi", "narrative", 1),
    ("long", "scifi", "narrative", 1),
    ("long", "default", "narrative", 2),
    ("long", "default", "narrative", 3),
    ("long", "default", "narrative", 4),
    ("long", "default", "narrative", 5),
)
"""Book, universe, order and level of each published Tulving book."""

MEMFAIL_ROWS = 100
"""Rows of each published config of MemFail."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What the command line says."""

    out: Path
    texts: Path | None


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    parser.add_argument("--out", type=Path, default=Path("dataset_cards"), help="folder of the cards (dataset_cards)")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="folder with the nine books of Book-SORT")
    return Arguments(**vars(parser.parse_args(argv)))


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)

    from epbench.files.writing import write_text

    for name, card in _tulving_cards():
        write_text(args.out / name / "README.md", card.text)
    write_text(args.out / "memfail" / "README.md", _memfail_card().text)
    if args.texts:
        write_text(args.out / "booksort" / "README.md", _booksort_card(args.texts).text)


def _tulving_cards() -> Iterator[tuple[str, Card]]:
    """Names and cards of the Tulving books, one after another."""
    from epbench.tulving.dataset.build import Recipe, make_book
    from epbench.tulving.dataset.card import made_card
    from epbench.tulving.dataset.schema import configs_of

    for book, universe, order, level in command.bar(BOOKS, "cards", len(BOOKS)):
        recipe = Recipe(book, universe, order=order, level=level)
        data = make_book(recipe)
        made_by = f"python builders/tulving.py --book {book}"
        made_by += f" --universe {universe}" * (universe != "default") + f" --order {order}" * (order != "narrative")
        made_by += f" --level {level}" * (level > 1)
        yield recipe.name, made_card(made_by, recipe, data, configs_of(data))


def _memfail_card() -> Card:
    from epbench.memfail.dataset.card import made_card
    from epbench.memfail.dataset.findings import validate
    from epbench.memfail.dataset.schema import complete, config_of
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.memfail.templates.rows import make_rows

    tables = {name: complete(name, make_rows(name, MEMFAIL_ROWS, 0)) for name in CONFIGS}
    made_by = f"python builders/memfail.py --rows {MEMFAIL_ROWS} --seed 0"
    return made_card(made_by, [config_of(name, table) for name, table in tables.items()], validate(tables))


def _booksort_card(texts: Path) -> Card:
    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs
    from epbench.booksort.texts.books import books_from

    books, recipe = books_from(texts), Recipe()
    return booksort_card("python builders/booksort.py", books, recipe, make_configs(books, recipe))


if __name__ == "__main__":
    command.run(main)
