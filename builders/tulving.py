"""Make a Tulving book and its questions as a dataset.

    python builders/tulving.py --book short --out out
    python builders/tulving.py --book long --universe news --seed 3 --out out
    python builders/tulving.py --book short --universe worlds/harbour --universe-size 40 --out out
    python builders/tulving.py --book long --level 4 --out out
    python builders/tulving.py --book long --order chronological --out out
    python builders/tulving.py --book very-long --events 20000 --universe-size 1000 --out out
    python builders/tulving.py --book short --writer openai:gpt-4o --out out
    python builders/tulving.py --book long --writer vllm:Qwen/Qwen3-32B --tensor-parallel 2 --window 16384 --out out
    python builders/tulving.py --book short --writer openai:gpt-4o-mini --checker openai:gpt-4o --out out
    python builders/tulving.py --book long --writer openai:gpt-4o --plan --out out
    python builders/tulving.py --released episodic-memory-benchmark.zip --book all --out out
    python builders/tulving.py --released episodic-memory-benchmark.zip --book long --generator gpt-4o-2024-05-13 --out out

Writes OUT/<name>/README.md and OUT/<name>/<config>/*.parquet with the configs qa, all_questions, finetune, chapters
and book, where <name> is short, long, very-long, news-short, long-ordered and so on. Load it with
`load_dataset("OUT/<name>")`, or from anywhere after `python builders/publish.py OUT/<name> --to cache`.

--released takes the data of the paper, one zip at https://doi.org/10.6084/m9.figshare.28244480 or a folder that was unpacked
from it, and converts one of its eleven books, or --book all of them. The two books by GPT-4o become short-gpt-4o and
long-gpt-4o.

A universe of your own is a folder with three files, as in src/epbench/tulving/data/universes:
  universe.toml   start and end (dates such as 2024-01-31), kind (novel, news or scifi: the tone), [styles] (three
                  adjectives for each; templates know comedy, detective, fantasy, horror, mystery, news, romance, scifi,
                  thriller and tragedy), [qualifiers] (lists `spaces` and `contents`: words to put before names if a
                  universe needs more of them than there are)
  locations.csv   the column name, and for real locations latitude and longitude
  contents.json   for each kind of event, at least 30 things that a person may do there
and, for books of level 2 and higher, scenes.json and places.json (how each kind of event goes, and what the locations are
like; docs/tulving.md shows both), and, if you like, first.txt and last.txt with the names of your main characters. No name
may occur twice or be part of another. The dataset takes the folder's name: worlds/harbour gives harbour-short.

Levels make a book harder, with the same events and questions: 2 tells scenes (pronouns, side characters who act), 3 tells facts
beside what is not so and half of the kinds of event under another name, 4 tells facts by reference to other chapters, 5 has
outcomes, corrections and witnesses who disagree, and asks for causes and states. The dataset is named after its level (long-l4)
and says which paragraphs prove each fact. From level 2 on, a book in which a fact does not follow from the text is refused.

Chapters are composed from templates, or written by a model: hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, or
openai:NAME with --base-url URL for any compatible endpoint (key from OPENAI_API_KEY). A model writes a candidate for
every event. Exact checks sort out candidates whose facts are missing or misplaced, and a model checks the others: the
writer itself, or another model with --checker. Failed candidates are rewritten, at most ten times, with a prompt that
says what was wrong; an event that still has no chapter is dropped and named. writing.json and positions.svg next to
README.md report how it went. --plan prints requests and tokens, for the first round and at most, and stops: nothing is
asked and nothing is written.

A model's chapters are kept in OUT/written-by-<model>. If you repeat the command, or make another book with the same
universe and seed, nothing is paid twice. Verdicts are kept there under the checker's name, so that another --checker
can check the same chapters. Writing stops after the first round if no chapter was accepted, and says why; it ends early
if at least two rounds with at least 20 candidates in total had none accepted. If the checker gives no verdict on a
chapter in four attempts, that chapter is neither accepted nor discarded: the command ends with an error, and asks for
the verdict again when you repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse

if TYPE_CHECKING:
    from epbench.hub.dataset_folder import Card, Config
    from epbench.tulving.chapters.load import Checker
    from epbench.tulving.chapters.loop import Writing
    from epbench.tulving.chapters.model_writer import ModelWriter
    from epbench.tulving.dataset.build import Outline, Recipe
    from epbench.tulving.dataset.schema import BookData

DEFAULT_WRITER = "template"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    book: str = argument("short (20 events), long (200) or very-long (2000); all, with --released")
    universe: str = argument(
        "default (New York), family, news, scifi, software, ward, or a folder of yours",
        default="default",
        metavar="NAME_OR_DIR",
    )
    level: int = argument(
        "1 template, 2 coherent, 3 distracted, 4 implicit, 5 entangled; same events (1)", default=1, metavar="N"
    )
    events: int | None = argument("another number of events", metavar="N")
    universe_size: int = argument(
        "number of times, of spaces, of entities and of contents (100)", default=100, metavar="N"
    )
    seed: int = argument("same seed, same events; with templates, same rows (0)", default=0)
    order: Literal["narrative", "chronological"] = argument(
        "order of the chapters: shuffled in time as drawn, or by date (narrative)", default="narrative"
    )
    wording: str | None = argument(
        "other words for questions, writer and checker: a file like that of eval_scripts/wording.py, or published:FOLDER",
        metavar="FILE",
    )
    selection: Literal["uniform", "alphabetical"] = argument(
        "which five questions of each template and bin; alphabetical is the released rule", default="uniform"
    )
    empty: Literal["paper", "published"] = argument(
        "how questions without an answer are made: as the paper says, or as in its published data", default="paper"
    )
    released: Path | None = argument("convert a released book, and make none", metavar="ZIP_OR_DIR")
    generator: str | None = argument("model that wrote the released book, if several fit")
    out: Path = argument("folder in which to make the dataset's folder")

    writer: str = argument(
        f"template, {options.MODELS} ({DEFAULT_WRITER})", default=DEFAULT_WRITER, group="who writes the chapters"
    )
    backend: options.Backend = included()
    checker: str | None = argument("model that checks the chapters of a model (the writer itself)")
    checker_url: str | None = argument("address of the checker's endpoint (that of --base-url)", metavar="URL")
    checker_window: int | None = argument("as --window, for the checker", metavar="TOKENS")
    max_tokens: int = argument(
        "longest chapter, and longest verdict on one, in tokens (4096)", default=4096, metavar="N"
    )
    plan: bool = argument("print the number of requests and tokens, and stop")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.tulving.chapters.load import check_writer, load_writer
    from epbench.tulving.chapters.model_writer import ModelWriter, writing_folder
    from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
    from epbench.tulving.wording import read_wording

    check_writer(args.writer, _checker(args))
    if args.released:
        _convert(args, args.released)
        return
    recipe = Recipe(**{field.name: getattr(args, field.name) for field in fields(Recipe)})  # flags have the same names
    outline = draw_outline(recipe)  # universe → events → layouts
    folder, words = writing_folder(args.out, args.writer), read_wording(args.wording)
    writer = load_writer(
        args.writer,
        outline.universe,
        seed=recipe.seed,
        level=recipe.level,
        folder=folder,
        options=args.backend.options,
        checker=_checker(args),
        max_tokens=args.max_tokens,
        prompts=words.get("writer"),
    )
    make = partial(make_book, recipe, outline, writer, command.bar, words.get("questions"))
    if isinstance(writer, ModelWriter):
        _write_by_model(args, recipe, outline, writer, folder, make)
    elif args.plan:
        console, n = command.console(), len(outline.events)
        console.say(f"{n:,} events, and a chapter for each of them by the {writer.name} writer; no model is asked")
        console.say(f"the dataset would be written to {args.out / recipe.name}")
    else:
        _save(args, recipe, make())  # → chapters → questions → selection


def _write_by_model(
    args: Arguments, recipe: Recipe, outline: Outline, writer: ModelWriter, folder: Path, make: Callable[[], BookData]
) -> None:
    """Say what it will cost, refuse what does not fit, then write; every chapter and verdict is kept as it arrives."""
    from epbench.files.secrets import without_login
    from epbench.hub.dataset_folder import refuse_other_folder
    from epbench.models.protocol import weights_of
    from epbench.runs.folder import open_run

    console = command.console()
    command.show_log()
    refuse_other_folder(args.out / recipe.name)
    _print_estimate(writer, outline)
    console.say(f"chapters and verdicts that are already in {folder} are not asked for again")
    if args.plan:
        return
    identity = {"benchmark": "tulving", "writer": writer.name, "base_url": without_login(args.backend.base_url or "")}
    with open_run(folder, identity | weights_of(writer.model), {}):
        data = make()
    _save(args, recipe, data)


def _print_estimate(writer: ModelWriter, outline: Outline) -> None:
    """Print requests and tokens, and warn of windows that are unknown."""
    from epbench.tulving.chapters.load import check_windows, estimate_lines
    from epbench.tulving.chapters.loop import first_tasks

    console, tasks = command.console(), first_tasks(outline.events, outline.layouts, outline.plans)
    for warning in check_windows(writer, tasks):
        console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
    for line in estimate_lines(writer, tasks):
        console.say(line)


def _save(args: Arguments, recipe: Recipe, data: BookData) -> None:
    """Write a new book as a dataset, with the report on its writing."""
    from epbench.tulving.chapters.loop import writing_files
    from epbench.tulving.dataset.card import made_card
    from epbench.tulving.dataset.schema import configs_of

    assert data.writing is not None
    configs, report = configs_of(data), writing_files(data.writing, data.chapters, recipe.seed)
    _write(args.out / recipe.name, data, configs, made_card(made_by(recipe), recipe, data, configs), report)


def made_by(recipe: Recipe) -> str:
    """Return the command that makes the same dataset again, without defaults and the paths of a universe and a wording."""
    from epbench.tulving.events.universe_files import universe_name

    values = vars(recipe) | {"universe": universe_name(recipe.universe)}
    if recipe.wording is not None:
        kind, mark, place = recipe.wording.rpartition(":")
        values["wording"] = f"{kind}{mark}{Path(place).name}"
    options = [
        f"--{field.name.replace('_', '-')} {values[field.name]}"
        for field in fields(recipe)
        if values[field.name] != field.default
    ]
    return " ".join(["python builders/tulving.py", *options])


def _convert(args: Arguments, source: Path) -> None:
    """Write a released book, or all of an archive, as datasets."""
    from epbench.errors import BadInput
    from epbench.tulving.dataset.card import released_card
    from epbench.tulving.dataset.schema import configs_of
    from epbench.tulving.released.archive import open_archive
    from epbench.tulving.released.books import read_book

    if args.plan:
        raise BadInput("--plan is for a new book; --released takes a published book as it is, and asks no model")
    if args.wording:
        raise BadInput("--wording is for a new book; --released takes a published book in the words that it has")
    if args.writer != DEFAULT_WRITER:
        raise BadInput(f"--writer {args.writer} writes a new book; --released takes a published book as it is")
    archive = open_archive(source)
    if args.book == "all" and args.generator:
        raise BadInput("--book all converts the books of every model; leave out --generator, or name the book")
    found = archive.books
    if args.book != "all":
        found = [archive.find_book(args.book, args.universe, args.order, args.generator)]
    command_line = "python builders/tulving.py --released …" + (
        f" --empty {args.empty}" if args.empty != "paper" else ""
    )
    for book in found:
        data = read_book(archive, book, empty=args.empty)
        configs, name = configs_of(data), archive.dataset_of(book)
        card = released_card(command_line, name, book.folder, data, configs)
        _write(args.out / name, data, configs, card, {})


def _write(folder: Path, data: BookData, configs: Sequence[Config], card: Card, report: Mapping[str, str]) -> None:
    """Write the dataset's folder, and print what it holds."""
    from epbench.hub.card import BENCHMARK_FILE, benchmark_yaml
    from epbench.hub.dataset_folder import write_dataset

    tasks = dict.fromkeys(("simple_recall_score", "chronological_awareness"), "qa")
    about = "What a reader remembers of a book in which every chapter is one known event."
    listed = {BENCHMARK_FILE: benchmark_yaml(f"Tulving book, {folder.name}", about, tasks)}
    write_dataset(folder, configs, card.reworded(command.translated), {**report, **listed})
    if data.writing and (data.writing.checker or data.writing.dropped):
        _print_rounds(data.writing)
    command.console().say(
        f"{folder}: {len(data.chapters)} chapters, {data.n_words:,} words, "
        f"{len(data.questions):,} questions, {len(data.selected)} selected"
    )


def _print_rounds(writing: Writing) -> None:
    """Print how the writing went, round by round, and which events have no chapter."""
    from epbench.tulving.chapters.loop import iteration_table

    console = command.console()
    console.print(iteration_table(writing))
    for number, (event, checks) in writing.dropped.items():
        facts = f"{event.content}, {event.day}, {event.space}, {event.entity}"
        console.say(f"dropped: event {number} ({facts}); its last candidate failed {', '.join(checks)}")
    if writing.ended_early:
        console.say("the writing ended early: too many candidates in a row had failed")


def _checker(args: Arguments) -> Checker:
    from epbench.tulving.chapters.load import Checker

    return Checker(args.checker, args.checker_url, args.checker_window)


if __name__ == "__main__":
    command.run(main)
