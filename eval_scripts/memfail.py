"""Find out where a memory system fails: store facts in it, ask it for them, answer with what it returns, judge each stage.

    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system verbatim-bm25 --out runs/bm25
    python eval_scripts/memfail.py --dataset epbench/memfail --config all --system full-context --k 5 10 --out runs/everything
    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system epbench.memories.example:KeywordMemory --out runs/keyword
    python eval_scripts/memfail.py --dataset epbench/memfail --config coexisting_facts --system my_memory.py:MyMemory --model openai:gpt-5-mini --judge openai:gpt-5-mini --plan --out runs/mine
    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system mem0 --system-model qwen3 --system-url http://127.0.0.1:8000/v1 --embedder minilm --out runs/mem0

    python eval_scripts/memfail.py --dataset epbench/memfail --config all --isolate --system verbatim-bm25 --shard 1/4 --out runs/part1

Configs: conditional_facts_easy, conditional_facts_hard, coexisting_facts, persona_retrieval, long_hop, or all of them with
all. Systems: mem0, mem0-1, a-mem, simplemem, langmem, graphiti, cognee and structmem; module:Class or
path/to/file.py:Class, which is any class with the methods store_conversation(conversation),
retrieve_memories(query, conversation, k) and get_all_memories(); or one of the baselines none, full-context,
verbatim-bm25, verbatim-dense, verbatim-dense:PATH_OR_ID (sentence-transformers) and oracle.
Models and judges: lexical (rules, offline), hf:PATH_OR_ID, vllm:PATH_OR_ID, or openai:NAME with --base-url and
--judge-url (the key comes from OPENAI_API_KEY).

Everything is stored before the first question is asked. When a call to the system raises an error, hangs, or returns
anything but a list of at most k texts, its question has failed: it is neither right nor wrong, and the run goes on.

A class of your own runs in a process of its own, in the current folder, without the environment variables of this command
but for PATH, HOME and the like; --system-env passes on one that it needs, such as a key. What it prints goes to
system.log. When a call exceeds --timeout, or the process exits, crashes or exceeds --memory-limit, the
process and everything it has started are killed. The call has then failed, and the run goes on with a new process: a
durable system is opened on its folder again, any other system is given everything again. After three such calls in a row
the system is not called any more. --isolation none (or --in-process) runs the class in a thread of this process instead, for
debugging and for classes that cannot live in a process of their own (on Windows, all of them). Nothing then protects the
run from code that ends the process, takes all its memory, or hangs while it holds Python's global lock. Baselines always
run in this process.

The process runs as you do: it can read your files and reach any address. --isolation bwrap takes that away where
bubblewrap is installed (apt-get install bubblewrap) and user namespaces are allowed: the system then has no network but
the relay below, no GPU, no processes but its own, and no files but Python's, the models in the Hub's cache, the current
folder and that of the class, all read-only, and its store.

A system named mem0, a-mem, … is installed when it is first used, into an environment of its own in the user's cache, and
runs as the published evaluation ran it: --system-model is the model inside it (gpt-4.1-mini), --system-url the endpoint
of that model, --embedder what turns its texts into vectors, and --system-set changes one of its settings. structmem needs
--system-source, a LightMem checkout. Each of its stores has a process with a clean environment, whose only key is a token
for a relay, which passes its requests on and notes them in system_calls.jsonl, with tokens and seconds of storing
and of retrieving. Its folder is copied after each stored conversation, and it gets that copy back when it has to be
started again, so that nothing is stored twice or in part.

--isolate gives each row a store of its own: in the published rows, most people that persona questions ask about have
several essays in the common store. --shard I/N runs one of n parts, for runs on several machines. With --isolate the rows of each config are split.
Otherwise the rows of a config share one store, so that whole configs are split, and each part holds a folder for each of
its configs. eval_scripts/merge.py joins the parts. --published-query searches the memory for the whole multiple-choice question,
including its options.

OUT becomes the run's folder: run.json, stored.jsonl, memories.json, retrieved.jsonl, answers.jsonl, judgements.jsonl,
scores.json, outcomes.jsonl, questions.parquet, usage.json, table.md and report.html. With several configs, OUT holds one
such folder for each, and table.md; with several datasets it holds one for each dataset, and the weights are loaded once.
To resume a run that was stopped, even by kill -9, give the same command again: nothing
is paid for twice, and failed calls are made again. A run has one judge; another judge needs another --out.

Each run also says how many needed facts its judge would not miss: it looks for each where everything but that fact is
stored word for word. lexical looks for all of them, a model for 50.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command, options

if TYPE_CHECKING:
    from epbench.memfail.dataset.load import Loaded
    from epbench.memfail.dataset.types import Question
    from epbench.memfail.judging.protocol import Judge
    from epbench.memfail.pipeline.prompts import Prompts
    from epbench.memfail.pipeline.setting import Setting
    from epbench.memories.spec import SystemSpec
    from epbench.models.protocol import Model


@dataclass(frozen=True, kw_only=True)
class Arguments(options.BackendOptions, options.SystemOptions, options.JudgeOptions):
    """What the command line says."""

    datasets: list[str]
    dataset: str
    config: list[str]
    out: Path
    system: str
    k: list[int]
    isolate: bool
    published_query: bool
    with_replies: bool
    units_per_conversation: int
    seed: int
    model: str
    max_tokens: int
    prompts: Path | None
    limit: int | None
    shard: str | None
    plan: bool


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What stands between a config and its scores: the memory system, the reader, the judge, and how they are run."""

    system: SystemSpec
    model: Model
    judge: Judge
    prompts: Prompts
    setting: Setting

    @property
    def label(self) -> str:
        """The run's name in tables."""
        inside = f" ({self.system.inner_model})" if self.system.inner_model else ""
        return f"{self.system.name}{' (baseline)' if self.system.baseline else ''}{inside}, {self.model.name}"


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    command.show_log()
    _evaluate_all(args)


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    parser.add_argument(
        "--dataset", dest="datasets", nargs="+", required=True, metavar="DATASET",
        help="epbench/memfail, or a folder made by builders/memfail.py; may be several",
    )  # fmt: skip
    parser.add_argument("--config", nargs="+", required=True, help="configs, or all")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what remembers")
    memory.add_argument("--system", "--memory", required=True, help="a system, a baseline or module:Class; see above")
    memory.add_argument(
        "--k",
        "--top-k",
        type=int,
        nargs="+",
        default=[5],
        help="memories for each question (5); each k is scored apart",
    )
    memory.add_argument("--isolate", action="store_true", help="one store for each row instead of one for all")
    memory.add_argument("--published-query", action="store_true", help="search with the options, not only the question")
    memory.add_argument("--with-replies", action="store_true", help="store the reader's replies too, as published")
    memory.add_argument(
        "--units-per-conversation", type=int, default=1, metavar="N", help="most facts in one conversation (1)"
    )
    memory.add_argument("--seed", type=int, default=0, help="seed of the order in which facts are stored (0)")
    options.add_system(memory)

    reader = parser.add_argument_group("who answers")
    reader.add_argument("--model", default="lexical", help=f"lexical (rules, offline), {options.MODELS} (lexical)")
    options.add_backend(reader)
    reader.add_argument("--max-tokens", type=int, default=1024, metavar="N", help="longest answer in tokens (1024)")
    reader.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help="another prompt pack, TOML or JSON, like memfail/data/memfail_prompts.toml",
    )
    options.add_judge(parser.add_argument_group("who judges"), "memfail/data/memfail_judging.toml")

    part = parser.add_argument_group("how much")
    part.add_argument("--limit", type=int, metavar="N", help="ask only N questions of each config, chosen at random")
    part.add_argument("--shard", metavar="I/N", help="run only the i-th of n parts, for runs on several machines")
    options.add_plan(part)
    parsed = vars(parser.parse_args(argv))
    return Arguments(**parsed, dataset=parsed["datasets"][0])


def _evaluate_all(args: Arguments) -> None:
    """Every dataset, with one reader and one judge, whose weights are loaded once."""
    from epbench.files.writing import write_text
    from epbench.memfail.judging.load import load_judge
    from epbench.memfail.pipeline.load import load_reader
    from epbench.memfail.scores.tables import markdown_table, screen_tables
    from epbench.runs.several import folders_of_datasets
    from epbench.runs.usage import commonest

    folders = folders_of_datasets(args.out, args.datasets)
    model = load_reader(args.model, args.backend)
    judge = load_judge(args.judge, args.judge_backend(args), args.judge_prompts)
    reasons: list[str | None] = []  # why each question failed; None for one that did not
    runs = {
        name: _evaluate(replace(args, dataset=name, out=folder), model, judge, reasons)
        for name, folder in folders.items()
    }
    console = command.console()
    for run in runs.values():  # all of them can be read, before the first is run
        next(run)
    if args.plan:
        return
    scores = {f"{name}, {label}": found for name, run in runs.items() for label, found in next(run).items()}
    if len(runs) > 1:
        console.print(screen_tables(scores))
        write_text(args.out / "table.md", markdown_table(scores))
    if reasons and None not in reasons:
        said = commonest(reason for reason in reasons if reason)
        command.warn(f"nothing to score: all {len(reasons)} questions failed{said}; start the run again to retry them")


def _evaluate(
    args: Arguments, model: Model, judge: Judge, reasons: list[str | None]
) -> Iterator[dict[str, dict[str, Any]]]:
    """One dataset.

    Yields:
        Nothing of use when the dataset has been read; then the scores by label.
    """
    from epbench.errors import BadInput
    from epbench.files.writing import write_text
    from epbench.memfail.dataset.load import load_memfail
    from epbench.memfail.pipeline.estimate import plan_lines
    from epbench.memfail.pipeline.queries import asked_of
    from epbench.memfail.scores.tables import markdown_table, screen_tables
    from epbench.safe_text import markdown_text

    console = command.console()
    names, several = _configs(args)
    loaded = [load_memfail(args.dataset, name) for name in names]
    of_rows = args.shard if args.isolate else None
    asked = {data.config: asked_of(data.questions, args.limit, of_rows) for data in loaded}
    pipeline = _pipeline(args, [question for data in loaded for question in data.questions], model, judge)
    if several and (args.out / "run.json").exists():
        raise BadInput(f"{args.out} holds the run of one config; choose another --out for several of them")
    if len(args.datasets) > 1:
        console.say(f"{args.dataset}:")
    for data in loaded if args.plan else ():
        lines = plan_lines(
            data.facts, asked[data.config], pipeline.system, model, judge, pipeline.prompts, pipeline.setting
        )
        console.say("\n  ".join([f"{data.config}:", *lines]))
    yield {}

    scores = {}
    for data in loaded:
        label = f"{pipeline.label} ({data.config})" if several else pipeline.label
        out = args.out / data.config if several else args.out
        scores[label] = _run_config(args, out, data, asked[data.config], pipeline, reasons)
    console.print(screen_tables(scores))
    if several:
        write_text(args.out / "table.md", f"{markdown_text(pipeline.label)}\n\n{markdown_table(scores)}")
    console.say(f"report: {args.out / '*/report.html' if several else args.out / 'report.html'}")
    yield scores


def _configs(args: Arguments) -> tuple[Sequence[str], bool]:
    """The configs that this part of a run takes, and whether each has a folder of its own in OUT."""
    from epbench.errors import BadInput
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.runs.subset import part_of

    names = CONFIGS if "all" in args.config else tuple(dict.fromkeys(args.config))
    if args.shard is None or args.isolate:
        return names, len(names) > 1
    number, n = part_of(args.shard)
    if n > len(names):
        raise BadInput(
            f"--shard {args.shard}: all rows of a config have one common store, so only whole configs can be split, and "
            f"there are {len(names)}; with --isolate each row has a store of its own, and rows can be split"
        )
    return names[number - 1 :: n], len(names) > 1


def _pipeline(args: Arguments, questions: Sequence[Question], model: Model, judge: Judge) -> Pipeline:
    """Everything that --system, --model and --judge name; weights are not loaded yet."""
    from epbench.memfail.pipeline.prompts import load_prompts
    from epbench.memfail.pipeline.queries import gold_of
    from epbench.memfail.pipeline.setting import Setting
    from epbench.memories.load import load_memory
    from epbench.models.protocol import Sampling

    setting = Setting(
        ks=tuple(args.k),
        isolate=args.isolate,
        published_query=args.published_query,
        replies=args.with_replies,
        units_per_conversation=args.units_per_conversation,
        timeout=args.timeout,
        seed=args.seed,
        sampling=Sampling(args.max_tokens),
        memory_limit=args.memory_limit,
    )
    setting.check()
    return Pipeline(
        model=model,
        judge=judge,
        system=load_memory(
            args.system,
            gold_of(questions, setting),
            limits=setting.limits,
            **args.installed(args.system, args.base_url, args.request_timeout),
        ),
        prompts=load_prompts(args.prompts),
        setting=setting,
    )


def _run_config(
    args: Arguments, out: Path, data: Loaded, asked: Sequence[Question], pipeline: Pipeline, reasons: list[str | None]
) -> dict[str, Any]:
    """The paper's three phases for one config; the scores as tables take them. `reasons` gets those of its failures."""
    from epbench.errors import BadInput
    from epbench.hub.revision import dataset_revision
    from epbench.judges.run_judge import check_judge, note, note_judge
    from epbench.memfail.judging.diagnosis import diagnose
    from epbench.memfail.judging.leave_one_out import leave_one_out
    from epbench.memfail.pipeline.harness import run_config
    from epbench.memfail.pipeline.queries import asked_of
    from epbench.memfail.scores.results import finish
    from epbench.memfail.scores.tables import with_baseline
    from epbench.models.protocol import engine_of, variant_of
    from epbench.runs.folder import open_run
    from epbench.runs.usage import commonest

    system, model, judge = pipeline.system, pipeline.model, pipeline.judge
    revision = dataset_revision(args.dataset, data.config)
    about = {"dataset": args.dataset, "dataset_revision": revision, "label": pipeline.label}
    about |= engine_of(model) | variant_of(model)
    identity = _identity(args, data, pipeline)
    with open_run(out, identity, about) as folder:
        try:
            check_judge(folder, judge)
        except BadInput as error:
            raise BadInput(f"{error}; give another --out for another judge") from None
        # 1. Everything is stored, 2. every question is put to the memory at every k, 3. the reader answers.
        whole = asked_of(data.questions, args.limit)
        output = run_config(
            folder, data.facts, asked, system, model, pipeline.prompts, pipeline.setting, command.bar, whole
        )
        for warning in output.warnings:
            command.warn(f"{data.config}: {warning}")

        # 4. Stage by stage, the judge finds where each question failed; 5. the scores, from the journals alone.
        note(folder, limit=args.limit, shard=args.shard if args.isolate else None)
        outcomes = diagnose(folder, output.records, output.stores, judge, command.bar)
        left_out = leave_one_out(folder, output.records, output.told, judge, command.bar)
        usage = output.usage | {"warnings": output.warnings}
        scores = finish(folder, outcomes, output.records, output.stores, pipeline.label, usage, left_out)
        for warning in scores["warnings"][len(output.warnings) :]:
            command.warn(f"{data.config}: {warning}")
        note_judge(folder, judge)
    failures = [outcome.failure for outcome in outcomes]
    reasons += failures
    if looped := output.usage["answering"]["looped"]:
        command.console().say(f"{data.config}: {looped} answers went in circles and were ended")
    if scores["n_failed"]:
        command.console().say(
            f"{data.config}: {scores['n_failed']} questions failed, which count neither as right nor as wrong"
            f"{commonest(reason for reason in failures if reason)}"
        )
    return with_baseline(scores, {"identity": identity})


def _identity(args: Arguments, data: Loaded, pipeline: Pipeline) -> Mapping[str, Any]:
    """What tells this run from another one: a folder is resumed only by a run of the same identity."""
    from epbench.files.secrets import without_login
    from epbench.models.protocol import weights_of
    from epbench.runs.answers import fingerprint_of

    system, model, setting = pipeline.system, pipeline.model, pipeline.setting
    return {
        "config": data.config,
        "fingerprint": data.fingerprint,
        "benchmark": "memfail",
        "system": system.name,
        "control": system.baseline,
        **system.identity,
        "model": model.name,
        "k": list(setting.ks),
        "isolate": setting.isolate,
        "published_query": setting.published_query,
        "with_replies": setting.replies,
        "units_per_conversation": setting.units_per_conversation,
        "seed": setting.seed,
        "prompts": fingerprint_of(pipeline.prompts),
        "max_tokens": args.max_tokens,
        "base_url": without_login(args.base_url or ""),
        **weights_of(model),
    }


if __name__ == "__main__":
    command.run(main)
