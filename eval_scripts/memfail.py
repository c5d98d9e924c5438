"""Find out where a memory system fails: store facts in it, ask it for them, answer with what it returns, judge each stage.

    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system verbatim-bm25 --out runs/bm25
    python eval_scripts/memfail.py --dataset epbench/memfail --config all --system full-context --k 5 10 --out runs/everything
    python eval_scripts/memfail.py --dataset epbench/memfail --config coexisting_facts --system my_memory.py:MyMemory --model openai:gpt-5-mini --judge openai:gpt-5-mini --plan --out runs/mine
    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system mem0 --system-model qwen3 --system-url http://127.0.0.1:8000/v1 --embedder minilm --out runs/mem0

Configs: conditional_facts_easy, conditional_facts_hard, coexisting_facts, persona_retrieval, long_hop, or all of them with
all; and revision, our own, for which facts are corrected, withdrawn or told again: was an old fact answered (stale), did a
withdrawn one return (resurrected), did a neighbour go too (lost with it)? Systems: mem0, mem0-1, a-mem, simplemem, langmem,
graphiti, cognee and structmem; module:Class or path/to/file.py:Class, which is any class with the methods
store_conversation(conversation), retrieve_memories(query, conversation, k) and get_all_memories(), such as
epbench.memories.example:KeywordMemory; http://HOST:PORT, a server with these calls (see
epbench/memories/data/memory_server.openapi.yaml); mcp:COMMAND or mcp:URL, an MCP server; or a baseline: none, full-context,
verbatim-bm25, verbatim-dense, verbatim-dense:PATH_OR_ID or oracle. Models and judges: lexical (rules, offline),
hf:PATH_OR_ID, vllm:PATH_OR_ID, or openai:NAME with --base-url and --judge-url (the key comes from OPENAI_API_KEY).

Everything is stored before the first question is asked. When a call to the system raises an error, hangs, or returns anything
but a list of at most k texts, its question has failed: it is neither right nor wrong, and the run goes on. A class of your
own runs in a process of its own, in the current folder, without the environment variables of this command but for PATH, HOME
and the like; --system-env passes on one that it needs, such as a key. What it prints goes to system.log. When a call exceeds
--timeout, or the process ends or exceeds --memory-limit, the process and everything it has started are killed, and the call
has failed. A new process opens a durable system on its folder again, and any other one is given everything again. After three
such calls in a row the system is not called any more. The process runs as you do: it can read your files and reach any
address. --isolation bwrap takes that away where bubblewrap is installed (apt-get install bubblewrap) and user namespaces are
allowed: the system then has no network but the relay below, no GPU, no processes but its own, and no files but its store and,
read-only, Python's, the models in the Hub's cache, the current folder and that of the class. --isolation none (or
--in-process) runs the class in this process, for debugging and on Windows: neither limit holds, and nothing protects the run
from code that ends the process, hangs, or takes all its memory. Baselines always run in this process.

A system named mem0, a-mem, … is installed when it is first used, into an environment of its own in the user's cache, and runs
as the published evaluation ran it: --system-model is the model inside it (gpt-4.1-mini), --system-url the endpoint of that
model, --embedder what turns its texts into vectors, and --system-set changes one of its settings. structmem needs
--system-source, a LightMem checkout. Each of its stores has a process with a clean environment, whose only key is a token for
a relay, which passes its requests on and notes them in system_calls.jsonl, with tokens and seconds of storing and of
retrieving. Its folder is copied after each stored conversation, and it gets that copy back when it is started again.

Of a server nothing runs here but a client. --system-env NAME is the variable with its key, which goes to that address alone.
An MCP server that is named by a COMMAND is started for each store, with the store's folder as its home folder; with
--isolation bwrap it has no network but the relay, which it gets with --system-model or --system-url. --system-set store=TOOL,
retrieve=TOOL and list=TOOL say which of its tools are used; docs/memfail.md tells of their arguments. --memory-tokens N gives
every system the same context: whole memories, best first.

--isolate gives each row a store of its own: most people that persona questions ask about have several essays in the common
store. --shard I/N runs one of n parts, for several machines: with --isolate a part of the rows of each config, else whole
configs, whose rows share one store. eval_scripts/merge.py joins the parts. --published-query searches the memory for the
whole multiple-choice question, including its options. --between N stores N tokens of unrelated text last, between the facts
and the questions.

OUT becomes the run's folder: run.json, stored.jsonl, memories.json, retrieved.jsonl, answers.jsonl, judgements.jsonl,
scores.json, questions.parquet, usage.json, table.md and report.html. With several configs, OUT holds one such folder for
each, and table.md; with several datasets it holds one for each dataset, and the weights are loaded once. To resume a run that
was stopped, even by kill -9, give the same command again: nothing is paid for twice, and failed calls are made again. A run
has one judge; another judge needs another --out, while later rules of lexical judge a resumed run again. Each run also says
how many needed facts its judge would not miss: it looks for each where everything but that fact is stored word for word.
lexical looks for all of them, a model for 50.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse

if TYPE_CHECKING:
    from epbench.memfail.evaluate import Evaluation


@dataclass(frozen=True, kw_only=True)
class Arguments:
    datasets: list[str] = argument(
        "epbench/memfail, or a folder made by builders/memfail.py; may be several",
        flags=["--dataset"],
        metavar="DATASET",
    )
    config: list[str] = argument("configs; all stands for those of the paper, so without revision")
    out: Path = argument("the run's folder")

    system: str = argument(
        "a system, a baseline, module:Class, http://… or mcp:…; see above",
        flags=["--system", "--memory"],
        group="what remembers",
    )
    k: list[int] = argument("memories per question (5); each k is scored apart", default=[5], flags=["--k", "--top-k"])
    isolate: bool = argument("one store for each row instead of one for all")
    published_query: bool = argument("search with the options, not only the question")
    with_replies: bool = argument("store the reader's replies too, as published")
    units_per_conversation: int = argument("most facts in one conversation (1)", default=1, metavar="N")
    seed: int = argument("seed of the order in which facts are stored (0)", default=0)
    systems: options.System = included()
    recalled: options.Recalled = included()

    model: str = argument(
        f"lexical (rules, offline), {options.MODELS} (lexical)", default="lexical", group="who answers"
    )
    backend: options.Backend = included()
    max_tokens: int = argument("longest answer in tokens (1024)", default=1024, metavar="N")
    words: options.Words = included()
    judging: options.Judge = included(
        "who judges",
        judge_prompts=argument(
            "another prompt pack, TOML or JSON, like memfail/data/memfail_judging.toml", metavar="FILE"
        ),
    )
    part: options.Subset = included(
        "how much", limit=argument("ask only N questions of each config, chosen at random", metavar="N")
    )
    bounds: options.Bounds = included()


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    command.show_log()
    with command.within(args.bounds.made(args.model, args.judging.judge)):
        _evaluate(args)


def _evaluate(args: Arguments) -> None:
    """Check the runs on all datasets, then store, ask, judge and score."""
    from epbench.files.writing import write_text
    from epbench.memfail.evaluate import prepare, run
    from epbench.memfail.scores.tables import markdown_table, screen_tables
    from epbench.runs.several import folders_of_datasets
    from epbench.runs.usage import commonest

    folders, console = folders_of_datasets(args.out, args.datasets), command.console()
    # With one reader and one judge, whose weights are loaded once; all datasets can be read, before the first is run.
    first = _evaluation(args)
    prepared = [prepare(replace(first, dataset=name)) for name in folders]
    for ready in prepared:
        if len(prepared) > 1:
            console.say(f"{ready.evaluation.dataset}:")
        console.say_all(ready.plan if args.part.plan else ())

    scores: dict[str, Any] = {}
    failures: list[str | None] = []
    for ready in prepared if not args.part.plan else ():
        out = folders[ready.evaluation.dataset]
        done = run(ready, out, progress=command.bar)
        for warning in done.warnings:
            command.warn(warning)
        console.say_all(done.notes)
        console.print(screen_tables(done.scores))
        console.say(f"report: {out / '*/report.html' if ready.several else out / 'report.html'}")
        scores |= {f"{ready.evaluation.dataset}, {label}": found for label, found in done.scores.items()}
        failures += done.failures
    if len(prepared) > 1 and scores:
        console.print(screen_tables(scores))
        write_text(args.out / "table.md", markdown_table(scores))
    if failures and None not in failures:
        said = commonest(reason for reason in failures if reason)
        command.warn(f"nothing to score: all {len(failures)} questions failed{said}; start the run again to retry them")


def _evaluation(args: Arguments) -> Evaluation:
    """What the arguments ask for, on the first dataset."""
    from epbench.memfail.context.requests import LexicalReader, Setting, load_prompts
    from epbench.memfail.evaluate import Evaluation
    from epbench.memfail.judging.load import load_judge
    from epbench.memfail.wording import read_wording
    from epbench.models.load import load_reader
    from epbench.models.protocol import Sampling

    words = read_wording(args.words.wording)
    main, judging, systems = args.backend, args.judging, args.systems
    setting = Setting(
        ks=tuple(args.k),
        isolate=args.isolate,
        published_query=args.published_query,
        replies=args.with_replies,
        units_per_conversation=args.units_per_conversation,
        seed=args.seed,
        sampling=Sampling(args.max_tokens),
        limits=systems.limits,
        memory_tokens=args.recalled.memory_tokens,
        between=args.recalled.between,
    )
    return Evaluation(
        dataset=args.datasets[0],
        configs=args.config,
        system=args.system,
        setting=setting,
        system_options=systems.installed(args.system, main.base_url, main.request_timeout),
        model=load_reader(args.model, LexicalReader(), main.options),
        judge=load_judge(judging.judge, judging.options(main), judging.judge_prompts or words.get("judge")),
        prompts=load_prompts(args.words.prompts) if args.words.prompts or not words else words["reader"],
        limit=args.part.limit,
        shard=args.part.shard,
        base_url=main.base_url or "",
    )


if __name__ == "__main__":
    command.run(main)
