"""Ask a reader what it remembers of a Tulving book, have a judge read the answers, and score them.

    python eval_scripts/tulving.py --dataset epbench/short --memory in-context --out runs/short
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --out runs/llama
    python eval_scripts/tulving.py --dataset epbench/long --memory rag-chapter --model openai:gpt-4o-mini --judge openai:gpt-4o --plan --out runs/mini
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model vllm:Qwen/Qwen3-8B --shard 1/4 --out runs/part1
    python eval_scripts/tulving.py --dataset epbench/short --memory verbatim-bm25 --out runs/bm25
    python eval_scripts/tulving.py --dataset epbench/short epbench/long --memory rag-chapter --model hf:Qwen/Qwen3-8B --out runs/books
    python eval_scripts/tulving.py --dataset epbench/short --answers my_answers.jsonl --out runs/mine
    python eval_scripts/tulving.py --dataset epbench/short --rejudge --judge openai:gpt-4o --out runs/mine
    python eval_scripts/tulving.py --released episodic-memory-benchmark.zip --out runs/published
    python eval_scripts/tulving.py --config eval_scripts/configs/tulving.yaml

Memories. in-context shows the reader the whole book; rag-paragraph and rag-chapter show it passages; none shows it
nothing. everything asks no reader: it names every item of the book that was asked for in answer to each question, which
is a floor. A memory system reads the book chapter by chapter and is then asked what it remembers: mem0, a-mem, simplemem and
the others that are installed when they are first used, the built-in baselines full-context, verbatim-bm25,
verbatim-dense, verbatim-dense:PATH_OR_ID and oracle, or a class of your own, as module:Class or path/to/file.py:Class.
Your class runs in a process of its own, within --timeout and --memory-limit and without your keys; see
eval_scripts/memfail.py --help for --isolation, --system-env, --system-model and the like.

Models. lexical is rule-based and works offline. hf:PATH_OR_ID runs with transformers, vllm:PATH_OR_ID with vLLM, and
openai:NAME asks an OpenAI-compatible endpoint, which --base-url names (the key comes from OPENAI_API_KEY). All questions
about one book share one reading of it. A prompt that exceeds the model's window is refused before any weights are loaded;
nothing is ever cut off. --plan prints what a run will cost, and stops.

The judge reads each answer and says which true items it contains: lexical compares words; minilm also finds places and
kinds of event in other words, by the similarity of sentence embeddings; a language model compares meanings. If one
machine cannot hold both the reader and the judge, run with --judge lexical first and judge again later: --rejudge sends
the answers in OUT to another judge and asks the reader nothing. The run's scores are then those of the last judge that
has judged every answer; the verdicts of all judges are kept, and eval_scripts/compare.py OUT shows how far they agree.
--rejudge with --limit or --shard is a trial: it prints a table and leaves the scores of the run as they are.

A question whose request has failed, or that has no verdict, is neither right nor wrong. A score with such questions is
incomplete: it is shown as a range, from all of them wrong to all of them right, and is not ranked. In a file of your own
(--answers) a missing answer is wrong, and an empty one ("", "-") is missing; to answer that nothing happened, say so in
words. What failed in your system is {"id", "failure": "why"} there; an answer that refuses has failed, as a reader's has. How many questions are answered, and the lowest and the highest
score that the others leave possible, stand beside the scores.

With several datasets the weights are loaded once, and OUT holds a run for each, named after it, and table.md.

OUT becomes the run's folder: run.json, answers.jsonl, judgements.jsonl, scores.json, usage.json, table.md and
report.html. To resume a run that was stopped, even by kill -9, give the same command again: nothing is paid for twice,
and failed requests are sent again. eval_scripts/merge.py joins the folders of --shard 1/n … n/n into one run.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench import command, options


@dataclass(frozen=True, kw_only=True)
class Arguments(
    options.BackendOptions, options.RetrieverOptions, options.SystemOptions, options.JudgeOptions, options.SubsetOptions
):
    """What the command line says; `given` names the arguments that it sets itself."""

    datasets: list[str]
    released: Path | None
    out: Path
    memory: str | None
    answers: Path | None
    prompts: Path | None
    model: str
    temperature: float
    max_tokens: int
    seed: int
    repeats: int
    judge_max_tokens: int
    rejudge: bool
    given: frozenset[str]


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    command.show_log()
    if args.released and not args.rejudge:
        _rescore(args.released, args.out)
    else:
        _evaluate(args)


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset", dest="datasets", nargs="+", default=[], metavar="DATASET",
        help="epbench/<book>, or a folder made by builders/tulving.py; may be several")  # fmt: skip
    source.add_argument("--released", type=Path, help="the published archive (folder or zip): score its runs again")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the reader sees")
    memory.add_argument("--memory",
        help="in-context, rag-paragraph, rag-chapter, none, everything or a memory system; see above")  # fmt: skip
    memory.add_argument("--answers", type=Path, metavar="FILE",
        help='score these answers instead of asking a reader: JSONL of {"id", "answer"}')  # fmt: skip
    options.add_retriever(memory)
    memory.add_argument("--prompts", type=Path, metavar="FILE",
        help="another prompt pack, TOML or JSON, like tulving/data/prompts.toml")  # fmt: skip
    options.add_system(memory)

    reader = parser.add_argument_group("who answers, and how")
    reader.add_argument("--model", default="lexical", help=f"lexical (rules, offline), {options.MODELS} (lexical)")
    options.add_backend(reader)
    reader.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    reader.add_argument("--max-tokens", type=int, default=1024, metavar="N", help="longest answer in tokens (1024)")
    reader.add_argument("--sampling-seed", dest="seed", type=int, default=0, metavar="SEED",
        help="seed of sampled answers (0)")  # fmt: skip
    reader.add_argument("--repeats", type=int, default=1, metavar="N", help="how often to ask each question (1)")

    judge = parser.add_argument_group("who judges")
    options.add_judge(judge, "tulving/data/judging.toml", options.TULVING_JUDGES)
    judge.add_argument("--judge-max-tokens", type=int, default=2048, metavar="N",
        help="longest reply of the judge in tokens (2048)")  # fmt: skip
    judge.add_argument("--rejudge", action="store_true", help="have this judge read the answers in OUT")

    options.add_subset(parser.add_argument_group("how much"))
    args = Arguments(**vars(parser.parse_args(argv)), given=command.given(parser, argv))
    if len(args.datasets) > 1 and (args.rejudge or args.answers):
        parser.error(f"{'--rejudge' if args.rejudge else '--answers'} is about one dataset, got {len(args.datasets)}")
    if args.memory == "everything" and args.model != "lexical":
        parser.error(f"--memory everything asks no model, got --model {args.model}")
    if not (args.released or args.rejudge) and (args.memory is None) == (args.answers is None):
        parser.error("give either --memory to ask a reader, or --answers to score a file")
    return args


def _evaluate(args: Arguments) -> None:
    """Check the runs on all datasets, then ask, judge and score; the weights are loaded once, by the first run."""
    from epbench.errors import BadInput
    from epbench.models.load import load_reader
    from epbench.models.protocol import Sampling
    from epbench.runs.several import folders_of_datasets
    from epbench.tulving import evaluate, rejudge
    from epbench.tulving.context.requests import Reading, load_prompts
    from epbench.tulving.judging.load import load_judge
    from epbench.tulving.reader.lexical import LexicalReader
    from epbench.tulving.scores.tables import markdown_table, screen_tables

    if args.rejudge and not args.datasets:
        raise BadInput("--rejudge needs --dataset and the --out of one run; judge a published run on its own book")
    if args.answers and args.repeats > 1 and not args.rejudge:
        raise BadInput(f"--repeats {args.repeats}: a file of answers holds one answer to each question")
    folders, say = folders_of_datasets(args.out, args.datasets), command.console().say
    model = None if args.answers or args.rejudge else load_reader(args.model, LexicalReader(), args.backend)
    reading = None if args.memory is None or args.rejudge else Reading(
        memory=args.memory, top_k=args.top_k, keep_order=args.keep_order, retriever=args.retriever,
        retriever_url=args.retriever_url or args.base_url, request_timeout=args.request_timeout,
        prompts=load_prompts(args.prompts), repeats=args.repeats, limits=args.limits,
        sampling=Sampling(args.max_tokens, args.temperature, args.seed),
        installed=args.installed(args.memory, args.base_url, args.request_timeout),
    )  # fmt: skip
    judge = load_judge(  # the reader itself if both have one name and one address, so that weights are loaded once
        args.judge, args.judge_backend(args), prompts=args.judge_prompts, max_tokens=args.judge_max_tokens,
        reader=model if args.may_be_reader(args) else None,
    )  # fmt: skip

    def checked(dataset: str) -> evaluate.Prepared | rejudge.Prepared:
        if args.rejudge:
            said = {name: value for name, value in vars(args).items() if name in args.given}
            return rejudge.prepare(rejudge.Rejudging(
                folder=args.out, dataset=dataset, judge=judge, said=said, limit=args.limit, shard=args.shard,
            ))  # fmt: skip
        return evaluate.prepare(evaluate.Evaluation(
            dataset=dataset, judge=judge, reading=reading, model=model, base_url=args.base_url, answers=args.answers,
            limit=args.limit, shard=args.shard,
        ))  # fmt: skip

    def ran(ready: evaluate.Prepared | rejudge.Prepared, out: Path) -> evaluate.Evaluated:
        if isinstance(ready, rejudge.Prepared):
            return rejudge.run(ready, progress=command.bar, say=say)
        return evaluate.run(ready, out, progress=command.bar, warn=command.warn, say=say)

    command.run_all(folders, checked, ran, (screen_tables, markdown_table), plan=args.plan)


def _rescore(archive: Path, out: Path) -> None:
    """Score the runs of the published archive again, from the replies of its own judge."""
    from epbench.errors import BadInput
    from epbench.tulving.released.archive import open_archive
    from epbench.tulving.released.runs import score_published_runs
    from epbench.tulving.scores.tables import screen_tables

    found = score_published_runs(open_archive(archive), out, command.bar)
    if found.scores:
        command.console().print(screen_tables(found.scores))
    command.console().say_all(found.lines)
    if not found.scores:
        label, reason = next(iter(found.not_scored.items()))
        raise BadInput(f"{archive}: none of its {len(found.not_scored)} runs can be scored; {label}: {reason}")


if __name__ == "__main__":
    command.run(main)
