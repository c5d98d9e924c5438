"""Write the cards of all published datasets into dataset_cards/.

    python builders/cards.py --out dataset_cards
    python builders/cards.py --texts gutenberg --out dataset_cards

Each dataset is built in memory; only its card is kept. The same cards stand in the folders that the builders write, and
tests hold them against each other. The card of Book-SORT needs its nine books, so it is made with --texts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command

PUBLISHED = (
    ("short", "default", "narrative"),
    ("long", "default", "narrative"),
    ("very-long", "default", "narrative"),
    ("short", "default", "chronological"),
    ("long", "default", "chronological"),
    ("short", "news", "narrative"),
    ("long", "news", "narrative"),
    ("short", "scifi", "narrative"),
    ("long", "scifi", "narrative"),
)

MEMFAIL_ROWS = 100


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--out", type=Path, default=Path("dataset_cards"), help="folder of the cards (dataset_cards)")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="folder of Book-SORT's nine books")
    args = parser.parse_args(argv)

    from rich.progress import track

    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe as SortRecipe
    from epbench.booksort.dataset.schema import make_configs
    from epbench.booksort.texts.books import books_from
    from epbench.memfail.dataset.schema import complete, config_of
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.memfail.templates.rows import make_rows
    from epbench.memfail.validation.card import made_card as memfail_card
    from epbench.memfail.validation.findings import validate
    from epbench.runs.folder import write_text
    from epbench.tulving.dataset.build import Recipe, make_book
    from epbench.tulving.dataset.card import made_card
    from epbench.tulving.dataset.schema import configs_of

    for book, universe, order in track(PUBLISHED, "cards", transient=True):
        recipe = Recipe(book, universe, order=order)  # type: ignore[arg-type]
        data = make_book(recipe)
        write_text(args.out / recipe.name / "README.md", made_card(recipe, data, configs_of(data)))

    tables = {name: complete(name, make_rows(name, MEMFAIL_ROWS, 0)) for name in CONFIGS}
    made_by = f"python builders/memfail.py --rows {MEMFAIL_ROWS} --seed 0"
    configs = [config_of(name, table) for name, table in tables.items()]
    write_text(args.out / "memfail" / "README.md", memfail_card(made_by, configs, validate(tables)))

    if args.texts:
        books, sort_recipe = books_from(args.texts), SortRecipe()
        configs = make_configs(books, sort_recipe)
        card = booksort_card("python builders/booksort.py", books, sort_recipe, configs)
        write_text(args.out / "booksort" / "README.md", card)


if __name__ == "__main__":
    command.run(main)
