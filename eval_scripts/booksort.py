"""Ask a model in which order two segments of a book come (Book-SORT), and score its answers.

    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --model oracle --out runs/oracle
    python eval_scripts/booksort.py --dataset epbench/booksort --config e250_s20 e1000_s20 e2500_s20 --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --select-prompt --out runs/llama
    python eval_scripts/booksort.py --dataset epbench/booksort --memory rag --retriever st --model vllm:Qwen/Qwen3-8B --out runs/rag
    python eval_scripts/booksort.py --dataset epbench/booksort --config all --memory none --model openai:gpt-4o-mini --limit 400 --plan --out runs/mini
    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --both-orders --model hf:Qwen/Qwen3-0.6B --out runs/both
    python eval_scripts/booksort.py --dataset memari/booksort --memory in-context --prompts SORT/sort/evaluation/conf/prompts --prompt 3 --model hf:meta-llama/Meta-Llama-3-8B-Instruct --out runs/published

Memories: none (the baseline without the text), in-context (the excerpt), rag (passages of all books, found by a search for
the segments), full-book. Models: oracle (looks the segments up in its context: must be right in-context, and by chance
without), hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, openai:NAME with --base-url URL for any compatible endpoint (key
from OPENAI_API_KEY). The answer begins with "Answer: Segment", and the probabilities of A and B as its next token decide;
an endpoint writes its answer, and that is parsed. The four pairs of an excerpt share one reading of it. What does not fit
the model's window is refused before weights are loaded; nothing is ever cut off. --plan prints what a run costs and stops.

Beside the accuracy stand the greedy accuracy, by what the model would have written, and the label mass, the probability
that its answer begins with A or B at all. --both-orders asks each pair twice, with its segments the other way round, which
cancels a preference for a label; consistency is the share of pairs whose two answers name the same segment.
A question whose request failed, or whose answer was cut off before it named a segment, is neither right nor wrong: while
there is one, the accuracy is given as a range.

Prompts are 1 to 12, queries and readings of passages 0 to 9, as in the paper's Tables 6, 8 and 9; --select-prompt tries all
prompts on the validation split and takes the one with the highest accuracy, or of those within one standard error of it the
one whose share of A is nearest to one half; --select-reading does the same for the readings of passages. --prompts takes a
pack in TOML (the keys are those of src/epbench/booksort/data/sort_prompts.toml) or the YAML files of the reference
implementation, a file or a folder of them, which are numbered from 1.

OUT becomes a run's folder: run.json, answers.jsonl, retrieved.jsonl (rag), prompt_selection.json (--select-…),
scores.json, outcomes.jsonl (for compare.py), usage.json, table.md, report.html. A run that was stopped, however hard, goes on where it was when the same
command is given again: nothing is paid twice, and what failed is tried again. The folders of --shard 1/n … n/n become one
run by eval_scripts/merge.py.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--dataset", required=True, help="epbench/booksort, memari/booksort, or a folder of either")
    parser.add_argument("--config", nargs="+", default=["e250_s20"], help="e<excerpt>_s<segment> in words, or all")
    parser.add_argument("--split", default="test", help="test, or validation (held out for choosing a prompt)")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the model sees")
    memory.add_argument("--memory", required=True, help="none, in-context, rag or full-book")
    memory.add_argument("--prompts", type=Path, help="another pack: TOML, a YAML file, or a folder of YAML files")
    memory.add_argument("--prompt", type=int, help="number of the prompt (3)")
    memory.add_argument("--select-prompt", action="store_true", help="choose the prompt on the validation split")
    memory.add_argument("--select-reading", action="store_true", help="choose the reading of passages likewise (rag)")
    memory.add_argument("--retriever", default="bm25", help="bm25 (offline), st[:PATH_OR_ID] (BGE-large), openai:NAME")
    memory.add_argument("--retriever-url", help="of an embeddings endpoint, if not that of --base-url")
    memory.add_argument("--query", type=int, default=8, help="what is searched for (8: the segments alone)")
    memory.add_argument("--reading", type=int, default=7, help="how passages are presented (7)")
    memory.add_argument("--top-k", type=int, default=2, help="passages for a question (2)")
    memory.add_argument("--keep-order", action="store_true", help="passages in the book's order, not best first")

    reader = parser.add_argument_group("who answers")
    reader.add_argument("--model", required=True, help="oracle, hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME")
    reader.add_argument("--base-url", help="of an OpenAI-compatible endpoint")
    reader.add_argument(
        "--request-timeout", type=float, default=300.0, metavar="SECONDS",
        help="of one try of one request to an endpoint (300)",
    )  # fmt: skip
    reader.add_argument(
        "--window", type=int, help="tokens: of an endpoint that does not tell, or for vLLM to set aside"
    )
    reader.add_argument("--tensor-parallel", type=int, default=1, help="GPUs for vLLM (1)")
    reader.add_argument("--max-tokens", type=int, default=25, help="an endpoint may write (25; more if it reasons)")

    part = parser.add_argument_group("how much")
    part.add_argument("--books", type=int, nargs="+", help="only these book_idx")
    part.add_argument("--limit", type=int, help="ask only about this many pairs, of a random part of the excerpts")
    part.add_argument(
        "--both-orders", action="store_true", help="ask each pair twice, with its segments as A and B and as B and A"
    )
    part.add_argument("--shard", help="i/n: only the i-th of n parts, for runs on several machines")
    part.add_argument("--plan", action="store_true", help="print requests and tokens, and stop")
    _evaluate(parser.parse_args(argv))


def _evaluate(args: Any) -> None:

    from epbench.booksort.context import prompt_selection as selection
    from epbench.booksort.context import retrieved as memories
    from epbench.booksort.context.orders import both_orders, found_for_both
    from epbench.booksort.context.passages import split_books
    from epbench.booksort.context.prompts import load_prompts
    from epbench.booksort.context.requests import Store, requests_for
    from epbench.booksort.dataset.load import fingerprint, group_of, load_books, load_pairs
    from epbench.booksort.scores.results import finish
    from epbench.booksort.scores.tables import screen_tables
    from epbench.errors import BadInput
    from epbench.models.estimate import check_window, estimate
    from epbench.models.protocol import weights_of
    from epbench.models.scheduling import by_context
    from epbench.runs.answers import ANSWERS, ask, fingerprint_of
    from epbench.runs.folder import open_run, read_json
    from epbench.runs.secrets import without_login
    from epbench.runs.subset import subset

    console = command.console()
    command.show_log()
    _check(args, memories.MEMORIES)
    pack = load_prompts(args.prompts)
    model = _model(args, pack)

    # 1. The pairs, and what is remembered of their books.
    everything = load_pairs(args.dataset, args.config, args.split)
    pairs = subset(_of_books(everything, args.books), group_of, args.limit, args.shard)
    what = "prompt" if args.select_prompt else "reading" if args.select_reading else None
    held_out = []
    if what:
        held_out = _of_books(load_pairs(args.dataset, args.config, "validation"), args.books)
        held_out = subset(held_out, group_of, args.limit)
    books = load_books(args.dataset) if args.memory in ("rag", "full-book") else []
    passages = split_books(books) if args.memory == "rag" else []
    found = []
    if args.memory == "rag":
        if not 0 <= args.query < len(pack.queries):
            raise BadInput(f"--query {args.query}: a number from 0 to {len(pack.queries) - 1} expected")
        found = memories.retrieve(
            [*pairs, *held_out], books, passages, _searcher(args),
            query=pack.queries[args.query], top_k=args.top_k, keep_order=args.keep_order,
        )  # fmt: skip
    if args.both_orders:  # a prompt is still chosen on pairs that are asked one way, as they stand in the set
        pairs, found = both_orders(pairs), found_for_both(found)
    max_tokens = args.max_tokens if model.name.startswith("openai:") else 1

    prompt = (3 if 3 in pack.prompts else min(pack.prompts)) if args.prompt is None else args.prompt

    def requests_of(some: Any, *, prompt: int = prompt, reading: int = args.reading, memory: str = args.memory) -> Any:
        store = Store(books, passages, found, reading)
        return requests_for(memory, some, pack, prompt, store=store, max_tokens=max_tokens)

    # 2. What is asked, and whether it fits. Before a prompt is chosen the longest one stands for it.
    sweep: dict[int, Any] = {}
    if what == "prompt":
        sweep = {each: requests_of(held_out, prompt=each) for each in pack.prompts}
        prompt = max(pack.prompts, key=lambda each: len(pack.prompts[each].reading + pack.prompts[each].task))
    elif what == "reading":
        sweep = {each: requests_of(held_out, reading=each) for each in range(len(pack.passage_readings))}
    requests = requests_of(pairs, prompt=prompt)
    tried = by_context(request for each in sweep.values() for request in each)  # prompts with one reading share it
    asked = [*(request for group in tried for request in group), *requests]
    warning = check_window(asked, model, _alternatives(args, pairs, partial(requests_of, prompt=prompt)))
    if warning:
        console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
    if args.plan or model.name != "oracle":
        for line in estimate(asked, model).lines():
            console.print(line)
    if args.plan:
        return

    label = f"{args.memory}, {model.name}"
    identity = {"benchmark": "booksort", "fingerprint": fingerprint(everything), "memory": args.memory}
    identity |= weights_of(model)
    identity |= {"config": args.config, "split": args.split, "books": args.books, "model": model.name}
    identity |= {"base_url": without_login(args.base_url or ""), "max_tokens": max_tokens}
    identity |= {"both_orders": True if args.both_orders else None}  # None: as in folders from before there was any
    identity |= {"prompts": fingerprint_of(pack), "prompt": "selected" if what == "prompt" else prompt}
    if args.memory == "rag":
        identity |= {"retriever": args.retriever, "query": args.query}
        identity |= {"reading": "selected" if what == "reading" else args.reading}
        identity |= {"top_k": args.top_k, "keep_order": args.keep_order}
    if books:
        identity |= {"texts": fingerprint(books)}
    with open_run(args.out, identity, {"dataset": args.dataset, "label": label, "limit": args.limit}) as folder:
        memories.record(folder, found, passages)

        # 3. The prompt, chosen on pairs that are held out.
        if what:
            choice = selection.select_prompt(folder, sweep, held_out, model, command.bar, what)
            console.print(selection.screen_table(choice, what))
            console.print(choice["reason"], soft_wrap=True)
            requests = requests_of(pairs, **{what: choice[what]})

        # 4. The answers, journaled as they come; 5. the scores, from the journals alone.
        ask(folder / ANSWERS, requests, model, command.bar)
        scores = finish(folder, pairs, {request.id: request.key(model.identity) for request in requests}, label)
    console.print(screen_tables({label: scores}))
    _print_usage(console, read_json(args.out / "usage.json"), scores)
    console.print(f"report: {args.out / 'report.html'}")


def _check(args: Any, memories: Sequence[str]) -> None:
    """Refuse what does not go together, before anything is loaded."""
    from epbench.errors import BadInput

    if args.memory not in memories:
        raise BadInput(f"unknown memory {args.memory!r}; there are: {', '.join(memories)}")
    if args.max_tokens < 1:
        raise BadInput(f"--max-tokens {args.max_tokens}: at least 1 expected")
    if args.select_prompt and (args.prompt is not None or args.select_reading):
        raise BadInput(
            "--select-prompt goes neither with --prompt nor with --select-reading; choose one after the other"
        )
    if args.select_reading and args.memory != "rag":
        raise BadInput("--select-reading chooses how passages are presented: --memory rag expected")
    if args.select_prompt or args.select_reading:
        if args.split == "validation":
            raise BadInput("a choice is made on the validation split: what is scored has to be another, --split test")
        if args.shard:
            raise BadInput(
                "every shard would choose for itself; choose without --shard, then give --prompt or --reading"
            )


def _model(args: Any, pack: Any) -> Any:
    from epbench.booksort.context.oracle import Oracle
    from epbench.errors import BadInput
    from epbench.models.load import Options, load_model

    if args.model == "oracle":
        return Oracle(pack)
    if args.model == "lexical":
        raise BadInput(
            "--model lexical answers questions about events and knows no order; the offline baseline is oracle"
        )
    return load_model(args.model, Options(args.base_url, args.window, args.tensor_parallel, args.request_timeout))


def _of_books(pairs: Sequence[Any], books: Sequence[int] | None) -> list[Any]:
    """The pairs of these books."""
    from epbench.errors import BadInput

    there = {pair.book_idx for pair in pairs}
    for book in books or ():
        if book not in there:
            raise BadInput(f"--books {book}: no such book_idx; there are: {', '.join(map(str, sorted(there)))}")
    return [pair for pair in pairs if books is None or pair.book_idx in books]


def _searcher(args: Any) -> Any:
    """What makes the index over the passages."""
    from epbench.retrieval.load import load_retriever

    url = args.retriever_url or args.base_url
    return lambda texts: load_retriever(args.retriever, texts, base_url=url, request_timeout=args.request_timeout)


def _alternatives(args: Any, pairs: Sequence[Any], requests_of: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """What else could be asked where this does not fit: less text, or none."""
    from epbench.booksort.dataset.load import config_names, load_pairs

    def excerpts(config: str) -> Any:
        return requests_of(load_pairs(args.dataset, [config], args.split), memory="in-context")

    others: dict[str, Callable[[], Any]] = {}
    if args.memory == "full-book":
        for book in sorted({pair.book_idx for pair in pairs}):
            others[f"full-book with --books {book}"] = partial(requests_of, _of_books(pairs, [book]))
    if args.memory in ("in-context", "full-book"):
        longest = max(pair.excerpt_length for pair in pairs)
        for config in config_names(args.dataset):
            if args.memory == "full-book" or int(config[1:].split("_")[0]) < longest:
                others[f"in-context with --config {config}"] = partial(excerpts, config)
    if args.memory != "none":
        others["none"] = partial(requests_of, pairs, memory="none")
    return others


def _print_usage(console: Any, usage: dict[str, Any], scores: dict[str, Any]) -> None:
    if usage["hit_rate"] is not None:
        console.print(
            f"{usage['prefilled']:,} prompt tokens computed, {usage['saved']:,} saved by sharing "
            f"({usage['hit_rate']:.1%}), {usage['generated']:,} generated, {usage['tokens_per_second'] or 0:,.0f} tokens/s"
        )
    for reason, n in usage["failed"].items():
        console.print(f"failed {n} times: {reason}", soft_wrap=True)
    if scores["n_failed"]:
        console.print(
            f"{scores['n_failed']} questions have no answer; they count neither as right nor as wrong, and the accuracy "
            "is a range; the same command sends failed requests again",
            soft_wrap=True,
        )


if __name__ == "__main__":
    command.run(main)
