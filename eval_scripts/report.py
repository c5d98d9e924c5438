"""Put several runs of one benchmark into one table and one figure.

    python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter --out runs/long/report
    python eval_scripts/report.py runs/sort/oracle runs/sort/none --out runs/sort/report
    python eval_scripts/report.py runs/memfail/none runs/memfail/verbatim-bm25 runs/memfail/oracle --out runs/memfail/report

Writes OUT/table.md and OUT/report.html with a row for each run, named by its folder. Tulving books: F1 by the number of
matching chapters, of your own runs and of released ones on the same book; runs with an incomplete score come last, and
where judges differ, each row names its judge. Book-SORT: accuracy by distance and by the length of excerpts. MemFail:
success and the stage that failed, with floor and ceiling; a folder may hold the runs of several configs, and --published
FILE adds success rates that a paper reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench import command


@dataclass(frozen=True)
class Arguments:
    """The command line.

    Attributes:
        runs: The folders of the runs.
        out: The folder for table.md and report.html.
        published: A file of reported success rates to show beside runs of MemFail; None for none.
    """

    runs: Sequence[Path]
    out: Path
    published: Path | None


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs on the same dataset")
    parser.add_argument(
        "--published", type=Path, help="MemFail: JSON of reported success rates to show beside the runs"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for table.md and report.html")
    _report(Arguments(**vars(parser.parse_args(argv))))


def _report(args: Arguments) -> None:
    from epbench.errors import BadInput
    from epbench.runs.several import common_benchmark

    benchmark = common_benchmark(args.runs)
    if args.published and benchmark != "memfail":
        raise BadInput("--published: only MemFail has reported rates to show")
    if benchmark == "tulving":
        from epbench.tulving.scores import side_by_side, tables

        shown = tables.screen_tables(side_by_side.write_side_by_side(args.runs, args.out))
    elif benchmark == "booksort":
        from epbench.booksort.scores import side_by_side as booksort
        from epbench.booksort.scores import tables as booksort_tables

        shown = booksort_tables.screen_tables(booksort.write_side_by_side(args.runs, args.out))
    elif benchmark == "memfail":
        from epbench.memfail.scores import side_by_side as memfail
        from epbench.memfail.scores import tables as memfail_tables

        shown = memfail_tables.screen_tables(memfail.write_side_by_side(args.runs, args.out, args.published))
    else:
        raise BadInput(f"{args.runs[0]}: expected a run of tulving, booksort or memfail, found benchmark {benchmark!r}")
    console = command.console()
    console.print(shown)
    console.say(f"report: {args.out / 'report.html'}")


if __name__ == "__main__":
    command.run(main)
