"""Put several runs side by side, in tables and figures.

    python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter --out runs/long/report
    python eval_scripts/report.py runs/sort/oracle runs/sort/none --out runs/sort/report
    python eval_scripts/report.py runs/memfail/none runs/memfail/verbatim-bm25 runs/memfail/oracle --out runs/memfail/report
    python eval_scripts/report.py runs/memfail/mem0 runs/memfail/a-mem --reported paper --prices prices.toml --out runs/memfail/report
    python eval_scripts/report.py runs/long/rag-chapter runs/sort/rag runs/memfail/verbatim-bm25 --out runs/report

Writes OUT/table.md and OUT/report.html with a row for each run, named by its folder. Runs of several benchmarks become one
page with a part for each; every part is in a folder of its own, too, such as OUT/booksort. Tulving books: F1 by the number
of matching chapters, of your own runs and of released ones on the same book; runs with an incomplete score come last, and
where judges differ, each row names its judge. Book-SORT: accuracy by distance and by the length of excerpts. MemFail:
success and the stage that failed, with floor and ceiling, by k, by tokens and by the model inside the system; the tokens
and seconds of storing beside those of reading; and the claims of the paper, each with what the runs say of it (all cases are
in OUT/claims.json). A folder may hold the runs of several configs. --reported adds numbers that a paper reports,
success rates and counts of errors by stage: `paper` for those that this package holds, or files. --prices FILE adds what each run cost, by a TOML or JSON file like this:

    currency = "USD"
    models."gpt-5-mini" = { input = 0.25, output = 2.0 }  # per million tokens
    models."text-embedding-3-small" = { input = 0.02 }
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench import command
from epbench.arguments.declaring import argument, parse


@dataclass(frozen=True, kw_only=True)
class Arguments:
    runs: list[Path] = argument("folders of runs; those of one benchmark are on the same dataset", positional=True)
    reported: list[Path] = argument(
        "MemFail: `paper`, or JSON of reported success rates or errors by stage, to show beside the runs",
        default=[],
        flags=["--reported", "--published"],
        metavar="FILE",
    )
    prices: Path | None = argument("MemFail: TOML or JSON of what models cost per million tokens", metavar="FILE")
    out: Path = argument("folder for table.md and report.html")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.errors import BadInput
    from epbench.files.writing import write_text
    from epbench.reports.page import joined
    from epbench.runs.benchmark import benchmark_named
    from epbench.runs.several import by_benchmark, change_notes

    given = by_benchmark({str(number): folder for number, folder in enumerate(args.runs)})
    if "memfail" not in given and (args.reported or args.prices):
        raise BadInput(f"{'--reported' if args.reported else '--prices'}: there is no run of MemFail to show it beside")
    found = [(benchmark_named(name, next(iter(of.values()))), list(of.values())) for name, of in given.items()]
    parts = [args.out / benchmark.name if len(found) > 1 else args.out for benchmark, _ in found]
    console = command.console()
    for (benchmark, folders), part in zip(found, parts, strict=True):
        more = {"reported": args.reported, "prices": args.prices} if benchmark.name == "memfail" else {}
        scores, notes = benchmark.side_by_side(folders, part, **more)
        for note in notes:
            console.say(note)
        for note in change_notes(folders):
            command.warn(note)
        console.print(benchmark.screen_tables(scores))
    if len(found) > 1:
        write_text(args.out / "table.md", "\n".join((part / "table.md").read_text("utf-8") for part in parts))
        pages = [(part / "report.html").read_text("utf-8") for part in parts]
        write_text(args.out / "report.html", joined(f"{len(args.runs)} runs", pages))
    console.say(f"report: {args.out / 'report.html'}")


if __name__ == "__main__":
    command.run(main)
