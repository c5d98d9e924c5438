"""Make the five MemFail tables as one dataset: from templates, or from the published rows.

    python builders/memfail.py --out out
    python builders/memfail.py --rows 1000 --seed 3 --config long_hop persona_retrieval --out out
    python builders/memfail.py --source hub --out out
    python builders/memfail.py --source MemFail/datasets --out out

Writes OUT/memfail/README.md, OUT/memfail/validation.json (what in the rows limits what a score can mean) and
OUT/memfail/<config>/*.parquet with the configs conditional_facts_easy, conditional_facts_hard, coexisting_facts,
persona_retrieval and long_hop. Load one with `load_dataset("OUT/memfail", "long_hop")`, or from anywhere after
`python builders/publish.py OUT/memfail --to cache`.

`--source template` (the default) writes all rows by itself, without a model, seeded and of any size. `hub` takes the
published rows from the Hub, and a folder takes them from their CSV files, wherever in it they stand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("--source", default="template", help="template, hub, or a folder of the published CSV files")
    parser.add_argument(
        "--config", nargs="+", metavar="NAME", help="these configs alone; the folder then has no others (all)"
    )
    parser.add_argument("--rows", type=int, help="of --source template: rows per config (100)")
    parser.add_argument("--seed", type=int, help="of --source template: same seed, same rows on any machine (0)")
    parser.add_argument(
        "--tokens", action="store_true", help="count tokens (cl100k_base) in the report, as Table 2 does"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder in which the dataset's folder is made")
    args = parser.parse_args(argv)

    from rich.table import Table

    from epbench.errors import BadInput
    from epbench.hub.dataset_folder import refuse_other_folder, write_dataset
    from epbench.memfail.dataset import csv_rows as released
    from epbench.memfail.dataset import sources
    from epbench.memfail.dataset.schema import complete, config_of
    from epbench.memfail.dataset.types import CONFIGS
    from epbench.memfail.templates import rows as template
    from epbench.memfail.validation import card as cards
    from epbench.memfail.validation.findings import cl100k_tokens, floor_of, validate

    unknown = [name for name in args.config or () if name not in CONFIGS]
    if unknown:
        raise BadInput(f"--config {unknown[0]!r}: one of {', '.join(CONFIGS)} expected")
    names = [name for name in CONFIGS if name in (args.config or CONFIGS)]
    folder = args.out / "memfail"
    refuse_other_folder(folder)
    count_tokens = cl100k_tokens() if args.tokens else None

    if args.source == "template":
        rows, seed = 100 if args.rows is None else args.rows, args.seed or 0
        tables = {name: complete(name, template.make_rows(name, rows, seed)) for name in names}
    else:
        if args.rows is not None or args.seed is not None:
            raise BadInput("--rows and --seed are of --source template; published rows are taken as they are")
        source = sources.open_source(args.source)
        files = {name: sources.file_of(source, name) for name in names}
        tables = {name: complete(name, released.read_config(path, name)) for name, path in files.items()}

    configs = [config_of(name, table) for name, table in tables.items()]
    report = validate(tables, count_tokens)
    if args.source == "template":
        chosen = ["--config", *names] if len(names) < len(CONFIGS) else []
        made_by = ["python", "builders/memfail.py", "--rows", str(rows), "--seed", str(seed), *chosen]
        card = cards.made_card(" ".join(made_by), configs, report)
    else:
        digests = {name: sources.digest_of(path) for name, path in files.items()}
        card = cards.released_card(source.name, digests, configs, report)
    write_dataset(folder, configs, card, {"validation.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n"})

    shown = Table("config", "rows", "texts", "questions", "words per text", "floor")
    for name, found in report.items():
        words = found["words_per_unit"]["mean"]
        counts = (found["rows"], found["units"], found["questions"], words, f"{floor_of(found):.2f}")
        shown.add_row(name, *map(str, counts))
    console = command.console()
    console.print(shown)
    console.print("floor: share of questions that are right without any memory")
    console.print(f"{folder}: README.md and validation.json tell what limits a score on these rows", soft_wrap=True)


if __name__ == "__main__":
    command.run(main)
