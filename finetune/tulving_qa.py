"""Train all weights of a model on questions about a book and their answers, and measure what it then knows of the book.

    accelerate launch finetune/tulving_qa.py
    accelerate launch --multi_gpu --num_processes 2 finetune/tulving_qa.py --out runs/two
    accelerate launch finetune/tulving_qa.py --dataset epbench/short --model Qwen/Qwen3-0.6B --out runs/qa
    accelerate launch --config_file finetune/configs/fsdp2.yaml finetune/tulving_qa.py --dataset epbench/long --model meta-llama/Llama-3.1-8B-Instruct --judge openai:gpt-4o --out runs/long-qa
    python finetune/tulving_qa.py --dataset epbench/short --model openai:gpt-4o-mini-2024-07-18 --out runs/openai
    accelerate launch finetune/tulving_qa.py --dataset epbench/long --model Qwen/Qwen3-0.6B --lora_r 16 --learning_rate 2e-4 --plan
    python eval_scripts/tulving.py --dataset epbench/short --memory none --model hf:runs/qa/checkpoints/epoch-30 --out runs/asked-again
    python eval_scripts/compare.py runs/qa

This is the paper's fine-tuning as memory (Section 5.1 and Appendix B.2.5). Without arguments everything is made on the spot,
offline: a book of five chapters by the template writer, and a tiny Llama that knows nothing, with the recipe of
finetune/configs/tulving-cpu.yaml. With --model, the defaults are the paper's 30 epochs and 64 questions a step. The paper
gives no learning rate, only a multiplier of a rate that OpenAI does not tell; the default here is a usual one.

What is trained. The dataset's config `finetune`: every question about exactly one chapter, with its answer (468 questions
of the published short book, 3,199 of the long one). A question stands in the very prompt in which eval_scripts/tulving.py
--memory none asks it, token for token, and that prompt names the book. Only the answers are learned, with the token that
ends them.

What is measured, before training and after every epoch that leaves a checkpoint: F1 by the number of matching chapters, by
the code of eval_scripts/tulving.py on the checkpoint itself, and the perplexity of the trained answers and of a text that is
never trained. All questions of bin 1 are trained, so this bin shows what was memorised word for word. The others show
whether facts that were trained one by one are put together (bins 2 and up), and whether the model confabulates (bin 0). The
questions of a published book have words of their own and are trained in ours, so that its bin 1 is a test of other words.

The judge works in the main process, after the answers of an epoch. lexical and minilm cost nothing; a model is asked
about every epoch again. To have it judge only some epochs, train with lexical and give eval_scripts/tulving.py --rejudge
the folders measures/epoch-N/tulving. This command, given again, then shows the scores of these folders as they are.

With --model openai:NAME nothing is trained here. OUT gets examples.jsonl, in OpenAI's chat format, and settings.json, the
fields of the job with the paper's 30 epochs, batch of 64 and multiplier of 1.8. You upload the one and start the job with
the other (docs/finetuning.md). --job FILE, with the job as the API returned it, then says how to ask its model.

OUT becomes the run's folder: run.json, training.jsonl (every step), measures.jsonl (every measured epoch),
measures/epoch-N/tulving (runs like any other, which eval_scripts/compare.py OUT compares), checkpoints/epoch-N (the
weights in bfloat16, for hf:OUT/checkpoints/epoch-N or vllm:…), state (what training goes on from), scores.json, table.md
and report.html. After a kill, the same command goes on from the last checkpoint, to the same weights. --plan prints what
it takes, and stops.
"""  # noqa: E501

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, parse
from epbench.errors import BadInput
from epbench.finetuning import launching
from epbench.finetuning.recipe import Recipe

if TYPE_CHECKING:
    from epbench.finetuning.launching import Ranks
    from epbench.finetuning.packing import Sample
    from epbench.finetuning.run import TuningRun
    from epbench.finetuning.tokens import SampleTokens
    from epbench.tulving.context.requests import Reading
    from epbench.tulving.dataset.load import Loaded
    from epbench.tulving.finetuning.material import TrainingQuestion, TulvingPlan
    from epbench.tulving.judging.verdicts import Judge

OPENAI = "openai:"
TOY = Path(__file__).parent / "configs" / "tulving-cpu.yaml"
HELD_OUT_SEED = 1000  # of a template book that nobody trains on
TOY_EVENTS, TOY_UNIVERSE = 5, 20  # few names, so that several chapters share them


@dataclass(frozen=True, kw_only=True)
class Arguments(Recipe):
    """The command line: the recipe, the judge, and what follows."""

    num_train_epochs: int = argument("how often each question is seen", default=30)
    batch_size: int = argument("questions in each step of the optimizer, on all processes together", default=64)
    learning_rate: float = argument(
        "learning rate of the first step; it falls to 0 along a cosine, without a warm-up", default=2e-5
    )
    save_every: int = argument(
        "epochs between two checkpoints; the first and the last epoch always leave one", default=10
    )

    out: Path = argument("the run's folder", default=Path("runs/tulving_qa"))
    model: str | None = argument(
        "folder or name of the model to train, smollm2, or openai:NAME (a tiny Llama, made on the spot)"
    )
    job: str | None = argument("with openai:NAME: the job's JSON or the trained model's name, to tell how it is asked")
    dataset: str | None = argument("epbench/<book>, or a folder like it (a template book, made on the spot)")
    prompts: Path | None = argument("another prompt pack, as for eval_scripts/tulving.py")
    max_tokens: int = argument("longest answer in tokens, when the model is asked", default=1024)
    limit: int | None = argument("ask only so many questions, chosen at random; all are trained")
    held_out: Path | None = argument("text that is never trained, to measure forgetting (a template book)")
    judge: str = argument(f"{options.TULVING_JUDGES}, {options.MODELS}", default="lexical")
    judge_url: str | None = argument("address of the judge's endpoint")
    judge_window: int | None = argument("the judge's context window, if its endpoint does not report it")
    judge_prompts: Path | None = argument("another prompt pack of the judge, like tulving/data/judging.toml")
    judge_args: str = argument("more about a judge with weights: revision=…,adapter=…,dtype=…", default="")
    judge_max_tokens: int = argument("longest reply of the judge in tokens", default=2048)
    plan: bool = argument("print what it takes, and stop")

    def load_judge(self) -> Judge:
        """The judge; a model's weights are not loaded yet."""
        from epbench.models.load import Options
        from epbench.tulving.judging.load import load_judge

        of_judge = options.variant_options(self.judge_args, "--judge_args", "auto")
        backend = Options(self.judge_url, self.judge_window, **of_judge)
        return load_judge(self.judge, backend, prompts=self.judge_prompts, max_tokens=self.judge_max_tokens)


@dataclass(frozen=True, kw_only=True)
class Material:
    """What is trained, and what is measured."""

    base: str  # the folder of the model, or its name on the Hub
    tokens: SampleTokens  # turns questions and texts into samples for this model
    samples: Sequence[Sample]  # the questions with their answers
    plan: TulvingPlan  # what is measured


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv, underscores=True, toy=TOY)
    command.show_log()
    if (args.model or "").startswith(OPENAI):
        return _write_job(args)
    if args.job:
        raise BadInput("--job goes with --model openai:NAME")
    with launching.joined() as ranks:
        _run(args, ranks)


def _run(args: Arguments, ranks: Ranks) -> None:
    """The whole method: questions, what they take, training, and what every epoch is worth."""
    from epbench.finetuning.packing import Schedule
    from epbench.finetuning.run import TuningRun
    from epbench.runs.folder import open_run

    # 1. What is trained and measured.
    material = _material(args, ranks)
    n_steps = _check_cost(args, material, ranks)
    if args.plan:
        return

    about = {"dataset": material.plan.data.name, "label": args.out.name, "limit": args.limit}
    with open_run(args.out, _identity(args, material), about) if ranks.main else nullcontext():
        run = TuningRun(args.out, ranks, material.base, partial(_measure, material.plan, ranks))
        # 2. The model before training.
        run.measure(0)
        # 3. Training; after some epochs, what it is worth.
        schedule = Schedule(range(len(material.samples)), (), args.num_train_epochs, args.seed)
        with command.counter("steps", n_steps, ranks.main) as done:
            run.train(args, material.tokens.tokenizer, material.samples, schedule, done)
        # 4. The results, from the journals alone.
        if ranks.main:
            _finish(args, material.plan, run)
    ranks.wait()


def _write_job(args: Arguments) -> None:
    """Write what the API takes, or tell how to ask the model of a job, and stop."""
    from epbench.tulving.dataset.load import load_book
    from epbench.tulving.finetuning.material import (
        EXAMPLES,
        SETTINGS,
        training_questions,
        training_requests,
        tuned_model,
        write_job,
    )

    if args.dataset is None:
        raise BadInput("--model openai:NAME needs a book: give --dataset")
    say, data = command.console().say, load_book(args.dataset)
    if args.job:
        name = tuned_model(args.job)
        return say(f"{name}\nask it: {_asked_again(args, data.name, name)}")
    questions = training_questions(args.dataset)
    requests = training_requests(questions, data, _reading(args))
    examples = list(zip(requests, (question.answer for question in questions), strict=True))
    chosen = {"epochs": args.num_train_epochs, "batch_size": args.batch_size, "seed": args.seed}
    write_job(args.out, str(args.model).removeprefix(OPENAI), examples, **chosen)
    say(f"{len(examples):,} questions with their answers: {args.out / EXAMPLES}\nsettings: {args.out / SETTINGS}")


# What is trained and measured


def _material(args: Arguments, ranks: Ranks) -> Material:
    """Load or make the book and the model, and write the samples."""
    from epbench.finetuning.tokens import SampleTokens, load_sample_tokens
    from epbench.hub.rows import subset
    from epbench.models.hf.checkpoint import find_checkpoint
    from epbench.tulving.dataset.load import load_book
    from epbench.tulving.finetuning.material import TulvingPlan, question_samples, training_questions

    dataset = args.dataset or _toy_set(args, ranks)
    data, questions, reading = load_book(dataset), training_questions(dataset), _reading(args)
    base = find_checkpoint(args.model) if args.model else _toy_model(args, ranks, data, reading, questions)
    tokens = load_sample_tokens(base, args.max_length)
    samples = question_samples(questions, data, reading, tokens)
    plan = TulvingPlan(
        data=data,
        rows=subset(data.rows, itemgetter("id"), args.limit),
        limit=args.limit,
        reading=reading,
        judge=args.load_judge,
        trained=questions,
        texts={"trained_answers": samples, "held_out": _held_out(args, reading, SampleTokens(tokens.tokenizer))},
    )
    plan.check(launching.model_of(base))
    return Material(base=base, tokens=tokens, samples=samples, plan=plan)


def _reading(args: Arguments) -> Reading:
    """How eval_scripts/tulving.py --memory none asks, with its defaults."""
    from epbench.models.protocol import Sampling
    from epbench.tulving.context.requests import Reading, load_prompts
    from epbench.tulving.finetuning.material import MEMORY

    if args.max_tokens < 1:
        raise BadInput(f"--max_tokens: expected at least 1, got {args.max_tokens}")
    prompts = load_prompts(args.prompts)
    return Reading(memory=MEMORY, prompts=prompts, sampling=Sampling(args.max_tokens, temperature=0.0, seed=0))


def _held_out(args: Arguments, reading: Reading, tokens: SampleTokens) -> list[Sample]:
    """A text that is never trained: a file, or the chapters of a template book of another universe."""
    from epbench.finetuning.tokens import chunk_texts, paragraphs_of
    from epbench.tulving.dataset.build import Recipe as BookRecipe
    from epbench.tulving.dataset.build import make_book
    from epbench.tulving.finetuning.material import held_out_samples

    if args.held_out is None:
        book = make_book(BookRecipe("short", universe="news", seed=HELD_OUT_SEED))
        return held_out_samples([chapter.text for chapter in book.chapters], reading.prompts, tokens)
    paragraphs = paragraphs_of(args.held_out)
    starts = list(accumulate((len(one.split()) for one in paragraphs[:-1]), initial=0))  # chunks end with a paragraph
    return held_out_samples(chunk_texts(paragraphs, starts, 500), reading.prompts, tokens)


def _toy_folder(args: Arguments) -> Path:
    """Where what is made on the spot lies: beside the run's folder, for the next run too."""
    return args.out.parent / "toy-tulving"


def _toy_set(args: Arguments, ranks: Ranks) -> str:
    """A very short book by the template writer; the same on every machine."""
    from epbench.hub.dataset_folder import write_dataset
    from epbench.tulving.dataset.build import Recipe as BookRecipe
    from epbench.tulving.dataset.build import make_book
    from epbench.tulving.dataset.card import made_card
    from epbench.tulving.dataset.schema import configs_of

    folder = _toy_folder(args) / f"{TOY_EVENTS}-events"
    if ranks.main and not folder.is_dir():
        recipe = BookRecipe("short", events=TOY_EVENTS, universe_size=TOY_UNIVERSE)
        book = make_book(recipe)
        configs = configs_of(book)
        command_line = f"python builders/tulving.py --book short --events {TOY_EVENTS} --universe-size {TOY_UNIVERSE}"
        write_dataset(folder, configs, made_card(command_line, recipe, book, configs), {})
    ranks.wait()
    return str(folder)


def _toy_model(
    args: Arguments, ranks: Ranks, data: Loaded, reading: Reading, questions: Sequence[TrainingQuestion]
) -> str:
    """A tiny Llama whose tokenizer knows the words of the book and of the prompts."""
    from epbench.finetuning.launching import make_toy_model

    folder = _toy_folder(args) / f"model-{data.fingerprint}"
    if ranks.main:
        prompts = reading.prompts
        words = [prompts.system, prompts.nothing, prompts.question, data.book.title, data.book.text]
        make_toy_model(folder, [*words, *(text for one in questions for text in (one.question, one.answer))])
    ranks.wait()
    return str(folder)


# What it takes


def _check_cost(args: Arguments, material: Material, ranks: Ranks) -> int:
    """Say what all of it takes, and refuse it where memory or disk do not suffice. Returns the number of steps."""
    from epbench.judges.protocol import is_free
    from epbench.tulving.judging.verdicts import plan_in_advance

    samples, rows, judge = material.samples, material.plan.rows, args.load_judge()
    steps = -(-len(samples) // args.batch_size)
    lines = [
        f"{len(samples):,} questions with their answers; {sum(len(sample.ids) for sample in samples):,} tokens and "
        f"{steps:,} steps in an epoch, {args.num_train_epochs:,} epochs, {ranks.n} processes"
    ]
    lines += launching.check_cost(args, material.base, ranks, args.out)
    epochs = ", ".join(map(str, args.kept_epochs))
    lines.append(f"{len(rows):,} questions are asked before training, and after each of these epochs: {epochs}")
    if not is_free(judge):
        lines += [f"each time, {line}" for line in plan_in_advance(judge, rows, args.max_tokens)]
    if ranks.main:
        command.console().say("\n".join(lines))
    return steps * args.num_train_epochs


# What is measured, and what the run gave


def _measure(plan: TulvingPlan, ranks: Ranks, base: str, folder: Path) -> dict[str, Any] | None:
    """What the model before training, or a checkpoint, is worth."""
    from epbench.tulving.finetuning.measures import measure

    return measure(launching.model_of(base), folder, plan, ranks, {"label": folder.name}, command.bar)


def _identity(args: Arguments, material: Material) -> dict[str, Any]:
    """What tells this run from another one: a folder is resumed only by a run of the same identity."""
    from epbench.finetuning.packing import fingerprint_of_samples
    from epbench.judges.protocol import key_parts
    from epbench.models.protocol import weights_of

    model, plan, judge = launching.model_of(args.model or material.base), material.plan, args.load_judge()
    identity: dict[str, Any] = {"benchmark": "finetuning", "method": "tulving_qa", "model": model.name}
    identity |= weights_of(model) | plan.data.identity | {"training_data": fingerprint_of_samples(material.samples)}
    identity |= args.identity() | {"reading": plan.reading.identity(plan.data), "limit": args.limit}
    identity |= {"judge": [*key_parts(judge)]}
    return identity | {
        "measured_texts": {name: fingerprint_of_samples(samples) for name, samples in plan.texts.items()}
    }


def _finish(args: Arguments, plan: TulvingPlan, run: TuningRun) -> None:
    """Write and show the results, with the scores of the epochs' runs as they are now."""
    from epbench.files.json_files import write_json
    from epbench.files.writing import write_text
    from epbench.finetuning.curves import training_table
    from epbench.finetuning.run import measured_folder
    from epbench.finetuning.trainer import epoch_folder
    from epbench.reports.tables import in_markdown
    from epbench.runs.folder import read_run
    from epbench.runs.several import change_notes
    from epbench.tulving.finetuning.measures import RUN, html_report, scores_of, summary_of, tables

    measures = [
        {**record, RUN: summary_of(measured_folder(args.out, record["epoch"]) / RUN, plan)} for record in run.measures()
    ]
    scores = scores_of(measures, run.steps(), plan, args.method)
    scores["warnings"] += change_notes([measured_folder(args.out, record["epoch"]) / RUN for record in measures])
    write_json(args.out / "scores.json", scores)
    write_text(args.out / "table.md", in_markdown(tables(scores), scores["warnings"]))
    write_text(args.out / "report.html", html_report(args.out.name, read_run(args.out), scores))
    console = command.console()
    for table in [*tables(scores), training_table(args.method, scores["training"])]:
        console.print(table)
    for warning in scores["warnings"]:
        command.warn(warning)
    last = epoch_folder(args.out, args.num_train_epochs)
    console.say(f"checkpoints: hf:{last} and those of earlier epochs")
    console.say(f"ask one again: {_asked_again(args, plan.data.name, f'hf:{last}')}")
    console.say(f"report: {args.out / 'report.html'}")


def _asked_again(args: Arguments, dataset: str, model: str) -> str:
    """The command that measures a trained model, with the same scores if it was measured before."""
    told: dict[str, Any] = {"--dataset": dataset, "--memory": "none", "--model": model}
    told |= {"--prompts": args.prompts, "--max-tokens": args.max_tokens, "--limit": args.limit}
    told["--out"] = args.out.with_name(f"{args.out.name}-again")
    words = [word for name, value in told.items() if value is not None for word in (name, str(value))]
    return command.translated(f"python eval_scripts/tulving.py {shlex.join(words)}")


if __name__ == "__main__":
    command.run(main, extra="finetune")
