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

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from epbench import command, options

if TYPE_CHECKING:
    from epbench.hub.rows import Row
    from epbench.models.protocol import Model
    from epbench.tulving.context.reading import Reading
    from epbench.tulving.dataset.load import Loaded
    from epbench.tulving.judging.protocol import Judge
    from epbench.tulving.scores.scoring import ScoredAnswer

# The arguments that say what the reader is, each with its name in run.json: a run resumes only if they are the same.
_READER = {
    "memory": "memory", "model": "model", "top_k": "top_k", "keep_order": "keep_order", "retriever": "retriever",
    "temperature": "temperature", "max_tokens": "max_tokens", "sampling_seed": "seed", "repeats": "repeats",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Arguments(
    options.BackendOptions,
    options.RetrieverOptions,
    options.SystemOptions,
    options.JudgeOptions,
    options.SubsetOptions,
):
    """What the command line says; `given` names the arguments that it sets itself."""

    datasets: list[str]
    dataset: str | None
    released: Path | None
    out: Path
    memory: str | None
    answers: Path | None
    prompts: Path | None
    model: str
    temperature: float
    max_tokens: int
    sampling_seed: int
    repeats: int
    judge_max_tokens: int
    rejudge: bool
    given: frozenset[str]


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    command.show_log()
    if args.rejudge:
        _rejudge(args)
    elif args.released:
        _rescore(args.released, args.out)
    elif args.answers:
        _score_answers(args)
    else:
        _evaluate_all(args)


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--dataset", dest="datasets", nargs="+", default=[], metavar="DATASET",
        help="epbench/<book>, or a folder made by builders/tulving.py; may be several",
    )  # fmt: skip
    source.add_argument("--released", type=Path, help="the published archive (folder or zip): score its runs again")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the reader sees")
    memory.add_argument(
        "--memory", help="in-context, rag-paragraph, rag-chapter, none, everything or a memory system; see above"
    )
    memory.add_argument(
        "--answers", type=Path, metavar="FILE",
        help='score these answers instead of asking a reader: JSONL of {"id", "answer"}',
    )  # fmt: skip
    options.add_retriever(memory)
    memory.add_argument(
        "--prompts", type=Path, metavar="FILE", help="another prompt pack, TOML or JSON, like tulving/data/prompts.toml"
    )
    options.add_system(memory)

    reader = parser.add_argument_group("who answers, and how")
    reader.add_argument("--model", default="lexical", help=f"lexical (rules, offline), {options.MODELS} (lexical)")
    options.add_backend(reader)
    reader.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    reader.add_argument("--max-tokens", type=int, default=1024, metavar="N", help="longest answer in tokens (1024)")
    reader.add_argument("--sampling-seed", type=int, default=0, metavar="SEED", help="seed of sampled answers (0)")
    reader.add_argument("--repeats", type=int, default=1, metavar="N", help="how often to ask each question (1)")

    judge = parser.add_argument_group("who judges")
    options.add_judge(judge, "tulving/data/judging.toml", options.TULVING_JUDGES)
    judge.add_argument(
        "--judge-max-tokens", type=int, default=2048, metavar="N", help="longest reply of the judge in tokens (2048)"
    )
    judge.add_argument("--rejudge", action="store_true", help="have this judge read the answers in OUT")

    options.add_subset(parser.add_argument_group("how much"))
    parsed = vars(parser.parse_args(argv))
    args = Arguments(**parsed, dataset=next(iter(parsed["datasets"]), None), given=command.given(parser, argv))
    if len(args.datasets) > 1 and (args.rejudge or args.answers):
        parser.error(f"{'--rejudge' if args.rejudge else '--answers'} is about one dataset, got {len(args.datasets)}")
    if args.memory == "everything" and args.model != "lexical":
        parser.error(f"--memory everything asks no model, got --model {args.model}")
    if not (args.released or args.rejudge) and (args.memory is None) == (args.answers is None):
        parser.error("give either --memory to ask a reader, or --answers to score a file")
    return args


# Ask a reader


def _evaluate_all(args: Arguments) -> None:
    """Every dataset: all of them are checked before the weights are loaded, which then serve all of them."""
    from epbench.files.writing import write_text
    from epbench.runs.several import folders_of_datasets
    from epbench.tulving.reader.everything import EVERYTHING, EverythingReader
    from epbench.tulving.reader.load import load_reader
    from epbench.tulving.scores.tables import markdown_table, screen_tables

    folders = folders_of_datasets(args.out, args.datasets)
    model, reading = load_reader(args.model, args.backend), _reading(args)
    judge = _judge(args, model)
    runs = {
        name: _evaluate(replace(args, dataset=name, out=folder), model, reading, _judge_in(folder, judge))
        for name, folder in folders.items()
    }
    found, unscored = command.run_all(runs, plan=args.plan)
    who = EverythingReader.name if args.memory == EVERYTHING else model.name
    scores = {f"{name}, {args.memory}, {who}": of_run for name, of_run in found.items()}
    if len(runs) > 1 and scores:
        command.console().print(screen_tables(scores))
        write_text(args.out / "table.md", markdown_table(scores))
    if unscored:
        raise unscored


def _evaluate(args: Arguments, model: Model, reading: Reading, judge: Judge) -> Iterator[dict[str, Any]]:
    """The paper's evaluation: what the reader sees, its answers, the verdicts, the scores.

    Yields:
        Nothing of use when the prompts have been checked, before any weights are loaded; then the scores.
    """
    from epbench.judges.protocol import is_free
    from epbench.judges.replies import failure_of
    from epbench.models.estimate import check_window, estimate
    from epbench.models.protocol import engine_of, variant_of
    from epbench.runs.answers import ANSWERS, ask, retire_others
    from epbench.runs.folder import open_run
    from epbench.tulving.context.memory_system import stand_in
    from epbench.tulving.context.passages import note_passages
    from epbench.tulving.context.requests import MEMORIES, repeated
    from epbench.tulving.judging.verdicts import plan_in_advance
    from epbench.tulving.reader.everything import EVERYTHING, EverythingReader
    from epbench.tulving.scores.judged_run import is_scored

    data, rows = _load(args)
    model = EverythingReader(data.rows) if args.memory == EVERYTHING else model

    # 1. What the reader sees, and whether it fits. A memory system's memories are not known yet: passages stand for them.
    system = reading.system(data)
    once = replace(reading, repeats=1)
    requests = once.requests(data, rows, stand_in(system) if system else None)
    others = {name: partial(once.requests, data, rows, name) for name in MEMORIES if name != args.memory}
    if not system and (warning := check_window(requests, model, others)):
        _warn(warning)
    if args.plan or not (model.costs_nothing and is_free(judge)):
        lines = estimate(requests, model, repeats=args.repeats).lines()
        lines += plan_in_advance(judge, rows, args.max_tokens, args.repeats)
        command.console().print("\n".join(lines), soft_wrap=True)
    yield {}

    label = f"{args.memory}, {model.name}"
    about = _about(args, label) | engine_of(model) | variant_of(model)
    identity = reading.run_identity(data, model, args.base_url, system)
    if is_scored(args.out, identity, judge, limit=args.limit, shard=args.shard):
        yield _show_again(args.out, label)
        return
    with open_run(args.out, identity, about) as folder:
        _check_judge(folder, judge)
        # 2. The answers, journaled as they come.
        if system:
            requests, warnings = reading.requests_of_system(folder, system, data, rows, command.bar)
            for warning in warnings:
                command.warn(warning)
            if requests:
                check_window(requests, model, {})
        else:
            if reading.memory.startswith("rag-"):
                note_passages(folder, requests)
            requests = repeated(requests, args.repeats)
        retire_others(folder / ANSWERS, requests, model)
        ask(folder / ANSWERS, requests, model, command.bar, failure_of=failure_of)
        del requests  # there may be a million of them
        # 3. Which true items each answer contains; 4. the scores, from the journals alone.
        scores = _judge_and_score(args, folder, data, rows, judge, label)
    yield scores


def _load(args: Arguments) -> tuple[Loaded, list[Row]]:
    """The dataset, and the rows that this run asks."""
    from epbench.runs.subset import subset
    from epbench.tulving.dataset.load import load_book

    assert args.dataset
    data = load_book(args.dataset)
    return data, subset(data.rows, itemgetter("id"), args.limit, args.shard)


def _reading(args: Arguments) -> Reading:
    """What the command line says about what the reader sees and how it answers."""
    from epbench.models.protocol import Sampling
    from epbench.tulving.context.prompts import load_prompts
    from epbench.tulving.context.reading import Reading

    assert args.memory
    return Reading(
        memory=args.memory,
        top_k=args.top_k,
        keep_order=args.keep_order,
        retriever=args.retriever,
        retriever_url=args.retriever_url or args.base_url,
        request_timeout=args.request_timeout,
        prompts=load_prompts(args.prompts),
        sampling=Sampling(args.max_tokens, args.temperature, args.sampling_seed),
        repeats=args.repeats,
        limits=args.limits,
        installed=args.installed(args.memory, args.base_url, args.request_timeout),
    )


def _about(args: Arguments, label: str) -> dict[str, Any]:
    from epbench.hub.revision import dataset_revision

    assert args.dataset
    revision = dataset_revision(args.dataset, "qa")
    return {"dataset": args.dataset, "dataset_revision": revision, "book": Path(args.dataset).name, "label": label}


# Score a file of answers


def _score_answers(args: Arguments) -> None:
    """The same from the verdicts on, for answers that somebody else's code gave."""
    from epbench.errors import BadInput
    from epbench.judges.protocol import is_free
    from epbench.runs.folder import open_run
    from epbench.tulving.judging.verdicts import judge_input, plan_lines
    from epbench.tulving.scores.own_answers import read_answers
    from epbench.tulving.scores.results import record_own_answers

    assert args.answers
    if args.repeats > 1:
        raise BadInput(f"--repeats {args.repeats}: a file of answers holds one answer to each question")
    data, rows = _load(args)
    own = read_answers(args.answers, [row["id"] for row in data.rows])
    judge = _judge(args)
    answered = [row for row in rows if row["id"] in own.answers]
    if missing := [row for row in rows if row["id"] not in own.answers and row["id"] not in own.failures]:
        _warn(
            f"{args.answers} answers {len(answered)} of {len(rows)} questions, not counting empty answers; the {len(missing)} "
            "missing ones count as wrong. Complete the file and score it into another --out."
        )
    lines = plan_lines(judge, [judge_input(row, own.answers[row["id"]]) for row in answered])
    if args.plan or not is_free(judge):
        command.console().print("\n".join(lines), soft_wrap=True)
    if args.plan:
        return

    identity: dict[str, Any] = {"benchmark": "tulving", **data.identity, "memory": "answers"}
    identity |= {"model": args.answers.name, "answers": own.fingerprint, "repeats": args.repeats}
    with open_run(args.out, identity, _about(args, args.answers.name)) as folder:
        _check_judge(folder, judge)
        record_own_answers(folder, own, [row["id"] for row in rows], args.answers.name)
        _judge_and_score(args, folder, data, rows, judge, args.answers.name)


# Judge again


def _rejudge(args: Arguments) -> None:
    """Have another judge read the answers of an earlier run; the run's scores change once it has judged all of them."""
    from epbench.errors import BadInput
    from epbench.judges.protocol import is_free
    from epbench.judges.run_judge import note_judge
    from epbench.runs.answers import ANSWERS
    from epbench.runs.folder import open_run
    from epbench.runs.subset import subset
    from epbench.tulving.dataset.load import load_book
    from epbench.tulving.judging.verdicts import check_all_judged, judge_answers, open_inputs, plan_lines
    from epbench.tulving.scores.results import finish
    from epbench.tulving.scores.run_files import read_run

    if not args.dataset:
        raise BadInput("--rejudge needs --dataset and the --out of one run; judge a published run on its own book")
    answers = args.out / ANSWERS
    if not (args.out / "run.json").is_file() or not answers.is_file() or not answers.stat().st_size:
        raise BadInput(f"{args.out}: no answers here; --rejudge judges those of an earlier run")
    data = load_book(args.dataset)
    run = read_run(args.out)
    rows = asked = subset(data.rows, itemgetter("id"), run.get("limit"), run.get("shard"))
    if args.given & {"limit", "shard"}:  # a part of the questions of this run; its own shard is all of it
        rows = subset(asked, itemgetter("id"), args.limit, None if args.shard == run.get("shard") else args.shard)
    judge = _judge(args)
    with open_run(args.out, _identity_of_earlier(args, run, data), {}) as folder:
        if args.plan or not is_free(judge):
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
        scores = finish(folder, rows, judge, label, repeats=repeats, chapters=data.book.chapters)
        _show(folder, scores, label)
        note_judge(folder, judge, dataset=args.dataset)


def _identity_of_earlier(args: Arguments, run: dict[str, Any], data: Loaded) -> dict[str, Any]:
    """What the earlier run must be: on this dataset, and read by the reader that the command line describes, if any."""
    from epbench.errors import BadInput
    from epbench.files.secrets import without_login
    from epbench.runs.answers import fingerprint_of
    from epbench.tulving.context.prompts import load_prompts
    from epbench.tulving.scores.own_answers import read_answers

    if "released" in run["identity"]:
        if run.get("fingerprint") != data.fingerprint:
            raise BadInput(
                f"{args.out / 'run.json'}: a published run on {run['book']!r} with fingerprint {run.get('fingerprint')}, "
                f"but {args.dataset} has {data.fingerprint}. Give the book that builders/tulving.py --released makes of "
                "the archive; if the run has no fingerprint, score it again with --released"
            )
        return {"benchmark": "tulving"}
    identity: dict[str, Any] = {"benchmark": "tulving", **data.identity}
    identity |= {name: getattr(args, argument) for argument, name in _READER.items() if argument in args.given}
    if "prompts" in args.given:
        identity["prompts"] = fingerprint_of(load_prompts(args.prompts))
    if args.answers:
        identity["answers"] = read_answers(args.answers, [row["id"] for row in data.rows]).fingerprint
    if args.base_url and "model" in args.given:  # without --model it is the address of the judge
        identity["base_url"] = without_login(args.base_url)
    return identity


def _show_trial(
    folder: Path, rows: Sequence[Row], verdicts: Sequence[ScoredAnswer], repeats: int, judge: Judge, label: str
) -> None:
    """The scores of these answers alone; those of the run stay as they are."""
    from epbench.judges.run_judge import judge_of_scores
    from epbench.tulving.judging.verdicts import lost_questions
    from epbench.tulving.scores.results import scores_of
    from epbench.tulving.scores.tables import screen_tables

    _show_failures(folder, judge)
    scores = scores_of(verdicts, lost_questions(rows, verdicts, repeats), judge=judge)
    console = command.console()
    console.print(screen_tables({label: scores}))
    _show_judge_usage(folder)
    current = judge_of_scores(folder)
    remain = f"still those of judge {current.name}" if current else "not made yet"
    console.say(
        f"this was a trial on {len(rows)} questions; its verdicts are kept, the scores in {folder} are {remain}"
    )


# Judge and score


def _judge(args: Arguments, reader: Model | None = None) -> Judge:
    """The judge; it is the reader itself if both have one name and one address, so that weights are loaded once."""
    from epbench.tulving.judging.load import load_judge
    from epbench.tulving.judging.verdicts import CALLS

    return load_judge(
        args.judge, args.judge_backend(args), prompts=args.judge_prompts, calls=args.out / CALLS,
        max_tokens=args.judge_max_tokens, reader=reader if args.may_be_reader(args) else None,
    )  # fmt: skip


def _judge_in(out: Path, judge: Judge) -> Judge:
    """The same judge, with its calls in the folder of this run."""
    from epbench.judges.model import BaseModelJudge
    from epbench.tulving.judging.verdicts import CALLS

    if not isinstance(judge, BaseModelJudge):
        return judge
    here: Any = copy(judge)  # the copy has the same model
    here.calls = out / CALLS
    return cast("Judge", here)


def _check_judge(folder: Path, judge: Judge) -> None:
    """Refuse to replace the scores of another judge."""
    from epbench.errors import BadInput
    from epbench.judges.run_judge import check_judge

    try:
        check_judge(folder, judge)
    except BadInput as error:
        raise BadInput(f"{error}; to have another judge judge all answers, add --rejudge") from None


def _judge_and_score(
    args: Arguments, folder: Path, data: Loaded, rows: Sequence[Row], judge: Judge, label: str
) -> dict[str, Any]:
    from epbench.tulving.scores.judged_run import judge_and_score

    try:
        scores = judge_and_score(
            folder,
            rows,
            judge,
            label,
            repeats=args.repeats,
            limit=args.limit,
            shard=args.shard,
            progress=command.bar,
            chapters=data.book.chapters,
        )
    finally:
        _show_failures(folder, judge)
    _show(folder, scores, label)
    return scores


def _show_again(folder: Path, label: str) -> dict[str, Any]:
    """Show the scores of a run to which nothing can be added, and return them."""
    from epbench.runs.folder import read_scores

    scores = read_scores(folder)
    _show(folder, scores, label)
    return scores


def _show(folder: Path, scores: dict[str, Any], label: str) -> None:
    """The scores of a run, what it took, and where its report is."""
    from epbench.files.json_files import read_json
    from epbench.runs.usage import usage_line
    from epbench.tulving.scores.tables import screen_tables

    console = command.console()
    console.print(screen_tables({label: scores}))
    usage = read_json(folder / "usage.json")
    if line := usage_line(usage):
        console.say(line)
    _show_judge_usage(folder)
    for reason, n in usage["failed"].items():
        console.say(f"failed {n} times: {reason}")
    console.say(f"report: {folder / 'report.html'}")


def _show_failures(folder: Path, judge: Judge) -> None:
    """Why the judge gave no verdict; this comes first, as there may be nothing to score."""
    from epbench.tulving.judging.verdicts import judge_failures

    for reason, n in judge_failures(folder, judge).items():
        command.console().say(f"judge {judge.name} failed {n} times: {reason}")


def _show_judge_usage(folder: Path) -> None:
    from epbench.runs.journal import read_journal
    from epbench.runs.usage import token_usage, usage_line
    from epbench.tulving.judging.verdicts import CALLS

    if line := usage_line(token_usage(read_journal(folder / CALLS).values())):
        command.console().say(f"judging: {line}")


def _warn(text: str) -> None:
    command.console().print(f"warning: {text}", style="yellow", soft_wrap=True)


# Published runs


def _rescore(archive: Path, out: Path) -> None:
    """Score the runs of the published archive again, from the replies of its own judge."""
    from epbench.errors import BadInput
    from epbench.tulving.released.archive import open_archive
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
        console.say(line)
    if not found.scores:
        label, reason = next(iter(found.not_scored.items()))
        raise BadInput(f"{archive}: none of its {len(found.not_scored)} runs can be scored; {label}: {reason}")


if __name__ == "__main__":
    command.run(main)
