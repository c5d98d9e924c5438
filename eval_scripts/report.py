"""Put several runs into one table and one picture.

    python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter --out runs/long/report

Writes OUT/table.md and OUT/report.html: one line per run, F1 by the number of matching chapters side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs on the same dataset")
    parser.add_argument("--out", type=Path, required=True, help="folder for table.md and report.html")
    args = parser.parse_args(argv)

    from rich.console import Console

    from epbench.errors import BadInput
    from epbench.runs.folder import read_json, read_scores, write_text
    from epbench.tulving.report import comparison_report
    from epbench.tulving.tables import markdown_table, screen_tables

    scores = {}
    books = {}
    for folder in args.runs:
        scores[folder.name] = read_scores(folder)
        run = read_json(folder / "run.json")
        books[folder] = run["identity"].get("fingerprint", run["identity"].get("released"))
        if "f1_by_bin" not in scores[folder.name]:
            raise BadInput(f"{folder / 'scores.json'}: no run of a Tulving book (f1_by_bin is missing)")
    if len(scores) < len(args.runs):
        raise BadInput("two of the runs have folders of the same name; rename one, the name is their label")
    if len(set(books.values())) > 1:
        raise BadInput(f"the runs are on different datasets: {', '.join(f'{f}: {b}' for f, b in books.items())}")
    write_text(args.out / "table.md", markdown_table(scores))
    write_text(args.out / "report.html", comparison_report(run["book"], scores))
    Console().print(screen_tables(scores))
    Console().print(f"report: {args.out / 'report.html'}")


if __name__ == "__main__":
    command.run(main)
