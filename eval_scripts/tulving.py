"""Ask a reader what it remembers of a Tulving book, judge the answers and score them.

    python eval_scripts/tulving.py --dataset epbench/short --memory in-context --out runs/short
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --out runs/llama
    python eval_scripts/tulving.py --dataset epbench/long --memory rag-chapter --model openai:gpt-4o-mini --judge openai:gpt-4o --plan --out runs/mini
    python eval_scripts/tulving.py --dataset epbench/long --memory in-context --model vllm:Qwen/Qwen3-8B --shard 1/4 --out runs/part1
    python eval_scripts/tulving.py --dataset epbench/short --answers my_answers.jsonl --out runs/mine
    python eval_scripts/tulving.py --dataset epbench/short --rejudge --judge openai:gpt-4o --out runs/mine
    python eval_scripts/tulving.py --released episodic-memory-benchmark.zip --out runs/published

Memories: in-context (the whole book), rag-paragraph and rag-chapter, none, and any memory system, as module:Class or
path/to/file.py:Class, which is told chapter by chapter. Such a system runs in a process of its own, within --timeout and
--memory-limit, or with --in-process in this one; eval_scripts/memfail.py --help says more. Models: lexical (rule-based,
offline), hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, openai:NAME with --base-url URL for any compatible endpoint (key
from OPENAI_API_KEY). All questions about one book share one reading of it. A prompt that does not fit the model's window
is refused before weights are loaded; nothing is ever cut off. --plan prints what a run costs and stops.

The judge reads each answer and says which true items are in it: lexical compares words; any model can judge by meaning.
--rejudge has the answers that OUT holds judged by another judge and asks the reader nothing: the run stands for the last
judge that has judged them all, the verdicts of every judge are kept, and eval_scripts/compare.py OUT says how far they
agree. With --limit or --shard it is a trial, which prints a table and leaves the run's scores as they are. Where one
machine cannot hold reader and judge at once, run with lexical first and judge again after that.

A question without an answer or a verdict is neither right nor wrong. The scores that it belongs to are incomplete: they
are shown as a range, from all such questions wrong to all of them right, and rank nowhere. An empty answer in --answers
FILE is no answer; to say that nothing happened takes words.

OUT becomes a run's folder: run.json, answers.jsonl, judgements.jsonl, scores.json, usage.json, table.md, report.html.
A run that was stopped, however hard, goes on where it was when the same command is given again: nothing is paid twice,
and what failed is tried again. The folders of --shard 1/n … n/n become one run by eval_scripts/merge.py.
"""  # noqa: E501

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence, Set
from operator import itemgetter
from pathlib import Path
from typing import Any

from epbench import command

# What tells one run from another: options of the reader, under their names in run.json.
_READER = {
    "memory": "memory", "model": "model", "top_k": "top_k", "keep_order": "keep_order", "retriever": "retriever",
    "temperature": "temperature", "max_tokens": "max_tokens", "sampling_seed": "seed", "repeats": "repeats",
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset", help="epbench/<book>, or a folder made by builders/tulving.py")
    source.add_argument("--released", type=Path, help="folder or zip of the published data: re-score its runs")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the reader sees")
    memory.add_argument("--memory", help="in-context, rag-paragraph, rag-chapter, none or module:Class")
    memory.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help='score these answers instead of asking a reader: JSONL of {"id", "answer"}; an empty answer is none',
    )
    memory.add_argument("--retriever", default="bm25", help="bm25 (offline), st[:PATH_OR_ID] (BGE-large), openai:NAME")
    memory.add_argument("--retriever-url", help="of an embeddings endpoint, if not that of --base-url")
    memory.add_argument("--top-k", type=int, help="chunks per question; as published unless given")
    memory.add_argument("--keep-order", action="store_true", help="chunks in the order of the book, not best first")
    memory.add_argument("--prompts", type=Path, help="another prompt pack, TOML or JSON; see data/prompts.toml")
    memory.add_argument("--timeout", type=float, default=300.0, help="seconds of one call into a memory system (300)")
    memory.add_argument(
        "--memory-limit", type=float, default=8.0, metavar="GB",
        help="gigabytes that the process of a memory system may allocate (8); enforced on Linux only",
    )  # fmt: skip
    memory.add_argument("--in-process", action="store_true", help="run a memory system in this process, for debugging")

    reader = parser.add_argument_group("who answers, and how")
    reader.add_argument("--model", default="lexical", help="lexical, hf:PATH_OR_ID, vllm:PATH_OR_ID or openai:NAME")
    reader.add_argument("--base-url", help="of an OpenAI-compatible endpoint")
    reader.add_argument(
        "--request-timeout", type=float, default=300.0, metavar="SECONDS",
        help="of one try of one request to an endpoint (300)",
    )  # fmt: skip
    reader.add_argument(
        "--window", type=int, help="tokens: of an endpoint that does not tell, or for vLLM to set aside"
    )
    reader.add_argument("--tensor-parallel", type=int, default=1, help="GPUs for vLLM (1)")
    reader.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    reader.add_argument("--max-tokens", type=int, default=1024, help="of one answer (1024)")
    reader.add_argument("--sampling-seed", type=int, default=0, help="of drawn answers (0)")
    reader.add_argument("--repeats", type=int, default=1, help="how often each question is asked (1)")

    judge = parser.add_argument_group("who judges")
    judge.add_argument("--judge", default="lexical", help="lexical (rule-based, offline), or any model as for --model")
    judge.add_argument("--judge-url", help="of the judge's endpoint, if not that of --base-url")
    judge.add_argument("--judge-window", type=int, help="as --window, of the judge")
    judge.add_argument("--judge-max-tokens", type=int, default=2048, help="of one reply of the judge (2048)")
    judge.add_argument("--judge-prompts", type=Path, help="another prompt pack, TOML or JSON; see data/judging.toml")
    judge.add_argument("--rejudge", action="store_true", help="judge the answers in OUT by this judge")

    part = parser.add_argument_group("how much")
    part.add_argument("--limit", type=int, help="ask only this many questions, a random part of the set")
    part.add_argument("--shard", help="i/n: only the i-th of n parts, for runs on several machines")
    part.add_argument("--plan", action="store_true", help="print requests and tokens, and stop")
    args = parser.parse_args(argv)
    command.show_log()
    if args.rejudge:
        _rejudge(args, _given(parser, argv))
    elif args.released:
        _rescore(args.released, args.out)
    else:
        _evaluate(args)


def _evaluate(args: Any) -> None:

    from epbench.errors import BadInput
    from epbench.models.estimate import check_window, estimate
    from epbench.models.load import Options, load_model
    from epbench.models.protocol import Sampling, weights_of
    from epbench.runs.answers import ANSWERS, ask, fingerprint_of, retire_others
    from epbench.runs.folder import open_run
    from epbench.runs.secrets import without_login
    from epbench.runs.subset import subset
    from epbench.tulving.context.memory_system import remember, remembered_requests
    from epbench.tulving.context.prompts import load_prompts
    from epbench.tulving.context.requests import MEMORIES, QuestionView, published_top_k, requests_for
    from epbench.tulving.dataset.load import load_tulving
    from epbench.tulving.judging.verdicts import (
        check_judge,
        expected_inputs,
        judge_answers,
        judge_input,
        note,
        note_judge,
        plan_lines,
    )
    from epbench.tulving.scores.own_answers import is_empty, read_answers
    from epbench.tulving.scores.results import record_answers

    console = command.console()
    if (args.memory is None) == (args.answers is None):
        raise BadInput("either --memory (ask a reader) or --answers (score a file) is expected, and not both")
    if args.answers and args.repeats > 1:
        raise BadInput(f"--repeats {args.repeats}: --answers FILE holds one answer to each question")
    data = load_tulving(args.dataset)
    rows = subset(data.rows, itemgetter("id"), args.limit, args.shard)
    identity: dict[str, Any] = {"benchmark": "tulving", "fingerprint": data.fingerprint}

    # 1. What the reader sees, question by question, and whether it fits; whether the longest answers fit the judge.
    if args.answers:
        answers = read_answers(args.answers, [row["id"] for row in data.rows])
        label = args.answers.name
        identity |= {"memory": "answers", "model": args.answers.name, "answers": fingerprint_of(answers)}
        identity |= {"repeats": args.repeats}
        judge = _judge(args)
        given = {row["id"]: row for row in rows if not is_empty(answers.get(row["id"], ""))}
        if len(given) < len(rows):
            console.print(
                f"warning: {args.answers} answers {len(given)} of {len(rows)} questions; an empty answer is none. "
                "Complete it and give another --out.",
                style="yellow",
                soft_wrap=True,
            )
        plan = plan_lines(judge, [judge_input(row, answers[id_]) for id_, row in given.items()])
    else:
        model = load_model(args.model, Options(args.base_url, args.window, args.tensor_parallel, args.request_timeout))
        prompts = load_prompts(args.prompts)
        sampling = Sampling(args.max_tokens, args.temperature, args.sampling_seed)
        everything = [QuestionView(row["id"], row["question"], row["n_chapters"]) for row in data.rows]
        asked = [QuestionView(row["id"], row["question"], row["n_chapters"]) for row in rows]

        def requests_of(memory: str) -> Any:
            top_k = published_top_k(memory, everything) if args.top_k is None else args.top_k
            return requests_for(
                memory, data.book, asked, top_k=top_k, keep_order=args.keep_order, search=_searcher(args),
                prompts=prompts, sampling=sampling, repeats=args.repeats,
            )  # fmt: skip

        system = _system(args)
        requests = list(requests_of("rag-chapter" if system else args.memory))  # a system's memories are not there yet
        others = {name: lambda name=name: requests_of(name) for name in MEMORIES if name != args.memory}
        warning = None if system else check_window(requests, model, others)  # type: ignore[arg-type]
        if warning:
            console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
        judge = _judge(args, model)
        plan = plan_lines(judge, expected_inputs(rows, args.max_tokens, args.repeats))
        plan = [*estimate(requests, model).lines(), *plan]
        label = f"{args.memory}, {model.name}"
        identity |= {name: getattr(args, option) for option, name in _READER.items()}
        top_k = published_top_k("rag-chapter" if system else args.memory, everything)
        identity |= {"top_k": top_k if args.top_k is None else args.top_k}
        identity |= {"prompts": fingerprint_of(prompts), "base_url": without_login(args.base_url or "")}
    if args.plan or args.model != "lexical" or judge.name != "lexical":
        console.print("\n".join(plan), soft_wrap=True)
    if args.plan:
        return

    if not args.answers:
        identity |= weights_of(model)
    about = {"dataset": args.dataset, "book": Path(args.dataset).name, "label": label}
    with open_run(args.out, identity, about) as folder:
        check_judge(folder, judge)
        # 2. The answers, journaled as they come.
        if args.answers:
            record_answers(folder, answers, args.answers.name)
        else:
            if system:
                matching = {row["id"]: row["chapters"] for row in rows}
                k, limits = identity["top_k"], _limits(args)
                remembered = remember(folder, system, data.book, asked, matching, k, command.bar, limits)
                requests = list(remembered_requests(remembered, asked, prompts, sampling, args.repeats))
                for warning in remembered.warnings:
                    command.warn(warning)
                if requests:
                    check_window(requests, model, {})
            retire_others(folder / ANSWERS, requests, model)
            ask(folder / ANSWERS, requests, model, command.bar)
        # 3. Which true items are in each answer; 4. the scores, from the journals alone.
        note(folder, limit=args.limit, shard=args.shard)
        verdicts = judge_answers(folder, rows, judge, command.bar)
        _show_failures(folder, judge)
        _score(folder, rows, verdicts, args.repeats, judge, label)
        note_judge(folder, judge)


def _rejudge(args: Any, given: Set[str]) -> None:
    """Judge the answers of an earlier run again; what is said of its reader must be true of it.

    The run's own files change at the end, when all its answers are judged.
    """

    from epbench.errors import BadInput
    from epbench.runs.answers import ANSWERS
    from epbench.runs.folder import open_run
    from epbench.runs.subset import subset
    from epbench.tulving.dataset.load import load_tulving
    from epbench.tulving.judging.verdicts import check_all_judged, judge_answers, note_judge, open_inputs, plan_lines
    from epbench.tulving.scores.run_files import read_run

    if not args.dataset:
        raise BadInput("--rejudge takes --dataset, and --out of one run; a published run is judged on its own book")
    answers = args.out / ANSWERS
    if not (args.out / "run.json").is_file() or not answers.is_file() or not answers.stat().st_size:
        raise BadInput(f"{args.out}: no answers in it; --rejudge judges those of an earlier run")
    data = load_tulving(args.dataset)
    run = read_run(args.out)
    if "released" in run["identity"]:
        if run.get("fingerprint") != data.fingerprint:
            raise BadInput(
                f"{args.out / 'run.json'}: a run on {run['book']!r} as published, with fingerprint "
                f"{run.get('fingerprint')}; {args.dataset} has {data.fingerprint}. Give the book that builders/tulving.py "
                "--released makes of the archive; where the run has no fingerprint, score it again by --released"
            )
        identity: dict[str, Any] = {"benchmark": "tulving"}
    else:
        identity = {"benchmark": "tulving", "fingerprint": data.fingerprint} | _reader_as_given(args, given, data.rows)
    rows = asked = subset(data.rows, itemgetter("id"), run.get("limit"), run.get("shard"))
    if given & {"limit", "shard"}:  # of the questions of the run; its own shard is the whole of it
        rows = subset(asked, itemgetter("id"), args.limit, None if args.shard == run.get("shard") else args.shard)
    judge = _judge(args)
    with open_run(args.out, identity, {}) as folder:
        if args.plan or judge.name != "lexical":
            command.console().print("\n".join(plan_lines(judge, open_inputs(folder, rows, judge))), soft_wrap=True)
        if args.plan:
            return
        label, repeats = run.get("label", args.out.name), run["identity"].get("repeats", 1)
        verdicts = judge_answers(folder, rows, judge, command.bar)
        if rows != asked:
            _show_trial(folder, rows, verdicts, repeats, judge, label)
            return
        _show_failures(folder, judge)
        check_all_judged(folder, rows, verdicts, judge)
        _score(folder, rows, verdicts, repeats, judge, label)
        note_judge(folder, judge, dataset=args.dataset)


def _show_trial(folder: Path, rows: Any, verdicts: Any, repeats: int, judge: Any, label: str) -> None:
    """What the scores would be on a few of the answers; the run's own stay as they are."""

    from epbench.tulving.judging.verdicts import judge_of_scores
    from epbench.tulving.scores.results import lost_questions, scores_of
    from epbench.tulving.scores.tables import screen_tables

    _show_failures(folder, judge)
    scores = scores_of(verdicts, lost_questions(rows, verdicts, repeats), judge=judge)
    command.console().print(screen_tables({label: scores}))
    _show_tokens(folder)
    standing = judge_of_scores(folder)
    stay = f"stay those of judge {standing.name}" if standing else "are yet to be made"
    command.console().print(
        f"a trial on {len(rows)} questions, verdicts kept; the scores in {folder} {stay}", soft_wrap=True
    )


def _score(folder: Path, rows: Any, verdicts: Any, repeats: int, judge: Any, label: str) -> None:

    from epbench.runs.folder import read_json
    from epbench.tulving.scores.results import finish, lost_questions
    from epbench.tulving.scores.tables import screen_tables

    console = command.console()
    scores = finish(folder, verdicts, lost_questions(rows, verdicts, repeats), label, judge=judge)
    console.print(screen_tables({label: scores}))
    usage = read_json(folder / "usage.json")
    _show_usage("", usage)
    _show_tokens(folder)
    for reason, n in usage["failed"].items():
        console.print(f"failed {n} times: {reason}", soft_wrap=True)
    console.print(f"report: {folder / 'report.html'}")


def _show_failures(folder: Path, judge: Any) -> None:
    """Why the judge gave no verdict; printed first, as there may be nothing to score."""

    from epbench.tulving.judging.verdicts import judge_failures

    for reason, n in judge_failures(folder, judge).items():
        command.console().print(f"judge {judge.name} failed {n} times: {reason}", soft_wrap=True)


def _show_tokens(folder: Path) -> None:
    """The usage of the judges' calls, if there were any."""
    from epbench.runs.journal import read_journal
    from epbench.runs.usage import token_usage
    from epbench.tulving.judging.verdicts import CALLS

    if calls := read_journal(folder / CALLS):
        _show_usage("judging: ", token_usage(calls.values()))


def _show_usage(who: str, usage: Any) -> None:

    if usage["hit_rate"] is not None:
        command.console().print(
            f"{who}{usage['prefilled']:,} prompt tokens computed, {usage['saved']:,} saved by sharing "
            f"({usage['hit_rate']:.1%}), {usage['generated']:,} generated, "
            f"{usage['tokens_per_second'] or 0:,.0f} tokens/s",
            soft_wrap=True,
        )


def _judge(args: Any, reader: Any = None) -> Any:
    from epbench.models.load import Options
    from epbench.tulving.judging.verdicts import CALLS, choose_judge

    other = args.judge_url or args.judge_window  # then it is not the reader, whatever its name
    return choose_judge(
        args.judge,
        Options(args.judge_url or args.base_url, args.judge_window, args.tensor_parallel, args.request_timeout),
        prompts=args.judge_prompts,
        calls=args.out / CALLS,
        max_tokens=args.judge_max_tokens,
        reader=None if other else reader,
    )


def _given(parser: Any, argv: Sequence[str] | None) -> Set[str]:
    """Names of the options that stand on the command line."""
    absent = object()
    names = vars(parser.parse_args(argv))
    bare = parser.parse_args(argv, Namespace(**dict.fromkeys(names, absent)))
    return {name for name, value in vars(bare).items() if value is not absent}


def _reader_as_given(args: Any, given: Set[str], rows: Any) -> dict[str, Any]:
    """What the command line says of the reader, under the names of run.json."""
    from epbench.runs.answers import fingerprint_of
    from epbench.runs.secrets import without_login
    from epbench.tulving.context.prompts import load_prompts
    from epbench.tulving.scores.own_answers import read_answers

    said = {name: getattr(args, option) for option, name in _READER.items() if option in given}
    if "prompts" in given:
        said["prompts"] = fingerprint_of(load_prompts(args.prompts))
    if "answers" in given:
        said["answers"] = fingerprint_of(read_answers(args.answers, [row["id"] for row in rows]))
    if {"model", "base_url"} <= given:  # without a model it is the address of the judge
        said["base_url"] = without_login(args.base_url)
    return said


def _system(args: Any) -> Any:
    """The memory system behind `--memory module:Class`; None for a memory of our own."""
    from epbench.errors import BadInput
    from epbench.memories.load import BRING_YOUR_OWN, load_system
    from epbench.memories.process import describe_system
    from epbench.tulving.context.requests import MEMORIES

    if args.memory in MEMORIES:
        return None
    if ":" not in args.memory:
        raise BadInput(f"unknown memory {args.memory!r}; there are: {', '.join(MEMORIES)}; {BRING_YOUR_OWN}")
    if args.keep_order or args.retriever != "bm25":
        raise BadInput("--keep-order and --retriever go with rag-paragraph and rag-chapter, not with a memory system")
    limits = _limits(args)
    limits.check()
    return load_system(args.memory) if args.in_process else describe_system(args.memory, limits)


def _limits(args: Any) -> Any:
    """What a memory system may take."""
    from epbench.memories.guard import Limits

    return Limits(args.timeout, args.memory_limit)


def _searcher(args: Any) -> Any:
    """What makes the index over the chunks."""
    from epbench.retrieval.bm25 import Bm25

    if args.retriever == "bm25":
        return Bm25
    from epbench.retrieval.load import load_retriever

    url = args.retriever_url or args.base_url
    return lambda chunks: load_retriever(args.retriever, chunks, base_url=url, request_timeout=args.request_timeout)


def _rescore(archive: Path, out: Path) -> None:

    from epbench.errors import BadInput
    from epbench.tulving.released.books import open_archive
    from epbench.tulving.released.runs import score_published_runs
    from epbench.tulving.scores.tables import screen_tables

    console = command.console()
    found = score_published_runs(open_archive(archive), out, command.bar)
    if found.scores:
        console.print(screen_tables(found.scores))
    lines = [f"note on {label}: {note}" for label, notes in found.notes.items() for note in notes]
    lines += [f"no run: {path} holds no raw_answers, only {', '.join(it)}" for path, it in found.no_runs.items()]
    lines += [f"not scored: {label}: {reason}" for label, reason in found.not_scored.items()]
    lines.append(f"{len(found.scores)} runs scored, {len(found.not_scored)} not scored")
    for line in lines:
        console.print(line, soft_wrap=True)
    if not found.scores:
        label, reason = next(iter(found.not_scored.items()))
        raise BadInput(f"{archive}: none of its {len(found.not_scored)} runs can be scored; {label}: {reason}")


if __name__ == "__main__":
    command.run(main)
