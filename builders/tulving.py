"""Make a Tulving book and its questions as a dataset.

    python builders/tulving.py --book short --out out
    python builders/tulving.py --book long --universe news --seed 3 --out out
    python builders/tulving.py --book long --order chronological --out out
    python builders/tulving.py --book very-long --events 20000 --universe-size 1000 --out out
    python builders/tulving.py --released episodic-memory-benchmark.zip --book long --out out

Writes OUT/<name>/README.md and OUT/<name>/<config>/*.parquet with the configs qa, all_questions, finetune, chapters
and book, where <name> is short, long, very-long, news-short, long-ordered and so on. Load it with
`load_dataset("OUT/<name>")`, or from anywhere after `python builders/publish.py OUT/<name> --to cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--book", required=True, help="short (20 events), long (200) or very-long (2000)")
    parser.add_argument("--universe", default="default", help="default (New York), news or scifi")
    parser.add_argument("--events", type=int, help="another number of events; how many the error of too many tells")
    parser.add_argument("--universe-size", type=int, default=100, help="times, spaces, entities, contents (100)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same rows on any machine (0)")
    parser.add_argument("--order", choices=["narrative", "chronological"], default="narrative")
    parser.add_argument("--selection", choices=["uniform", "alphabetical"], default="uniform",
                        help="which five questions of each template and bin; alphabetical is the released rule")  # fmt: skip
    parser.add_argument("--writer", default="template", help="who writes the chapters (template)")
    parser.add_argument("--released", type=Path, help="folder or zip of the published data, instead of a new book")
    parser.add_argument("--generator", help="model that wrote the released book, where several fit")
    parser.add_argument("--out", type=Path, required=True, help="folder in which the dataset's folder is made")
    args = parser.parse_args(argv)

    from rich.console import Console
    from rich.progress import track

    from epbench.errors import BadInput
    from epbench.hub.dataset_folder import write_dataset
    from epbench.tulving import released
    from epbench.tulving.build import Recipe, make_book
    from epbench.tulving.cards import made_card, released_card
    from epbench.tulving.dataset import configs_of

    if args.writer != "template":
        raise BadInput(f"unknown writer {args.writer!r}; this version has: template")

    if args.released:
        archive = released.open_archive(args.released)
        found = archive.find_book(args.book, args.universe, args.order, args.generator)
        name, data = found.name, released.read_book(archive, found)
        configs = configs_of(data)
        card = released_card(name, found.folder, data, configs)
    else:
        recipe = Recipe(
            args.book, args.universe, args.events, args.universe_size, args.seed, args.order, args.selection
        )
        name, data = recipe.name, make_book(recipe, progress=lambda events: track(events, "chapters", transient=True))
        configs = configs_of(data)
        card = made_card(recipe, data, configs)

    folder = args.out / name
    write_dataset(folder, configs, card)
    Console().print(
        f"{folder}: {len(data.chapters)} chapters, {len(data.book().split()):,} words, "
        f"{len(data.questions):,} questions, {len(data.selected)} selected"
    )


if __name__ == "__main__":
    command.run(main)
