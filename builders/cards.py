"""Write the cards of all published datasets into dataset_cards/.

    python builders/cards.py --out dataset_cards
    python builders/cards.py --texts gutenberg --out dataset_cards

Each dataset is built in memory, and only its card is kept. The builders write the same cards into their folders, and
tests compare the two. The card of Book-SORT needs its nine books, so it is only made with --texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.hub.dataset_folder import Card

BOOKS: tuple[Mapping[str, Any], ...] = (
    *({"book": book} for book in ("short", "long", "very-long")),
    *({"book": book, "order": "chronological"} for book in ("short", "long")),
    *({"book": book, "universe": universe} for universe in ("news", "scifi") for book in ("short", "long")),
    *({"book": "long", "level": level} for level in (2, 3, 4, 5)),
)
"""What each published Tulving book is made from, besides the defaults."""

MEMFAIL_ROWS = 100
"""Rows of each published config of MemFail."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    out: Path = argument("folder of the cards (dataset_cards)", default=Path("dataset_cards"))
    texts: Path | None = argument("folder with the nine books of Book-SORT", metavar="DIR")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.files.writing import write_text

    cards = [*_tulving_cards(), _memfail_card(), *([_booksort_card(args.texts)] if args.texts else [])]
    for name, card in cards:
        write_text(args.out / name / "README.md", card.text)


def _tulving_cards() -> Iterator[tuple[str, Card]]:
    """Names and cards of the Tulving books, one after another."""
    from epbench.tulving.dataset.build import Recipe, make_book
    from epbench.tulving.dataset.card import made_card
    from epbench.tulving.dataset.schema import configs_of

    for values in command.bar(BOOKS, "cards", len(BOOKS)):
        recipe = Recipe(**values)
        data = make_book(recipe)
        made_by = " ".join(["python builders/tulving.py", *(f"--{name} {value}" for name, value in values.items())])
        yield recipe.name, made_card(made_by, recipe, data, configs_of(data))


def _memfail_card() -> tuple[str, Card]:
    from epbench.memfail.dataset.card import made_card
    from epbench.memfail.dataset.findings import validate
    from epbench.memfail.dataset.load import CONFIGS
    from epbench.memfail.dataset.schema import complete, config_of
    from epbench.memfail.templates.rows import make_rows

    tables = {name: complete(name, make_rows(name, MEMFAIL_ROWS, 0)) for name in CONFIGS}
    made_by = f"python builders/memfail.py --rows {MEMFAIL_ROWS} --seed 0"
    configs = [config_of(name, table) for name, table in tables.items()]
    return "memfail", made_card(made_by, configs, validate(tables))


def _booksort_card(texts: Path) -> tuple[str, Card]:
    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe, make_configs
    from epbench.booksort.texts.books import books_from

    books, recipe = books_from(texts), Recipe()
    return "booksort", booksort_card("python builders/booksort.py", books, recipe, make_configs(books, recipe))


if __name__ == "__main__":
    command.run(main)
