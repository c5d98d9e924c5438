"""Find out where a memory system fails: tell it facts, ask it for them, answer with what it gives, and judge each stage.

    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system verbatim-bm25 --out runs/bm25
    python eval_scripts/memfail.py --dataset epbench/memfail --config all --system full-context --k 5 10 --out runs/everything
    python eval_scripts/memfail.py --dataset epbench/memfail --config long_hop --system epbench.memories.example:KeywordMemory --out runs/keyword
    python eval_scripts/memfail.py --dataset epbench/memfail --config coexisting_facts --system my_memory.py:MyMemory --model openai:gpt-5-mini --judge openai:gpt-5-mini --plan --out runs/mine

Configs: conditional_facts_easy, conditional_facts_hard, coexisting_facts, persona_retrieval, long_hop, or all. Systems:
module:Class or path/to/file.py:Class, any class with store_conversation(conversation), retrieve_memories(query,
conversation, k) and get_all_memories(); and the baselines none, full-context, verbatim-bm25, verbatim-dense,
verbatim-dense:PATH_OR_ID (sentence-transformers) and oracle. Models and judges: lexical (rule-based, offline),
hf:PATH_OR_ID, vllm:PATH_OR_ID, openai:NAME with --base-url and --judge-url (key from OPENAI_API_KEY).

Everything is stored before the first question. A call into a system that raises, hangs or gives back what is no list of
at most k texts makes its question failed, neither right nor wrong; the run goes on.

A system of module:Class runs in a process of its own, in the current folder and with the environment of this command;
what it prints goes to system.log. When a call exceeds --timeout or the process ends, crashes or exceeds --memory-limit,
it is killed with all that it has started, the call has failed, and the run goes on with a new process: a durable system
is opened on its folder, any other is told everything again. After three such calls in a row it is not called any more.
--in-process runs it in a thread of this process, for debugging and for what cannot live in a process of its own (on
Windows, every system): nothing then protects the run from code that ends the process, takes all memory, or hangs while
it holds Python's global lock. The baselines always run in this process.

--isolate gives each row a store of its own: of the published rows, most people whom persona questions ask
about have several essays in a store for all. --published-query asks the memory the whole multiple choice, answer included.

OUT becomes a run's folder: run.json, stored.jsonl, memories.json, retrieved.jsonl, answers.jsonl, judgements.jsonl,
scores.json, outcomes.jsonl, usage.json, table.md, report.html; with several configs a folder for each, and table.md. A run that was
stopped, however hard, goes on when the same command is given again, and what failed is tried again.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--dataset", required=True, help="epbench/memfail, or a folder made by builders/memfail.py")
    parser.add_argument("--config", nargs="+", required=True, help="configs, or all")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what remembers")
    memory.add_argument("--system", required=True, help="a baseline or module:Class; see above")
    memory.add_argument(
        "--k", type=int, nargs="+", default=[5], help="memories per question (5); each is a run of its own"
    )
    memory.add_argument("--isolate", action="store_true", help="one store for each row instead of one for all")
    memory.add_argument("--published-query", action="store_true", help="ask the memory with the options, not the stem")
    memory.add_argument("--with-replies", action="store_true", help="store the reader's replies too, as published")
    memory.add_argument("--units-per-conversation", type=int, default=1, help="most facts told at a time (1)")
    memory.add_argument("--seed", type=int, default=0, help="of the order of storing (0)")
    memory.add_argument("--timeout", type=float, default=300.0, help="seconds of one call into the system (300)")
    memory.add_argument(
        "--memory-limit", type=float, default=8.0, metavar="GB",
        help="gigabytes that the system's process may allocate (8), without those of a GPU; enforced on Linux only",
    )  # fmt: skip
    memory.add_argument("--in-process", action="store_true", help="run module:Class in this process; see above")

    reader = parser.add_argument_group("who answers, and who judges")
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
    reader.add_argument("--max-tokens", type=int, default=1024, help="of one answer (1024)")
    reader.add_argument("--prompts", type=Path, help="another prompt pack, TOML or JSON; see data/memfail_prompts.toml")
    reader.add_argument("--judge", default="lexical", help="lexical, or a model as above")
    reader.add_argument("--judge-url", help="of the judge's endpoint, if not that of --base-url")
    reader.add_argument("--judge-prompts", type=Path, help="another prompt pack of the judge; see memfail/data")

    part = parser.add_argument_group("how much")
    part.add_argument("--limit", type=int, help="ask only this many questions of a config, a random part")
    part.add_argument("--plan", action="store_true", help="print calls and tokens, and stop")
    args = parser.parse_args(argv)

    from epbench.errors import BadInput
    from epbench.memfail.dataset.load import load_memfail
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.memfail.judging.diagnosis import diagnose
    from epbench.memfail.judging.load import choose_judge
    from epbench.memfail.pipeline.estimate import plan_lines
    from epbench.memfail.pipeline.harness import Setting, gold_of, limited, run_config
    from epbench.memfail.pipeline.prompts import load_prompts
    from epbench.memfail.pipeline.reader import LexicalReader
    from epbench.memfail.scores.results import finish
    from epbench.memfail.scores.tables import markdown_table, screen_tables
    from epbench.memories.baselines import choose_system
    from epbench.memories.load import load_system
    from epbench.memories.process import describe_system
    from epbench.models.load import Options, load_model
    from epbench.models.protocol import Sampling, weights_of
    from epbench.runs.answers import fingerprint_of
    from epbench.runs.folder import open_run, read_json, write_json, write_text
    from epbench.runs.secrets import without_login
    from epbench.safe_text import markdown_text

    console = command.console()
    command.show_log()
    setting = Setting(
        tuple(args.k), args.isolate, args.published_query, args.with_replies, args.units_per_conversation,
        args.timeout, args.seed, Sampling(args.max_tokens), args.memory_limit,
    )  # fmt: skip
    setting.check()
    prompts = load_prompts(args.prompts)
    options = Options(args.base_url, args.window, args.tensor_parallel, args.request_timeout)
    model = LexicalReader() if args.model == "lexical" else load_model(args.model, options)
    judge = choose_judge(args.judge, replace(options, base_url=args.judge_url or args.base_url), args.judge_prompts)
    names = CONFIGS if "all" in args.config else tuple(dict.fromkeys(args.config))
    loaded = [load_memfail(args.dataset, name) for name in names]
    asked = {data.config: limited(data.questions, args.limit) for data in loaded}
    gold = gold_of([q for data in loaded for q in data.questions], setting)
    outside = load_system if args.in_process else partial(describe_system, limits=setting.limits)
    system = choose_system(args.system, gold, outside)
    if args.plan:
        for data in loaded:
            lines = plan_lines(data.units, asked[data.config], system, model, judge, prompts, setting)
            console.print("\n  ".join([f"{data.config}:", *lines]), soft_wrap=True)
        return
    if len(loaded) > 1 and (args.out / "run.json").exists():
        raise BadInput(f"{args.out} holds the run of one config; choose another --out for {len(loaded)} of them")

    label = f"{system.name}{' (baseline)' if system.baseline else ''}, {model.name}"
    identity = {"benchmark": "memfail", "system": system.name, "control": system.baseline, "model": model.name}
    identity |= {"k": list(setting.ks), "isolate": setting.isolate, "published_query": setting.published_query}
    identity |= {"with_replies": setting.replies, "units_per_conversation": setting.per_conversation}
    identity |= {"seed": setting.seed, "prompts": fingerprint_of(prompts), "max_tokens": args.max_tokens}
    identity |= {"base_url": without_login(args.base_url or "")} | weights_of(model)
    scores = {}
    for data in loaded:
        out = args.out / data.config if len(loaded) > 1 else args.out
        about = {"dataset": args.dataset, "label": label}
        with open_run(out, {"config": data.config, "fingerprint": data.fingerprint, **identity}, about) as folder:
            # 1. Everything is stored, 2. every question retrieves at every k, 3. the reader answers.
            output = run_config(folder, data.units, asked[data.config], system, model, prompts, setting, command.bar)
            for warning in output.warnings:
                command.warn(f"{data.config}: {warning}")

            # 4. Stage by stage the judge says where each question failed; 5. the scores, from the journals alone.
            judged_by = {"name": judge.name, "prompt_hash": judge.prompt_hash}
            write_json(folder / "run.json", read_json(folder / "run.json") | {"judge": judged_by, "limit": args.limit})
            outcomes = diagnose(folder, output.traces, output.stores, judge, command.bar)
            usage = output.usage | {"warnings": output.warnings}
            found = finish(folder, outcomes, output.traces, output.stores, label, usage)
        scores[f"{label} ({data.config})" if len(loaded) > 1 else label] = found
        if found["n_failed"]:
            console.print(
                f"{data.config}: {found['n_failed']} questions failed; they count neither as right nor as wrong"
            )
    console.print(screen_tables(scores))
    if len(loaded) > 1:
        write_text(args.out / "table.md", f"{markdown_text(label)}\n\n{markdown_table(scores)}")
    console.print(f"report: {args.out / '*/report.html' if len(loaded) > 1 else args.out / 'report.html'}")


if __name__ == "__main__":
    command.run(main)
