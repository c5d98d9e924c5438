"""Train all weights of a model on whole books, and measure after every epoch what it remembers of their order.

    accelerate launch finetune/sort_lm.py
    accelerate launch --multi_gpu --num_processes 2 finetune/sort_lm.py --out runs/two
    accelerate launch finetune/sort_lm.py --model smollm2 --config finetune/configs/cpu-smollm2.yaml --out runs/smollm2
    accelerate launch finetune/sort_lm.py --config finetune/configs/one-gpu.yaml --dataset epbench/booksort --model meta-llama/Llama-3.2-1B-Instruct --out runs/books
    accelerate launch --config_file finetune/configs/fsdp2.yaml finetune/sort_lm.py --dataset epbench/booksort --model meta-llama/Meta-Llama-3-8B-Instruct --out runs/books
    accelerate launch finetune/sort_lm.py --dataset epbench/booksort --model Qwen/Qwen3-0.6B --control instructions --out runs/control
    accelerate launch finetune/sort_lm.py --dataset epbench/booksort --model Qwen/Qwen3-0.6B --texts gutenberg --instructions none --max_length 10240 --plan --out runs/plan

Without arguments everything is made on the spot, offline: three books by the template writer, their SORT set, and a tiny
Llama that knows nothing; finetune/configs/cpu.yaml holds its recipe. With --model, the defaults are the paper's recipe.

Texts. The books of the dataset (config `books`), or with --texts the .txt files of a folder, of which only the licence of
Project Gutenberg is cut, as in the paper. Each book is cut into chunks of about --chunk_words words that end where a
sentence ends, and no word is lost. A chunk is a chat message: it stands in a reading prompt of the pack, as an excerpt
does when SORT is asked in-context. The pairs themselves are never trained. A chunk that does not fit into --max_length
tokens, or into the model's window, is refused. (The index of a raw book is full of numbers, of which some tokenizers make a
token for each digit: 5,000 words of it then take 9,500 tokens.)

Instructions. Examples of following instructions keep the model able to answer: a dataset on the Hub, a file, or none.
--control instructions trains on these alone, and --control summaries on summaries of the books (--summaries DIR, a text
for each book, named by its number or title); the books, or the --texts, are then only measured. Compare such a run with the
books: eval_scripts/compare.py runs/books runs/control.

Loss. With --loss all every token is learned, as in the paper, with --loss text only the words of the books and the
answers. A step has --batch_size samples on all processes together, and its loss is the mean over their tokens. (The
reference implementation averages the means of micro-batches.) Samples are packed into rows of at most --row_tokens tokens
within a step, so packing changes only the speed. Weights and the states of the optimizer are in float32, and computation
is in bfloat16 on CUDA.

Measured before training and after every epoch, by the code of eval_scripts/booksort.py on the checkpoint itself: SORT
without context and in-context, the perplexity of the segments, of the books, of instructions and of a text that is never
trained, and a read-out: a logistic regression on the last hidden state, trained on all books but one and tested on that
one. Only the first epoch is episodic, because later ones have seen every text before.

OUT becomes the run's folder: run.json, training.jsonl (every step), measures.jsonl (every epoch), measures/epoch-N (runs
of Book-SORT, for eval_scripts/compare.py and eval_scripts/report.py), checkpoints/epoch-N (the weights in bfloat16, for
hf:OUT/checkpoints/epoch-N or vllm:…), state (what training goes on from), scores.json, table.md and report.html. After a
kill, the same command goes on from the last epoch, to the same weights. --plan prints what it takes, and stops.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.finetuning import launching
from epbench.finetuning.recipe import Recipe

if TYPE_CHECKING:
    from epbench.booksort.context.prompts import Pack
    from epbench.booksort.finetuning.material import TrainingText
    from epbench.booksort.finetuning.measures import SortPlan
    from epbench.finetuning.instructions import Instructions
    from epbench.finetuning.launching import Ranks
    from epbench.finetuning.packing import Sample, Schedule
    from epbench.finetuning.run import TuningRun
    from epbench.finetuning.tokens import SampleTokens

TOY = Path(__file__).parent / "configs" / "cpu.yaml"
PAIRS = ["e250_s20"]
HELD_OUT = 32  # examples and chunks whose perplexity is measured


@dataclass(frozen=True, kw_only=True)
class Arguments(Recipe):
    """The command line: the recipe, and what follows."""

    out: Path = argument("the run's folder", default=Path("runs/sort_lm"))
    model: str | None = argument("folder or name of the model to train, or smollm2 (a tiny Llama, made on the spot)")
    dataset: str | None = argument("epbench/booksort, or a folder like it (template books, made on the spot)")
    template_books: int = argument("how many template books, if no dataset is given", default=3)
    texts: Path | None = argument("folder of .txt files to train on instead of the dataset's books")
    chunk_words: int = argument("words of a chunk, about", default=5000)
    loss: Literal["all", "text"] = argument(
        "which tokens are learned: all, or the texts and answers alone", default="all"
    )
    instructions: str = argument("dataset or file of instructions to mix in, or none", default="teknium/OpenHermes-2.5")
    n_instructions: int = argument("how many of them", default=3500)
    instructions_once: bool = argument("show each of them once in all epochs together, instead of in every epoch")
    control: Literal["instructions", "summaries"] | None = argument("train a control without the books")
    summaries: Path | None = argument("folder of the summaries, for the control of that name")
    pairs: list[str] = argument("configs of the pairs that are asked, e<excerpt>_s<segment>, or all", default=PAIRS)
    limit: int | None = argument("ask only so many pairs, chosen at random")
    prompts: Path | None = argument("another prompt pack, as for eval_scripts/booksort.py")
    prompt: int = argument("number of the prompt, and of the reading around a chunk", default=3)
    held_out: Path | None = argument("text that is never trained, to measure forgetting (a template book)")
    plan: bool = argument("print what it takes, and stop")


@dataclass(frozen=True, kw_only=True)
class Material:
    """What is trained, and what is measured."""

    base: str  # the folder of the model, or its name on the Hub
    tokens: SampleTokens  # turns texts into samples for this model
    pack: Pack  # the prompts
    texts: Sequence[Sample]  # the chunks of the books, or the summaries
    instructions: Instructions | None  # the examples of following instructions, and those that are held out
    plan: SortPlan  # what is measured

    @property
    def samples(self) -> list[Sample]:
        """All samples, the texts first."""
        return [*self.texts, *(self.instructions.samples if self.instructions else ())]


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv, underscores=True, toy=TOY)
    command.show_log()
    with launching.joined() as ranks:
        _run(args, ranks)


def _run(args: Arguments, ranks: Ranks) -> None:
    """The whole method: texts, what they take, training, and what every epoch is worth."""
    from epbench.finetuning.packing import Schedule
    from epbench.finetuning.run import TuningRun
    from epbench.runs.folder import open_run

    _check(args)
    # 1. What is trained and measured.
    material = _material(args, ranks)
    texts, everything = range(len(material.texts)), range(len(material.samples))
    schedule = Schedule(everything, (), args.num_train_epochs, args.seed)
    if args.instructions_once:
        schedule = Schedule(texts, everything[len(texts) :], args.num_train_epochs, args.seed)
    n_steps = _check_cost(args, material, schedule, ranks)
    if args.plan:
        return

    facts = material.instructions.facts if material.instructions else None
    about: dict[str, Any] = {
        "dataset": material.plan.run.evaluation.dataset,
        "label": args.out.name,
        "limit": args.limit,
    }
    about |= {"instructions": facts}
    with open_run(args.out, _identity(args, material), about) if ranks.main else nullcontext():
        run = TuningRun(args.out, ranks, material.base, partial(_measure, args, material, ranks))
        # 2. The model before training.
        run.measure(0)
        # 3. Training; after every epoch, what it is worth.
        with command.counter("steps", n_steps, ranks.main) as done:
            run.train(args, material.tokens.tokenizer, material.samples, schedule, done)
        # 4. The results, from the journals alone.
        if ranks.main:
            _finish(args, run)
    ranks.wait()


# What is trained and measured


def _check(args: Arguments) -> None:
    """Refuse what does not go together, before anything is loaded."""
    from epbench.errors import BadInput

    if args.control == "instructions" and args.instructions == "none":
        raise BadInput("--control instructions trains on instructions alone: expected --instructions, got none")
    if (args.control == "summaries") != (args.summaries is not None):
        raise BadInput("--control summaries and --summaries DIR go together; give both or neither")
    for name in ("template_books", "chunk_words", "n_instructions"):
        if getattr(args, name) < 1:
            raise BadInput(f"--{name}: expected at least 1, got {getattr(args, name)}")


def _material(args: Arguments, ranks: Ranks) -> Material:
    """Load or make the model, the texts, the instructions and the questions."""
    from epbench.booksort.context.prompts import load_prompts
    from epbench.booksort.evaluate import prepare
    from epbench.booksort.evaluation import Evaluation
    from epbench.booksort.finetuning.measures import SortPlan
    from epbench.finetuning.tokens import load_sample_tokens
    from epbench.models.hf.checkpoint import find_checkpoint

    dataset = args.dataset or _toy_set(args, ranks)
    base = find_checkpoint(args.model) if args.model else _toy_model(args, ranks, dataset)
    tokens = load_sample_tokens(base, args.max_length)
    pack = load_prompts(args.prompts)
    instructions = _instructions(args, tokens)
    texts, measured = _texts(args, dataset, pack, tokens, instructions)
    asked = Evaluation(
        dataset=dataset,
        model=launching.model_of(base),
        memory="none",
        pack=pack,
        configs=args.pairs,
        prompt=args.prompt,
        limit=args.limit,
    )
    plan = SortPlan(run=prepare(asked), texts=measured)
    plan.check(asked.model)
    return Material(base=base, tokens=tokens, pack=pack, texts=texts, instructions=instructions, plan=plan)


def _texts(
    args: Arguments, dataset: str, pack: Pack, tokens: SampleTokens, instructions: Instructions | None
) -> tuple[list[Sample], dict[str, Sequence[Sample]]]:
    """What is trained, in chunks: the books, or what stands in for them in a control; and the texts that are measured.

    These are chunks of the books even in a control, held-out instructions, and chunks of a text that is never trained.
    """
    from epbench.booksort.finetuning import material
    from epbench.draws import RandomStream

    chunks = partial(material.chunks_of_texts, pack=pack, prompt=args.prompt, tokens=tokens, n_words=args.chunk_words)
    texts = material.raw_books(args.texts) if args.texts else material.books_of_set(dataset)
    if args.control == "summaries" and args.summaries:
        summaries = material.summaries(args.summaries, material.books_of_set(dataset))
        trained = chunks(summaries, learn=args.loss, kind="summary")
    else:
        trained = [] if args.control else chunks(texts, learn=args.loss)
    books = chunks(texts, learn="text")
    chosen = RandomStream("measured chunks", args.seed).sample(range(len(books)), HELD_OUT)
    measured: dict[str, Sequence[Sample]] = {"books": [books[i] for i in sorted(chosen)]}
    if instructions and instructions.held_out:
        measured["instructions"] = instructions.held_out
    return trained, measured | {"held_out": chunks([_held_out(args)], learn="text")[:HELD_OUT]}


def _held_out(args: Arguments) -> TrainingText:
    """A text that is never trained: a file, or a template book of another universe than any that is made here."""
    from epbench.booksort.finetuning.material import TrainingText
    from epbench.finetuning.tokens import paragraphs_of

    if args.held_out is not None:
        return TrainingText("held out", args.held_out.stem, paragraphs_of(args.held_out))
    title, text = _template_book("news", 0)
    return TrainingText("held out", title, [" ".join(part.split()) for part in text.split("\n\n") if part.strip()])


def _instructions(args: Arguments, tokens: SampleTokens) -> Instructions | None:
    from epbench.errors import BadInput
    from epbench.finetuning.instructions import load_instructions

    if args.instructions == "none":
        return None
    about: dict[str, Any] = {
        "n": args.n_instructions,
        "seed": args.seed,
        "tokens": tokens,
        "learn": args.loss,
        "n_held_out": HELD_OUT,
    }
    if args.dataset is None and args.instructions == Arguments.instructions:
        return load_instructions(None, **about)
    try:
        return load_instructions(args.instructions, **about, progress=command.bar)
    except BadInput as error:
        raise BadInput(
            f"{error} (fewer --n_instructions, another --instructions FILE, or --instructions none)"
        ) from None


def _template_book(universe: str, seed: int) -> tuple[str, str]:
    """Title and text of a short book by the template writer."""
    from epbench.tulving.dataset.build import Recipe as BookRecipe
    from epbench.tulving.dataset.build import make_book

    book = make_book(BookRecipe("short", universe=universe, seed=seed))
    return book.title, book.book()


def _toy_folder(args: Arguments) -> Path:
    """Where what is made on the spot lies: beside the run's folder, for the next run too."""
    return args.out.parent / "toy-sort"


def _toy_set(args: Arguments, ranks: Ranks) -> str:
    """Template books and their SORT set; the same on every machine."""
    from epbench.booksort.dataset.card import booksort_card
    from epbench.booksort.dataset.schema import Recipe as PairRecipe
    from epbench.booksort.dataset.schema import make_configs, manifest
    from epbench.booksort.texts.books import books_from
    from epbench.files.writing import write_text
    from epbench.hub.dataset_folder import write_dataset

    made = _toy_folder(args) / f"{args.template_books}-books"
    folder, sources = made / "booksort", made / "texts"
    if ranks.main and not folder.is_dir():
        for seed in range(args.template_books):
            title, text = _template_book("default", seed)
            write_text(sources / f"{title}.txt", text)
        books, recipe = books_from(sources), PairRecipe((250,), (20,), 10, 2)
        configs = make_configs(books, recipe)
        lengths = "--excerpt-words 250 --segment-words 20 --excerpts 10 --validation 2"
        made_by = f"python builders/booksort.py --texts {sources} {lengths}"
        card = booksort_card(made_by, books, recipe, configs)
        write_dataset(folder, configs, card, {"manifest.json": manifest(books, recipe, configs)})
    ranks.wait()
    return str(folder)


def _toy_model(args: Arguments, ranks: Ranks, dataset: str) -> str:
    """A tiny Llama whose tokenizer knows the words of the books."""
    from epbench.booksort.dataset.load import fingerprint, load_books
    from epbench.finetuning.launching import make_toy_model

    books = load_books(dataset)
    folder = _toy_folder(args) / f"model-{fingerprint(books)}"
    if ranks.main:
        make_toy_model(folder, [book.text for book in books])
    ranks.wait()
    return str(folder)


# What it takes


def _check_cost(args: Arguments, material: Material, schedule: Schedule, ranks: Ranks) -> int:
    """Say what the training takes, and refuse it where memory or disk do not suffice. Returns the number of steps."""
    steps = -(-len(schedule.order(0)) // args.batch_size)
    n_tokens = sum(len(material.samples[i].ids) for i in schedule.order(0))
    lines = [
        f"{len(material.texts):,} chunks of text, {len(material.samples) - len(material.texts):,} instructions; "
        f"{n_tokens:,} tokens and {steps:,} steps in an epoch, {args.num_train_epochs:,} epochs, {ranks.n} processes"
    ]
    lines += launching.check_cost(args, material.base, ranks, args.out)
    if ranks.main:
        command.console().say("\n".join(lines))
    return steps * args.num_train_epochs


# What is measured, and what the run gave


def _measure(args: Arguments, material: Material, ranks: Ranks, base: str, folder: Path) -> dict[str, Any] | None:
    """What the model before training, or a checkpoint, is worth."""
    from epbench.booksort.finetuning.measures import measure

    return measure(launching.model_of(base), folder, material.plan, ranks, {"label": folder.name}, command.bar)


def _identity(args: Arguments, material: Material) -> dict[str, Any]:
    """What tells this run from another one: a folder is resumed only by a run of the same identity."""
    from epbench.booksort.dataset.load import fingerprint
    from epbench.finetuning.packing import fingerprint_of_samples
    from epbench.journals.answers import fingerprint_of
    from epbench.models.protocol import weights_of

    model, plan = launching.model_of(args.model or material.base), material.plan
    identity: dict[str, Any] = {"benchmark": "finetuning", "method": "sort_lm", "model": model.name} | weights_of(model)
    identity |= {"training_data": fingerprint_of_samples(material.samples), "control": args.control}
    identity |= {
        # What is made by rules is not what the default names.
        "instructions": material.instructions.facts["source"] if material.instructions else args.instructions,
        "instructions_once": args.instructions_once,
        "loss": args.loss,
    }
    identity |= args.identity()
    identity |= {"pairs": fingerprint(plan.run.pairs), "prompts": fingerprint_of(material.pack), "prompt": args.prompt}
    return identity | {
        "measured_texts": {name: fingerprint_of_samples(samples) for name, samples in plan.texts.items()}
    }


def _finish(args: Arguments, run: TuningRun) -> None:
    """Compare the epochs, and write and show the results."""
    from epbench.booksort.finetuning.measures import html_report, scores_of, tables_of
    from epbench.booksort.scores.comparison import compare
    from epbench.files.json_files import write_json
    from epbench.files.writing import write_text
    from epbench.finetuning.curves import training_table
    from epbench.finetuning.run import measured_folder
    from epbench.finetuning.trainer import epoch_folder
    from epbench.reports.comparison import comparison_tables
    from epbench.reports.tables import in_markdown
    from epbench.runs.folder import read_run

    measures = run.measures()
    folders = {f"epoch {m['epoch']}": measured_folder(args.out, m["epoch"]) / "sort" for m in measures}
    comparison = compare(folders)
    scores = scores_of(measures, run.steps(), comparison, args.method, args.control)
    tables = tables_of(scores)
    write_json(args.out / "scores.json", scores)
    write_text(args.out / "table.md", in_markdown([*tables, *comparison_tables(comparison)], scores["warnings"]))
    write_text(args.out / "report.html", html_report(args.out.name, read_run(args.out), scores, comparison))
    console = command.console()
    with_first = replace(comparison, pairs=[pair for pair in comparison.pairs if pair["runs"][0] == "epoch 0"])
    for table in [*tables, *comparison_tables(with_first), training_table(args.method, scores["training"])]:
        console.print(table)
    for warning in scores["warnings"]:
        command.warn(warning)
    console.say(f"checkpoints: hf:{epoch_folder(args.out, args.num_train_epochs)} and those of earlier epochs")
    console.say(f"report: {args.out / 'report.html'}")


if __name__ == "__main__":
    command.run(main, extra="finetune")
