"""Build the five MemFail tables as one dataset, from templates or from the published rows.

    python builders/memfail.py --out out
    python builders/memfail.py --rows 1000 --seed 3 --config long_hop persona_retrieval --out out
    python builders/memfail.py --hard --out out
    python builders/memfail.py --source hub --out out
    python builders/memfail.py --source MemFail/datasets --out out

`--source template` (the default) generates all rows without a model, in any number and reproducibly by seed; with
`--hard`, questions have to be answered by inference, not by comparing words, and the rule-based reader fails on many. `hub`
downloads the published rows from the Hub. A folder provides them as CSV files, at any depth.

Writes OUT/memfail/README.md, OUT/memfail/validation.json (what in the rows limits the meaning of a score) and
OUT/memfail/<config>/*.parquet, with the configs conditional_facts_easy, conditional_facts_hard, coexisting_facts,
persona_retrieval and long_hop. Load one with `load_dataset("OUT/memfail", "long_hop")`, or from any folder after
`python builders/publish.py OUT/memfail --to cache`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command

if TYPE_CHECKING:
    from epbench.hub.dataset_folder import Config
    from epbench.memfail.dataset.schema import Row
    from epbench.memfail.validation.findings import Report

Tables = dict[str, list["Row"]]


@dataclass(frozen=True)
class Arguments:
    """The command line.

    Attributes:
        source: `template`, `hub`, or a folder of the published CSV files.
        config: The configs to build; None builds all.
        rows: Rows per config from templates; None means the default, and is the only choice for published rows.
        seed: Seed of template rows; None as for `rows`.
        hard: Whether template rows are the harder ones.
        tokens: Whether the report counts tokens.
        out: Folder in which the dataset's folder is made.
    """

    source: str
    config: list[str] | None
    rows: int | None
    seed: int | None
    hard: bool
    tokens: bool
    out: Path


def parse(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    parser.add_argument(
        "--source", default="template", help="template (default), hub, or a folder of published CSV files"
    )
    parser.add_argument("--config", nargs="+", metavar="NAME", help="build only these configs (default: all)")
    parser.add_argument("--rows", type=int, help="rows per config, with --source template only (default: 100)")
    parser.add_argument("--seed", type=int, help="random seed, with --source template only (default: 0)")
    parser.add_argument(
        "--hard", action="store_true", help="rows that need inference, with --source template only (default: off)"
    )
    parser.add_argument(
        "--tokens", action="store_true", help="also count tokens (cl100k_base) in the report, as Table 2 does"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder in which the dataset's folder is made")
    return Arguments(**vars(parser.parse_args(argv)))


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(argv)

    from epbench.hub.dataset_folder import refuse_other_folder, write_dataset
    from epbench.memfail.dataset.schema import config_of
    from epbench.memfail.validation.findings import validate
    from epbench.memfail.validation.text_statistics import cl100k_tokens

    names = check(args)
    folder = args.out / "memfail"
    refuse_other_folder(folder)
    count_tokens = cl100k_tokens() if args.tokens else None

    # 1. The rows of every config: made from templates, or read from the published files. 2. The report on their limits.
    # 3. The card, which depends on where the rows come from.
    if args.source == "template":
        n_rows, seed = 100 if args.rows is None else args.rows, args.seed or 0
        tables = template_rows(names, n_rows, seed, args.hard)
        configs, report = [config_of(name, rows) for name, rows in tables.items()], validate(tables, count_tokens)
        card = card_of_template(names, n_rows, seed, args.hard, configs, report)
    else:
        tables, files, source = published_rows(names, args.source)
        configs, report = [config_of(name, rows) for name, rows in tables.items()], validate(tables, count_tokens)
        card = card_of_published(source, files, configs, report)

    # 4. The folder, written as a whole.
    write_dataset(folder, configs, card, {"validation.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n"})
    show(report, folder)


def check(args: Arguments) -> list[str]:
    """Return the configs to build, in their usual order, or raise BadInput if the options do not fit together."""
    from epbench.errors import BadInput
    from epbench.memfail.dataset.types import CONFIGS

    for name in args.config or ():
        if name not in CONFIGS:
            raise BadInput(f"--config: expected one of {', '.join(CONFIGS)}, got {name!r}")
    if args.source not in ("template", "hub") and not Path(args.source).is_dir():
        raise BadInput(f"--source: expected template, hub or a folder, got {args.source!r}")
    if args.source != "template" and args.hard:
        raise BadInput("--hard works only with --source template; published rows are taken as they are")
    if args.source != "template" and (args.rows is not None or args.seed is not None):
        raise BadInput("--rows and --seed work only with --source template; published rows are taken as they are")
    return [name for name in CONFIGS if name in (args.config or CONFIGS)]


def template_rows(names: Sequence[str], n_rows: int, seed: int, hard: bool) -> Tables:
    from epbench.memfail.dataset.schema import complete
    from epbench.memfail.templates.rows import make_rows

    return {name: complete(name, make_rows(name, n_rows, seed, hard)) for name in names}


def published_rows(names: Sequence[str], source: str) -> tuple[Tables, dict[str, Path], str]:
    """Return the rows and the file of each config, and how the card names the source."""
    from epbench.memfail.dataset.csv_rows import read_config
    from epbench.memfail.dataset.schema import complete
    from epbench.memfail.dataset.sources import file_of, open_source

    opened = open_source(source)
    files = {name: file_of(opened, name) for name in names}
    tables = {name: complete(name, read_config(path, name)) for name, path in files.items()}
    return tables, files, opened.name


def card_of_template(
    names: Sequence[str], n_rows: int, seed: int, hard: bool, configs: Sequence[Config], report: Report
) -> str:
    """Return the card, with the command that makes the same rows again."""
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.memfail.validation.card import made_card

    chosen = ["--config", *names] if len(names) < len(CONFIGS) else []
    made_by = ["python", "builders/memfail.py", "--rows", str(n_rows), "--seed", str(seed), *["--hard"] * hard, *chosen]
    return made_card(" ".join(made_by), configs, report, hard)


def card_of_published(source: str, files: dict[str, Path], configs: Sequence[Config], report: Report) -> str:
    """Return the card, with the source and a digest of every file."""
    from epbench.memfail.dataset.sources import digest_of
    from epbench.memfail.validation.card import released_card

    digests = {name: digest_of(path) for name, path in files.items()}
    return released_card("python builders/memfail.py --source …", source, digests, configs, report)


def show(report: Report, folder: Path) -> None:
    from epbench.memfail.validation.findings import floor_of
    from epbench.memfail.validation.shortcuts import RULES
    from epbench.reports.tables import Table

    rows, shortcuts = [], []
    for name, found in report.items():
        words = found["words_per_unit"]["mean"]
        counts = (found["rows"], found["units"], found["questions"], words, f"{floor_of(found):.2f}")
        rows.append([name, *map(str, counts)])
        scores = found["shortcuts"]
        shortcuts.append([name, *(f"{scores[rule]:.2f}" if rule in scores else "" for rule in RULES)])
    console = command.console()
    console.print(Table(["config", "rows", "texts", "questions", "words per text", "floor"], rows))
    console.print("floor: share of questions that can be answered without any memory")
    console.print(Table(["shortcut", "word overlap", "BM25", "option in a text"], shortcuts))
    console.print("shares that rules get right that only compare words; the card says how", soft_wrap=True)
    console.print(f"{folder}: README.md and validation.json say what limits a score on these rows", soft_wrap=True)


if __name__ == "__main__":
    command.run(main)
