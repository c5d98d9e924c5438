"""Put several runs of one benchmark into one table and one picture.

    python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter --out runs/long/report
    python eval_scripts/report.py runs/sort/oracle runs/sort/none --out runs/sort/report
    python eval_scripts/report.py runs/memfail/none runs/memfail/verbatim-bm25 runs/memfail/oracle --out runs/memfail/report

Writes OUT/table.md and OUT/report.html, one line per run, named by its folder. Tulving books: F1 by the number of matching
chapters, of runs of one's own and published ones on the same book; runs with an incomplete score stand last, and where
judges differ, each line names its own. Book-SORT: accuracy by distance and by the length of excerpts. MemFail: success
and the stage that failed, with floor and ceiling; folders of several configs are taken as they are, and --published FILE
adds published success rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs on the same dataset")
    parser.add_argument(
        "--published", type=Path, help="MemFail: JSON of published success rates to show beside the runs"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for table.md and report.html")
    args = parser.parse_args(argv)

    from epbench.errors import BadInput
    from epbench.memfail.scores.side_by_side import holds_runs, write_comparison

    if holds_runs(args.runs[0]):
        from epbench.memfail.scores.tables import screen_tables

        shown = screen_tables(write_comparison(args.runs, args.out, args.published))
    elif args.published:
        raise BadInput("--published: only MemFail has published rates to show")
    else:
        shown = _compared(args.runs, args.out)
    command.console().print(shown)
    command.console().print(f"report: {args.out / 'report.html'}", soft_wrap=True)


def _compared(folders: Sequence[Path], out: Path) -> Any:
    """Write the tables and the page of runs of Tulving books or of Book-SORT; returns the tables for the screen."""
    from epbench.booksort.scores import report as sort_report
    from epbench.booksort.scores import tables as sort_tables
    from epbench.errors import BadInput
    from epbench.runs.folder import read_run, read_scores, write_text
    from epbench.runs.shapes import Shape, check
    from epbench.tulving.calibration.correction import with_passport
    from epbench.tulving.scores import report as tulving_report
    from epbench.tulving.scores import tables as tulving_tables

    scores = {folder.resolve().name: read_scores(folder) for folder in folders}
    if len(scores) < len(folders):
        raise BadInput("two of the runs have folders of the same name; rename one, the name is their label")
    runs = {folder: read_run(folder) for folder in folders}
    benchmarks = {folder: run["identity"].get("benchmark") for folder, run in runs.items()}
    for folder, benchmark in benchmarks.items():
        if benchmark not in ("tulving", "booksort"):
            raise BadInput(
                f"{folder / 'run.json'}: benchmark {benchmark!r}; a run of tulving, booksort or memfail is expected"
            )
    # A run of ours has the fingerprint of its dataset in its identity, a published one beside it.
    rows = {folder: run["identity"].get("fingerprint", run.get("fingerprint")) for folder, run in runs.items()}
    if len(set(benchmarks.values())) > 1 or len(set(rows.values())) > 1:
        raise BadInput(
            f"the runs are on different datasets: {', '.join(f'{f}: {benchmarks[f]} {rows[f]}' for f in folders)}"
        )
    first = runs[folders[0]]
    name = "dataset" if benchmarks[folders[0]] == "booksort" else "book"
    check(str(folders[0] / "run.json"), first, Shape({name: (str,)}))
    if benchmarks[folders[0]] == "booksort":
        write_text(out / "table.md", sort_tables.markdown_table(scores))
        write_text(out / "report.html", sort_report.comparison_report(Path(first["dataset"]).name, scores))
        return sort_tables.screen_tables(scores)
    for name, of_run in scores.items():
        if "incomplete" not in of_run:
            raise BadInput(f"{name}: its scores.json has no field 'incomplete'; give the run's command again")
    scores = {name: with_passport(of_run) for name, of_run in scores.items()}
    write_text(out / "table.md", tulving_tables.markdown_table(scores))
    write_text(out / "report.html", tulving_report.comparison_report(first["book"], scores))
    return tulving_tables.screen_tables(scores)


if __name__ == "__main__":
    command.run(main)
