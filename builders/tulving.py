"""Make a Tulving book and its questions as a dataset.

    python builders/tulving.py --book short --out out
    python builders/tulving.py --book long --universe news --seed 3 --out out
    python builders/tulving.py --book long --order chronological --out out
    python builders/tulving.py --book very-long --events 20000 --universe-size 1000 --out out
    python builders/tulving.py --book short --writer openai:gpt-4o --out out
    python builders/tulving.py --book long --writer vllm:Qwen/Qwen3-32B --tensor-parallel 2 --window 16384 --out out
    python builders/tulving.py --book short --writer openai:gpt-4o-mini --checker openai:gpt-4o --out out
    python builders/tulving.py --book long --writer openai:gpt-4o --plan --out out
    python builders/tulving.py --released episodic-memory-benchmark.zip --book long --out out

Writes OUT/<name>/README.md and OUT/<name>/<config>/*.parquet with the configs qa, all_questions, finetune, chapters
and book, where <name> is short, long, very-long, news-short, long-ordered and so on. Load it with
`load_dataset("OUT/<name>")`, or from anywhere after `python builders/publish.py OUT/<name> --to cache`.

Chapters are composed from templates, or written by a model: hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, or
openai:NAME with --base-url URL for any compatible endpoint (key from OPENAI_API_KEY). A model writes a candidate for
every event, and what is exact is checked by a model: by the writer itself, or by another one with --checker. What fails
is written anew, ten times at most, by a prompt that says what was wrong; an event without a chapter is dropped and
named. writing.json and positions.svg beside README.md tell how it went. --plan prints requests and tokens, of the first
round and at most, and stops: nothing is asked and nothing is written.

A model's chapters are kept in OUT/written-by-<model>: when the same command is given again, or one for another book of
the same universe and seed, nothing is paid twice. The verdicts are kept there under the checker's name, so that another
--checker takes up the same chapters. The writing stops after the first round if no chapter was accepted, and says why;
it ends early if two rounds of 20 candidates or more in all had none accepted. If the checker gives no verdict on a
chapter, also when asked four times, that chapter is neither accepted nor discarded: the command ends with an error, and
asks for the verdict again when it is given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command

if TYPE_CHECKING:
    from epbench.models.protocol import Model
    from epbench.safe_console import SafeConsole
    from epbench.tulving.dataset.build import Recipe
    from epbench.tulving.dataset.schema import BookData


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--book", required=True, help="short (20 events), long (200) or very-long (2000)")
    parser.add_argument("--universe", default="default", help="default (New York), news or scifi")
    parser.add_argument("--events", type=int, help="another number of events; how many the error of too many tells")
    parser.add_argument("--universe-size", type=int, default=100, help="times, spaces, entities, contents (100)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same events; by templates, same rows (0)")
    parser.add_argument("--order", choices=["narrative", "chronological"], default="narrative")
    parser.add_argument("--selection", choices=["uniform", "alphabetical"], default="uniform",
                        help="which five questions of each template and bin; alphabetical is the released rule")  # fmt: skip
    parser.add_argument("--released", type=Path, help="folder or zip of the published data, instead of a new book")
    parser.add_argument("--generator", help="model that wrote the released book, where several fit")
    parser.add_argument("--out", type=Path, required=True, help="folder in which the dataset's folder is made")

    writer = parser.add_argument_group("who writes the chapters")
    writer.add_argument("--writer", default="template", help="template, hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME")
    writer.add_argument("--base-url", help="of an OpenAI-compatible endpoint")
    writer.add_argument(
        "--request-timeout", type=float, default=300.0, metavar="SECONDS",
        help="of one try of one request to an endpoint (300)",
    )  # fmt: skip
    writer.add_argument(
        "--window", type=int, help="tokens: of an endpoint that does not tell, or for vLLM to set aside"
    )
    writer.add_argument("--tensor-parallel", type=int, default=1, help="GPUs for vLLM (1)")
    writer.add_argument("--checker", help="model that checks the chapters, as for --writer (the writer itself)")
    writer.add_argument("--checker-url", help="of the checker's endpoint, if not that of --base-url")
    writer.add_argument("--checker-window", type=int, help="as --window, of the checker")
    writer.add_argument("--plan", action="store_true", help="print what will be made and asked, and stop")
    writer.add_argument("--max-tokens", type=int, default=4096, help="of one chapter, and of one verdict on it (4096)")
    args = parser.parse_args(argv)

    from epbench.hub.dataset_folder import write_dataset
    from epbench.tulving.chapters.report import iteration_table, writing_files
    from epbench.tulving.dataset.build import Recipe
    from epbench.tulving.dataset.card import made_card, released_card
    from epbench.tulving.dataset.schema import configs_of
    from epbench.tulving.released import books as released

    console = command.console()
    _refuse_what_contradicts(args)
    if args.released:
        archive = released.open_archive(args.released)
        found = archive.find_book(args.book, args.universe, args.order, args.generator)
        name, data, more = found.name, released.read_book(archive, found), {}
        configs = configs_of(data)
        card = released_card(name, found.folder, data, configs)
    else:
        recipe = Recipe(
            args.book,
            args.universe,
            args.events,
            args.universe_size,
            args.seed,
            args.order,
            args.selection,
            args.writer,
            args.checker,
        )
        name = recipe.name
        made = _by_templates(recipe, args, console) if args.writer == "template" else _by_a_model(recipe, args, console)
        if made is None:
            return
        data = made
        configs = configs_of(data)
        card = made_card(recipe, data, configs)
        assert data.writing
        more = writing_files(data.writing, data.chapters, recipe.seed)

    folder = args.out / name
    write_dataset(folder, configs, card, more)
    if data.writing and args.writer != "template":
        console.print(iteration_table(data.writing))
        for number, (event, checks) in data.writing.dropped.items():
            about = f"{event.content}, {event.day}, {event.space}, {event.entity}"
            console.print(
                f"dropped: event {number} ({about}); its last candidate failed {', '.join(checks)}", soft_wrap=True
            )
        if data.writing.ended_early:
            console.print("the writing ended early: too many candidates in a row had failed", soft_wrap=True)
    console.print(
        f"{folder}: {len(data.chapters)} chapters, {len(data.book().split()):,} words, "
        f"{len(data.questions):,} questions, {len(data.selected)} selected",
        soft_wrap=True,
    )


def _refuse_what_contradicts(args: Any) -> None:
    from epbench.errors import BadInput

    if args.writer.partition(":")[0] not in ("template", "hf", "vllm", "openai"):
        raise BadInput(
            f"unknown writer {args.writer!r}; there are: template, hf:PATH_OR_ID, vllm:PATH_OR_ID, openai:NAME"
        )
    if args.writer == "template" and (args.checker or args.checker_url or args.checker_window):
        raise BadInput("--checker: no model checks the chapters of templates; name a model that writes with --writer")
    if args.checker is not None and args.checker.partition(":")[0] not in ("hf", "vllm", "openai"):
        raise BadInput(
            f"unknown checker {args.checker!r}; expected a model: hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME"
        )
    if args.released and args.plan:
        raise BadInput("--plan is for a new book; --released takes a published one as it is, and asks no model")
    if args.released and args.writer != "template":
        raise BadInput(f"--writer {args.writer} writes a new book; --released takes a published one as it is")
    if args.max_tokens < 1:
        raise BadInput(f"--max-tokens {args.max_tokens}: at least 1 is expected")


def _by_templates(recipe: Recipe, args: Any, console: SafeConsole) -> BookData | None:
    """The book; None where only the plan is wanted."""
    from epbench.tulving.dataset.build import draw_outline, make_book

    if not args.plan:
        return make_book(recipe, progress=command.bar)
    n = len(draw_outline(recipe).events)
    console.print(f"{n:,} events, and a chapter for each of them from templates; no model is asked", soft_wrap=True)
    console.print(f"the dataset would be written to {args.out / recipe.name}", soft_wrap=True)
    return None


def _by_a_model(recipe: Recipe, args: Any, console: SafeConsole) -> BookData | None:
    """Say what it will cost, refuse what does not fit, then write, with every chapter and verdict kept as it comes.

    Returns:
        The book; None where only the plan is wanted.
    """
    from epbench.hub.dataset_folder import refuse_other_folder
    from epbench.models.load import Options, load_model
    from epbench.models.protocol import weights_of
    from epbench.runs.folder import open_run
    from epbench.runs.secrets import without_login
    from epbench.tulving.chapters.estimate import check_windows, plan_lines
    from epbench.tulving.chapters.loop import first_tasks
    from epbench.tulving.chapters.model_writer import ModelWriter, writing_folder
    from epbench.tulving.dataset.build import draw_outline, make_book

    command.show_log()
    refuse_other_folder(args.out / recipe.name)
    outline = draw_outline(recipe)
    model = load_model(args.writer, Options(args.base_url, args.window, args.tensor_parallel, args.request_timeout))
    kept = writing_folder(args.out, args.writer)
    writer = ModelWriter(
        model, outline.universe, kept, checker=_checker(args), seed=recipe.seed, max_tokens=args.max_tokens
    )

    tasks = first_tasks(outline.events, outline.plans)
    for warning in check_windows(writer, tasks):
        console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
    console.print("\n".join(plan_lines(writer, tasks)), soft_wrap=True)
    console.print(f"what {kept} has is not asked for again", soft_wrap=True)
    if args.plan:
        return None
    identity = {"benchmark": "tulving", "writer": model.name, "base_url": without_login(args.base_url or "")}
    identity |= weights_of(model)
    with open_run(kept, identity, {}):
        return make_book(recipe, writer, command.bar)


def _checker(args: Any) -> Model | None:
    """The model that checks; None for the writer itself, whose weights are then loaded once."""
    from epbench.models.load import Options, load_model

    elsewhere = args.checker_url or args.checker_window  # then it is not the writer, whatever its name
    if args.checker in (None, args.writer) and not elsewhere:
        return None
    options = Options(
        args.checker_url or args.base_url, args.checker_window, args.tensor_parallel, args.request_timeout
    )
    return load_model(args.checker or args.writer, options)


if __name__ == "__main__":
    command.run(main)
