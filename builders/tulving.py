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

import shlex
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
    from epbench.tulving.build import Recipe, dataset_name, make_book
    from epbench.tulving.cards import tulving_card
    from epbench.tulving.dataset import configs_of

    if args.writer != "template":
        raise BadInput(f"unknown writer {args.writer!r}; this version has: template")

    shown = shlex.join(["python", "builders/tulving.py", *_without(argv, "--out")])
    name = dataset_name(args.book, args.universe, args.order)
    if args.released:
        from epbench.tulving import released

        archive = released.open_archive(args.released)
        found = archive.find_book(args.book, args.universe, args.order, args.generator)
        data = released.read_book(archive, found)
        made = f"Read from the published data (book `{found.folder}`) by `{shown}`."
        limits = (
            "`qa` keeps the published questions word for word, in the published order; `all_questions` and `finetune` "
            "were made anew from the published events, in our wording. The published questions were not drawn at "
            "random: of each template and bin they are the first five in alphabetical order of the cue."
        )
        wording = "Chapters and the questions of `qa` are theirs; see their licence before passing them on."
        license = "unknown"
    else:
        recipe = Recipe(
            args.book, args.universe, args.events, args.universe_size, args.seed, args.order, args.selection
        )
        data = make_book(recipe, progress=lambda events: track(events, "chapters", transient=True))
        made = (
            f"By `{shown}`: events are drawn from a universe of {args.universe_size} dates, locations, people and kinds "
            "of event with truncated geometric probabilities, no two with the same date and person or the same date "
            "and location; each chapter was composed from banks of sentences by the template writer (no language "
            "model), and each passed the exact checks: date, location, full name and deed stand word for word in the "
            "planned paragraph and in no other."
        )
        limits = (
            "The prose is composed from templates: plainer and more alike than a model's, so that facts are easier to "
            "find than in a novel; scores compare with those of other systems on this book, not with those of a book "
            "by another writer. Chapters are independent: no event causes another."
        )
        wording = "Names, places, wording and prose are ours."
        license = "mit"

    folder = args.out / name
    configs = configs_of(data)
    card = tulving_card(name, data, configs, made=made, limits=limits, wording=wording, license=license)
    write_dataset(folder, configs, card)
    Console().print(
        f"{folder}: {len(data.chapters)} chapters, {len(data.book().split()):,} words, "
        f"{len(data.questions):,} questions, {len(data.selected)} selected"
    )


def _without(argv: Sequence[str] | None, option: str) -> list[str]:
    """The arguments without one option: where the files went on one machine is not part of the recipe."""
    import sys

    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index(option) if option in words else len(words)
    kept = words[:at] + words[at + 2 :]
    return [Path(word).name if word.endswith(".zip") else word for word in kept]


if __name__ == "__main__":
    command.run(main)
