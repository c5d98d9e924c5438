"""Write the cards of all published Tulving books into dataset_cards/.

    python builders/cards.py --out dataset_cards

Each book is built in memory; only its card is kept. The same cards stand in the folders that builders/tulving.py
writes, and a test holds the two against each other.
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


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--out", type=Path, default=Path("dataset_cards"), help="folder of the cards (dataset_cards)")
    args = parser.parse_args(argv)

    from rich.progress import track

    from epbench.runs.folder import write_text
    from epbench.tulving.build import Recipe, make_book
    from epbench.tulving.cards import made_card
    from epbench.tulving.dataset import configs_of

    for book, universe, order in track(PUBLISHED, "cards", transient=True):
        recipe = Recipe(book, universe, order=order)  # type: ignore[arg-type]
        data = make_book(recipe)
        write_text(args.out / recipe.name / "README.md", made_card(recipe, data, configs_of(data)))


if __name__ == "__main__":
    command.run(main)
