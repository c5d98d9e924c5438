"""Ask a reader what it remembers of a Tulving book, have a judge read the answers, and score them.

    python eval_scripts/tulving.py --dataset epbench/short --memory in-context --out runs/short
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --out runs/llama
    python eval_scripts/tulving.py --dataset epbench/long --memory rag-chapter --model openai:gpt-4o-mini --judge openai:gpt-4o --plan --out runs/mini
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model vllm:Qwen/Qwen3-8B --shard 1/4 --out runs/part1
    python eval_scripts/tulving.py --dataset epbench/short epbench/long --memory rag-chapter --model hf:Qwen/Qwen3-8B --out runs/books
    python eval_scripts/tulving.py --dataset epbench/short --answers my_answers.jsonl --out runs/mine
    python eval_scripts/tulving.py --dataset epbench/short --rejudge --judge openai:gpt-4o --out runs/mine
    python eval_scripts/tulving.py --released episodic-memory-benchmark.zip --out runs/published

Memories. in-context shows the reader the whole book; rag-paragraph and rag-chapter show it passages; none shows it nothing.
everything asks no reader: it names every item of the book that was asked for in answer to each question, which is a floor. A
memory system reads the book chapter by chapter and is then asked what it remembers: mem0, a-mem, simplemem and the others
that are installed when they are first used, the built-in baselines full-context, verbatim-bm25, verbatim-dense,
verbatim-dense:PATH_OR_ID and oracle, a class of your own, as module:Class or path/to/file.py:Class, or a server, as
http://HOST:PORT, mcp:COMMAND or mcp:URL. Your class runs in a process of its own; eval_scripts/memfail.py --help tells of
--timeout, --isolation, --system-model and the like. --between N puts N tokens of unrelated text between the book and the
question: in the context, or as the last that is stored.

Models. lexical is rule-based and works offline. hf:PATH_OR_ID runs with transformers, vllm:PATH_OR_ID with vLLM, and
openai:NAME asks an endpoint, which --base-url names (the key comes from OPENAI_API_KEY). A prompt that exceeds the model's
window is refused before any weights are loaded; nothing is ever cut off. --plan prints what a run will cost, and stops.

The judge reads each answer and says which true items it contains: lexical compares words; minilm also finds places and kinds
of event in other words, by the similarity of sentence embeddings; a language model compares meanings. If one machine cannot
hold both the reader and the judge, run with --judge lexical first and judge again later: --rejudge sends the answers in OUT
to another judge and asks the reader nothing. The scores are then those of the last judge that has judged every answer;
eval_scripts/compare.py OUT shows how far all judges agree. --rejudge with --limit or --shard is a trial: it prints a table
and leaves the scores of the run as they are.

A question whose request has failed, or that has no verdict, is neither right nor wrong. A score with such questions is
incomplete: it is shown as a range, from all of them wrong to all of them right, and is not ranked. In a file of your own
(--answers) a missing answer is wrong, and an empty one ("", "-") is missing; to answer that nothing happened, say so in
words. What failed in your system is {"id", "failure": "why"} there; an answer that refuses has failed, as a reader's has.

OUT becomes the run's folder: run.json, answers.jsonl, judgements.jsonl, scores.json, usage.json, table.md and report.html.
With several datasets the weights are loaded once, and OUT holds a run for each, named after it, and table.md. To resume a run
that was stopped, even by kill -9, give the same command again: nothing is paid for twice, and failed requests are sent again.
eval_scripts/merge.py joins the folders of --shard 1/n … n/n into one run.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse_given
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.tulving.context.requests import Prompts, Reading


@dataclass(frozen=True, kw_only=True)
class Arguments:
    datasets: list[str] = argument(
        "epbench/<book>, or a folder made by builders/tulving.py; may be several",
        default=[],
        flags=["--dataset"],
        metavar="DATASET",
        either=True,
    )
    released: Path | None = argument("the published archive (folder or zip): score its runs again", either=True)
    out: Path = argument("the run's folder")

    memory: str | None = argument(
        "in-context, rag-paragraph, rag-chapter, none, everything or a memory system; see above",
        group="what the reader sees",
    )
    answers: Path | None = argument(
        'score these answers instead of asking a reader: JSONL of {"id", "answer"}', metavar="FILE"
    )
    passages: options.Retriever = included()
    words: options.Words = included()
    systems: options.System = included()
    recalled: options.Recalled = included()

    model: str = argument(
        f"lexical (rules, offline), {options.MODELS} (lexical)", default="lexical", group="who answers, and how"
    )
    backend: options.Backend = included()
    temperature: float = argument("0 is greedy (0)", default=0.0)
    max_tokens: int = argument("longest answer in tokens (1024)", default=1024, metavar="N")
    seed: int = argument("seed of sampled answers (0)", default=0, flags=["--sampling-seed"], metavar="SEED")
    repeats: int = argument("how often to ask each question (1)", default=1, metavar="N")

    judging: options.Judge = included(
        "who judges",
        judge=argument(f"{options.TULVING_JUDGES}, {options.MODELS} (lexical)", default="lexical"),
        judge_prompts=argument("another prompt pack, TOML or JSON, like tulving/data/judging.toml", metavar="FILE"),
    )
    judge_max_tokens: int = argument("longest reply of the judge in tokens (2048)", default=2048, metavar="N")
    rejudge: bool = argument("have this judge read the answers in OUT")

    part: options.Subset = included("how much")
    bounds: options.Bounds = included()

    def __post_init__(self) -> None:
        if len(self.datasets) > 1 and (self.rejudge or self.answers):
            flag = "--rejudge" if self.rejudge else "--answers"
            raise BadInput(f"{flag} is about one dataset, got {len(self.datasets)}; see --help")
        if self.memory == "everything" and self.model != "lexical":
            raise BadInput(f"--memory everything asks no model, got --model {self.model}; see --help")
        if not (self.released or self.rejudge) and (self.memory is None) == (self.answers is None):
            raise BadInput("give either --memory to ask a reader, or --answers to score a file; see --help")


def main(argv: Sequence[str] | None = None) -> None:
    args, given = parse_given(Arguments, __doc__, argv)
    command.show_log()
    if args.released and not args.rejudge:
        _rescore(args.released, args.out)
    else:
        with command.within(args.bounds.made(args.model, args.judging.judge)):
            _evaluate(args, given)


def _evaluate(args: Arguments, given: Mapping[str, Any]) -> None:
    """Check the runs on all datasets, then ask, judge and score; the weights are loaded once, by the first run."""
    from epbench.models.load import load_reader
    from epbench.runs.several import folders_of_datasets
    from epbench.tulving import evaluate, rejudge
    from epbench.tulving.judging.load import load_judge
    from epbench.tulving.reader import LexicalReader
    from epbench.tulving.scores.tables import markdown_table, screen_tables
    from epbench.tulving.wording import read_wording

    if args.rejudge and not args.datasets:
        raise BadInput("--rejudge needs --dataset and the --out of one run; judge a published run on its own book")
    if args.answers and args.repeats > 1 and not args.rejudge:
        raise BadInput(f"--repeats {args.repeats}: a file of answers holds one answer to each question")
    folders, say = folders_of_datasets(args.out, args.datasets), command.console().say
    backend, judging, part = args.backend, args.judging, args.part
    model = None if args.answers or args.rejudge else load_reader(args.model, LexicalReader(), backend.options)
    words = read_wording(args.words.wording)
    reading = None if args.memory is None or args.rejudge else _reading(args, args.memory, words.get("reader"))
    # The judge is the reader itself if both have one name and one address, so that weights are loaded once.
    reader, prompts = model if judging.may_be_reader(backend) else None, judging.judge_prompts or words.get("judge")
    judge = load_judge(
        judging.judge, judging.options(backend), prompts=prompts, max_tokens=args.judge_max_tokens, reader=reader
    )

    def checked(dataset: str) -> evaluate.Prepared | rejudge.Prepared:
        about: Any = {"dataset": dataset, "judge": judge, "limit": part.limit, "shard": part.shard}
        if args.rejudge:
            return rejudge.prepare(rejudge.Rejudging(folder=args.out, said=given, **about))
        about |= {"reading": reading, "model": model, "base_url": backend.base_url, "answers": args.answers}
        return evaluate.prepare(evaluate.Evaluation(**about))

    def ran(ready: evaluate.Prepared | rejudge.Prepared, out: Path) -> evaluate.Evaluated:
        if isinstance(ready, rejudge.Prepared):
            return rejudge.run(ready, progress=command.bar, say=say)
        return evaluate.run(ready, out, progress=command.bar, warn=command.warn, say=say)

    command.run_all(folders, checked, ran, (screen_tables, markdown_table), plan=part.plan)


def _reading(args: Arguments, memory: str, prompts: Prompts | None) -> Reading:
    """What the reader sees, and how it is asked."""
    from epbench.models.protocol import Sampling
    from epbench.tulving.context.requests import Reading, load_prompts

    backend, passages = args.backend, args.passages
    return Reading(
        **vars(passages) | {"retriever_url": passages.retriever_url or backend.base_url},
        memory=memory,
        request_timeout=backend.request_timeout,
        prompts=load_prompts(args.words.prompts) if args.words.prompts or prompts is None else prompts,
        repeats=args.repeats,
        limits=args.systems.limits,
        memory_tokens=args.recalled.memory_tokens,
        sampling=Sampling(args.max_tokens, args.temperature, args.seed),
        between=args.recalled.between,
        installed=args.systems.installed(memory, backend.base_url, backend.request_timeout),
    )


def _rescore(archive: Path, out: Path) -> None:
    """Score the runs of the published archive again, from the replies of its own judge."""
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
