"""Build the MemFail tables as one dataset, from templates, by a language model, or from the published rows.

    python builders/memfail.py --out out
    python builders/memfail.py --rows 1000 --seed 3 --config long_hop persona_retrieval --out out
    python builders/memfail.py --hard --out out
    python builders/memfail.py --config all revision --out out
    python builders/memfail.py --source hub --out out
    python builders/memfail.py --source MemFail/datasets --out out
    python builders/memfail.py --source openai:gpt-5-mini --plan --out out
    python builders/memfail.py --source openai:gpt-5-mini --out out
    python builders/memfail.py --source vllm:Qwen/Qwen3-32B --rows 40 --config coexisting_facts long_hop --out out

`--source template` (the default) generates all rows without a model, reproducibly by seed: up to 1,000 of each config, or
490 with `--hard`; some configs alone give more. With `--hard`, questions have to be answered by inference, not by comparing
words, and the rule-based reader fails on many. `hub`
downloads the published rows from the Hub. A folder provides them as CSV files, at any depth.

The config `revision` is ours, and is made only where it is named: `all` stands for the five of the paper. In it, facts are
corrected, withdrawn, restated, or told again after they were withdrawn.

A model writes rows as in Appendix B of the paper: hf:PATH_OR_ID (transformers), vllm:PATH_OR_ID, or openai:NAME with
--base-url URL for any compatible endpoint (key from OPENAI_API_KEY). What each row is to be about is drawn with --seed;
with 42, the default, categories, condition types, numbers of preferences, question slots and answer letters are those of
the published rows. The model is asked in batches. A row that fails a check is asked for again, with what was wrong, at
most twice; then it is dropped. Rows that are too alike are dropped, and so are chains that disturb one another.
generation.json next to README.md has model, versions, tokens, the rows before and after each step, and every rejection.
--plan prints requests and tokens and stops. All replies are kept in OUT/rows-by-<model>: after a kill or a failing
endpoint, the same command continues, and nothing is asked twice.

Writes OUT/memfail/README.md, OUT/memfail/validation.json (what in the rows limits the meaning of a score) and
OUT/memfail/<config>/*.parquet, with the configs conditional_facts_easy, conditional_facts_hard, coexisting_facts,
persona_retrieval and long_hop, or those that were named. Load one with `load_dataset("OUT/memfail", "long_hop")`, or from
any folder after `python builders/publish.py OUT/memfail --to cache`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse

if TYPE_CHECKING:
    from epbench.hub.dataset_folder import Card, Config
    from epbench.memfail.dataset.findings import Report
    from epbench.memfail.dataset.schema import Row
    from epbench.memfail.generation.asking import Planner

Tables = dict[str, list["Row"]]
CardOf = Callable[[Sequence["Config"], "Report"], "Card"]


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The command line; what has no default here, such as `rows`, is only for some sources."""

    source: str = argument(
        f"template (default), hub, a folder of published CSV files, or a model: {options.MODELS}",
        default="template",
        metavar="SOURCE",
    )
    config: list[str] | None = argument(
        "build only these configs; all (the default) stands for those of the paper", metavar="NAME"
    )
    rows: int | None = argument("rows per config, of templates or a model (default: 100)")
    seed: int | None = argument("random seed (default: 0, and 42 with a model)")
    hard: bool = argument("rows that need inference, with --source template only (default: off)")
    tokens: bool = argument("also count tokens (cl100k_base) in the report, as Table 2 does")
    out: Path = argument("folder in which the dataset's folder is made")

    backend: options.Backend = included("a model that writes the rows")
    prompts: Path | None = argument(
        "another prompt pack, TOML or JSON, like src/epbench/memfail/data/memfail_generation.toml", metavar="FILE"
    )
    wording: str | None = argument("the same in a file of wording, see eval_scripts/wording.py", metavar="FILE")
    max_tokens: int | None = argument("longest reply with its reasoning, in tokens (16384)", metavar="N")
    plan: bool = argument("print the number of requests and tokens, and stop")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.hub.dataset_folder import refuse_other_folder, write_dataset
    from epbench.memfail.dataset.findings import validate
    from epbench.memfail.dataset.schema import config_of
    from epbench.models.estimate import cl100k_tokens
    from epbench.models.load import is_model_name

    names = check(args)
    if is_model_name(args.source):
        build_by_model(args, names)
        return
    folder = args.out / "memfail"
    refuse_other_folder(folder)
    count_tokens = cl100k_tokens() if args.tokens else None

    # 1. The rows of every config: made from templates, or read from the published files; and how their card is made.
    tables, card_of = template_rows(args, names) if args.source == "template" else published_rows(args, names)

    # 2. The report on their limits.
    configs, report = [config_of(name, rows) for name, rows in tables.items()], validate(tables, count_tokens)

    # 3. The folder with its card, written as a whole.
    texts = {"validation.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n", **benchmark_of(tables)}
    write_dataset(folder, configs, card_of(configs, report).reworded(command.translated), texts)
    show(report, folder)


def check(args: Arguments) -> list[str]:
    """Return the configs to build, in their usual order, or raise BadInput if the options do not fit together."""
    from epbench.errors import BadInput
    from epbench.memfail.dataset.load import KNOWN, configs_named
    from epbench.memfail.dataset.revision import REVISION
    from epbench.models.load import is_model_name

    names = configs_named(args.config or ["all"])
    for name in names:
        if name not in KNOWN:
            raise BadInput(f"--config: expected one of {', '.join(KNOWN)}, or all, got {name!r}")
    by_model = is_model_name(args.source)
    if not by_model and args.source not in ("template", "hub") and not Path(args.source).is_dir():
        raise BadInput(
            f"--source: expected template, hub, a folder, or a model ({options.MODELS}), got {args.source!r}"
        )
    if not by_model and args.source != "template" and (args.rows is not None or args.seed is not None):
        raise BadInput("--rows and --seed work only with templates or a model; published rows are taken as they are")
    if not by_model and (args.plan or args.prompts or args.wording or args.max_tokens is not None):
        raise BadInput("--plan, --prompts, --wording and --max-tokens are for a model: name one with --source")
    if not by_model and (args.backend.base_url is not None or args.backend.model_args):
        raise BadInput(f"--base-url and --model-args are for a model: name one with --source, got {args.source!r}")
    if args.source != "template" and args.hard:
        raise BadInput("--hard works only with --source template")
    if args.max_tokens is not None and args.max_tokens < 1:
        raise BadInput(f"--max-tokens: expected at least 1, got {args.max_tokens}")
    if not by_model and args.source != "template" and REVISION in names:
        raise BadInput(f"--config {REVISION}: it has no published rows; make them from templates, or by a model")
    return [name for name in KNOWN if name in names]


def build_by_model(args: Arguments, names: Sequence[str]) -> None:
    """Say what it will cost, refuse what does not fit, then let the model write; every reply is kept as it arrives."""
    from epbench.files.secrets import without_login
    from epbench.hub.dataset_folder import refuse_other_folder
    from epbench.memfail.dataset.findings import validate
    from epbench.memfail.generation.asking import SEED, Asker, Planner, load_generation_prompts
    from epbench.memfail.generation.generate import MAX_TOKENS, about, generate
    from epbench.memfail.wording import read_wording
    from epbench.models.estimate import cl100k_tokens
    from epbench.models.load import load_model
    from epbench.models.protocol import variant_of, weights_of
    from epbench.runs.folder import open_run
    from epbench.runs.usage import folder_by

    command.show_log()
    refuse_other_folder(args.out / "memfail")
    count_tokens = cl100k_tokens() if args.tokens else None
    n_rows, seed = 100 if args.rows is None else args.rows, SEED if args.seed is None else args.seed
    words, model = read_wording(args.wording), load_model(args.source, args.backend.options)
    prompts = load_generation_prompts(args.prompts) if args.prompts or not words else words["generation"]
    most = args.max_tokens or MAX_TOKENS
    show_plan(Planner(model, prompts, seed=seed, max_tokens=most), names, n_rows, seed)
    replies = folder_by(args.out, "rows", model.name)
    command.console().say(f"replies that are already in {replies} are not asked for again")
    if args.plan:
        return
    identity = {"benchmark": "memfail", "writer": model.name, "base_url": without_login(args.backend.base_url or "")}
    with open_run(replies, identity | weights_of(model), variant_of(model)):
        asker = Asker(model, replies, prompts, seed=seed, max_tokens=most, progress=command.bar)
        tables = generate(asker, names, n_rows, seed)
        report = validate(tables, count_tokens)
        generation = about(asker, tables, n_rows, seed, report)
    source = ["--source", model.name, *(["--prompts", args.prompts.name] if args.prompts else [])]
    source += ["--wording", Path(args.wording).name] if args.wording else []
    save_generated(args.out / "memfail", tables, report, generation, made_again_by(names, n_rows, seed, source))


def show_plan(planner: Planner, names: Sequence[str], n_rows: int, seed: int) -> None:
    """Print requests and tokens, and warn of a window that is unknown."""
    from epbench.memfail.generation.generate import plan, plan_lines

    estimated, warning = plan(planner, names, n_rows, seed)
    if warning:
        command.warn(warning)
    for line in plan_lines(estimated):
        command.console().say(line)


def benchmark_of(tables: Tables) -> dict[str, str]:
    """The file that makes the dataset a benchmark on the Hub, by its name."""
    from epbench.hub.card import BENCHMARK_FILE, benchmark_yaml

    about = "At which stage a memory system loses a fact: storage, summary, retrieval or reasoning."
    return {BENCHMARK_FILE: benchmark_yaml("MemFail", about, {name: name for name in tables})}


def save_generated(folder: Path, tables: Tables, report: Report, generation: dict[str, Any], made_by: str) -> None:
    """Write the rows of a model, with the report on how they came to be."""
    from epbench.hub.dataset_folder import write_dataset
    from epbench.memfail.dataset.card import made_card
    from epbench.memfail.dataset.schema import config_of
    from epbench.memfail.generation.generate import FILE

    configs = [config_of(name, rows) for name, rows in tables.items()]
    card = made_card(made_by, configs, report, generation=generation)
    files = {"validation.json": report, FILE: generation}
    texts = {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in files.items()}
    texts |= benchmark_of(tables)
    write_dataset(folder, configs, card.reworded(command.translated), texts)
    show(report, folder)
    for failure in generation["validation_failures"]:
        command.warn(failure)
    command.console().say(f"{len(generation['dropped'])} specifications were dropped; {FILE} says why")


def template_rows(args: Arguments, names: Sequence[str]) -> tuple[Tables, CardOf]:
    from epbench.memfail.dataset.card import made_card
    from epbench.memfail.dataset.schema import complete
    from epbench.memfail.templates.rows import check_rows, make_rows

    n_rows, seed = 100 if args.rows is None else args.rows, args.seed or 0
    check_rows(names, n_rows, args.hard)
    tables = {name: complete(name, make_rows(name, n_rows, seed, args.hard)) for name in names}
    made_by = made_again_by(names, n_rows, seed, more=["--hard"] * args.hard)
    return tables, partial(made_card, made_by, harder=args.hard)


def published_rows(args: Arguments, names: Sequence[str]) -> tuple[Tables, CardOf]:
    """Return the rows of each config; the card names their source, and a digest of every file."""
    from epbench.memfail.dataset.card import made_card
    from epbench.memfail.dataset.released import digest_of, file_of, open_source, read_config
    from epbench.memfail.dataset.schema import complete

    source, folder = open_source(args.source)
    files = {name: file_of(folder, name) for name in names}
    tables = {name: complete(name, read_config(path, name)) for name, path in files.items()}
    digests = {name: digest_of(path) for name, path in files.items()}
    return tables, partial(made_card, "python builders/memfail.py --source …", source=source, digests=digests)


def made_again_by(
    names: Sequence[str], n_rows: int, seed: int, source: Sequence[str] = (), more: Sequence[str] = ()
) -> str:
    """Return the command that makes the same rows again, from templates, or asks a model again."""
    from epbench.memfail.dataset.load import CONFIGS

    chosen = ["--config", *names] if tuple(names) != CONFIGS else []
    return " ".join(
        ["python", "builders/memfail.py", *source, "--rows", str(n_rows), "--seed", str(seed), *more, *chosen]
    )


_SHORTCUTS = {"word_overlap": "word overlap", "bm25_at_5": "BM25", "option_in_a_fact": "option in a text"}


def show(report: Report, folder: Path) -> None:
    from epbench.memfail.dataset.findings import floor_of
    from epbench.reports.tables import Table

    titles = dict(_SHORTCUTS)
    if any("last_value" in found["shortcuts"] for found in report.values()):
        titles |= {"last_value": "last value", "first_value": "first value", "never_known": "never known"}
    rows, shortcuts = [], []
    for name, found in report.items():
        words = found["words_per_unit"]["mean"]
        counts = (found["rows"], found["units"], found["questions"], words, f"{floor_of(found):.2f}")
        rows.append([name, *map(str, counts)])
        scores = found["shortcuts"]
        shortcuts.append([name, *(f"{scores[rule]:.2f}" if rule in scores else "" for rule in titles)])
    console = command.console()
    console.print(Table(["config", "rows", "texts", "questions", "words per text", "floor"], rows))
    console.print("floor: share of questions that can be answered without any memory")
    console.print(Table(["shortcut", *titles.values()], shortcuts))
    console.print("shares that rules get right that only compare words; the card says how", soft_wrap=True)
    console.print(f"{folder}: README.md and validation.json say what limits a score on these rows", soft_wrap=True)


if __name__ == "__main__":
    command.run(main)
