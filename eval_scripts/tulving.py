"""Ask a reader what it remembers of a Tulving book, judge the answers and score them.

    python eval_scripts/tulving.py --dataset epbench/short --memory in-context --out runs/short
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --out runs/llama
    python eval_scripts/tulving.py --dataset epbench/long --memory rag-chapter --model openai:gpt-4o-mini --plan --out runs/mini
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model vllm:Qwen/Qwen3-8B --shard 1/4 --out runs/part1
    python eval_scripts/tulving.py --dataset epbench/short --answers my_answers.jsonl --out runs/mine
    python eval_scripts/tulving.py --released episodic-memory-benchmark.zip --out runs/published

Memories: in-context (the whole book), rag-paragraph and rag-chapter, none. Models: lexical (rule-based, offline),
hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, openai:NAME with --base-url URL for any compatible endpoint (key from
OPENAI_API_KEY). All questions about one book share one reading of it. A prompt that does not fit the model's window is
refused before weights are loaded; nothing is ever cut off. --plan prints what a run costs and stops.

OUT becomes a run's folder: run.json, answers.jsonl, judgements.jsonl, scores.json, account.json, table.md, report.html.
A run that was stopped, however hard, goes on where it was when the same command is given again: nothing is paid twice,
and what failed is tried again. The folders of --shard 1/n … n/n become one run by eval_scripts/merge.py.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset", help="epbench/<book>, or a folder made by builders/tulving.py")
    source.add_argument("--released", type=Path, help="folder or zip of the published data: re-score its runs")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the reader sees")
    memory.add_argument("--memory", help="in-context, rag-paragraph, rag-chapter or none")
    memory.add_argument("--answers", type=Path, help="score these answers instead of asking a reader")
    memory.add_argument("--retriever", default="bm25", help="bm25 (offline), st[:PATH_OR_ID] (BGE-large), openai:NAME")
    memory.add_argument("--retriever-url", help="of an embeddings endpoint, if not that of --base-url")
    memory.add_argument("--top-k", type=int, help="chunks per question; as published unless given")
    memory.add_argument("--keep-order", action="store_true", help="chunks in the order of the book, not best first")
    memory.add_argument("--prompts", type=Path, help="another prompt pack, TOML or JSON; see data/prompts.toml")

    reader = parser.add_argument_group("who answers, and how")
    reader.add_argument("--model", default="lexical", help="lexical, hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME")
    reader.add_argument("--base-url", help="of an OpenAI-compatible endpoint")
    reader.add_argument(
        "--window", type=int, help="tokens: of an endpoint that does not tell, or for vLLM to set aside"
    )
    reader.add_argument("--tensor-parallel", type=int, default=1, help="GPUs for vLLM (1)")
    reader.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    reader.add_argument("--max-tokens", type=int, default=1024, help="of one answer (1024)")
    reader.add_argument("--sampling-seed", type=int, default=0, help="of drawn answers (0)")
    reader.add_argument("--repeats", type=int, default=1, help="how often each question is asked (1)")
    reader.add_argument("--judge", default="lexical", help="judge: lexical (rule-based, offline)")

    part = parser.add_argument_group("how much")
    part.add_argument("--limit", type=int, help="ask only this many questions, a random part of the set")
    part.add_argument("--shard", help="i/n: only the i-th of n parts, for runs on several machines")
    part.add_argument("--plan", action="store_true", help="print requests and tokens, and stop")
    args = parser.parse_args(argv)
    if args.released:
        _rescore(args.released, args.out)
    else:
        _evaluate(args)


def _evaluate(args: Any) -> None:
    from rich.console import Console

    from epbench.errors import BadInput
    from epbench.models.choose import Options, choose_model
    from epbench.models.plan import check_window, make_plan
    from epbench.models.protocol import Sampling
    from epbench.runs.asking import ANSWERS, ask, fingerprint_of
    from epbench.runs.folder import open_run, read_json, without_login
    from epbench.tulving.answers_file import read_answers
    from epbench.tulving.evaluation import finish, judge_answers, record_answers
    from epbench.tulving.lexical_judge import LexicalJudge
    from epbench.tulving.loading import load_tulving
    from epbench.tulving.memory import MEMORIES, Asked, published_top_k, requests_for
    from epbench.tulving.parts import part_of
    from epbench.tulving.prompts import load_prompts
    from epbench.tulving.tables import screen_tables

    console = Console()
    command.show_log()
    if (args.memory is None) == (args.answers is None):
        raise BadInput("either --memory (ask a reader) or --answers (score a file) is expected, and not both")
    if args.judge != "lexical":
        raise BadInput(f"unknown judge {args.judge!r}; this version has: lexical (rule-based, offline)")
    data = load_tulving(args.dataset)
    rows = part_of(data.rows, args.limit, args.shard)
    identity = {"benchmark": "tulving", "fingerprint": data.fingerprint, "judge": args.judge, "repeats": args.repeats}

    # 1. What the reader sees, question by question, and whether it fits.
    if args.answers:
        answers = read_answers(args.answers, [row["id"] for row in data.rows])
        label = args.answers.name
        identity |= {"memory": "answers", "model": args.answers.name, "answers": fingerprint_of(answers)}
    else:
        model = choose_model(args.model, Options(args.base_url, args.window, args.tensor_parallel))
        prompts = load_prompts(args.prompts)
        sampling = Sampling(args.max_tokens, args.temperature, args.sampling_seed)
        everything = [Asked(row["id"], row["question"], row["n_chapters"]) for row in data.rows]
        asked = [Asked(row["id"], row["question"], row["n_chapters"]) for row in rows]

        def requests_of(memory: str) -> Any:
            top_k = published_top_k(memory, everything) if args.top_k is None else args.top_k
            return requests_for(
                memory, data.book, asked, top_k=top_k, keep_order=args.keep_order, search=_searcher(args),
                prompts=prompts, sampling=sampling, repeats=args.repeats,
            )  # fmt: skip

        requests = list(requests_of(args.memory))
        others = {name: lambda name=name: requests_of(name) for name in MEMORIES if name != args.memory}
        warning = check_window(requests, model, others)  # type: ignore[arg-type]
        if warning:
            console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
        if args.plan or model.name != "lexical":
            for line in [
                *make_plan(requests, model).lines(),
                f"judge {args.judge}: {len(requests):,} verdicts, no tokens",
            ]:
                console.print(line)
        if args.plan:
            return
        label = f"{args.memory}, {model.name}"
        top_k = published_top_k(args.memory, everything) if args.top_k is None else args.top_k
        identity |= {"memory": args.memory, "model": model.name, "top_k": top_k}
        identity |= {"base_url": without_login(args.base_url or "")}
        identity |= {"keep_order": args.keep_order, "retriever": args.retriever, "prompts": fingerprint_of(prompts)}
        identity |= {"temperature": args.temperature, "max_tokens": args.max_tokens, "seed": args.sampling_seed}

    about = {"dataset": args.dataset, "book": Path(args.dataset).name, "label": label}
    with open_run(args.out, identity, about) as folder:
        # 2. The answers, journaled as they come.
        if args.answers:
            record_answers(folder, answers, args.answers.name)
        else:
            ask(folder / ANSWERS, requests, model, command.bar)

        # 3. Which true items are in each answer; 4. the scores, from the journals alone.
        verdicts = judge_answers(folder, rows, LexicalJudge(), command.bar)
        scores = finish(folder, verdicts, len(rows) * args.repeats - len(verdicts), label)
    console.print(screen_tables({label: scores}))
    account = read_json(args.out / "account.json")
    if account["hit_rate"] is not None:
        console.print(
            f"{account['prefilled']:,} prompt tokens computed, {account['saved']:,} saved by sharing "
            f"({account['hit_rate']:.1%}), {account['generated']:,} generated, {account['tokens_per_second'] or 0:,.0f} tokens/s"
        )
    for reason, n in account["failed"].items():
        console.print(f"failed {n} times: {reason}", soft_wrap=True)
    if scores["n_failed"]:
        console.print(f"{scores['n_failed']} questions have no answer; they count neither as right nor as wrong")
    console.print(f"report: {args.out / 'report.html'}")


def _searcher(args: Any) -> Any:
    """What makes the index over the chunks."""
    from epbench.retrieval.bm25 import Bm25

    if args.retriever == "bm25":
        return Bm25
    from epbench.retrieval.search import choose_searcher

    return lambda chunks: choose_searcher(args.retriever, chunks, base_url=args.retriever_url or args.base_url)


def _rescore(archive: Path, out: Path) -> None:
    from rich.console import Console

    from epbench.tulving.published_runs import score_published_runs
    from epbench.tulving.released import open_archive
    from epbench.tulving.tables import screen_tables

    scores = score_published_runs(open_archive(archive), out, command.bar)
    Console().print(screen_tables(scores))


if __name__ == "__main__":
    command.run(main)
