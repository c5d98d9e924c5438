"""Write docs/leaderboard.md from the measured rows in results/ and the numbers that the three papers report.

    python builders/leaderboard.py --results results --out docs/leaderboard.md

No number of the page is typed: the same rows give the same bytes. `epbench submit` makes a row from a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.reports.exhibit import Exhibit
    from epbench.reports.leaderboard import Result
    from epbench.reports.tables import Table

_TITLES = {"tulving": "Tulving books", "booksort": "Book-SORT", "memfail": "MemFail"}
_TEXTS = ("judge", "from", "memory")
_LEFT = ("rank", "model", "memory")
_HEAD = """\
# Leaderboard

Measured rows are runs whose journals were checked; each names its file in [results](../results/README.md), which has the command,
the identity of model and dataset, and the hash of every journal. Reported rows are numbers of the three papers, about the data
that they published. Rows are ranked among those that answered the same questions. `make leaderboard` writes this page, and
[results/README.md](../results/README.md) says how to add a row.
"""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    results: Path = argument("folder of measured rows (results)", default=Path("results"))
    out: Path = argument("the page (docs/leaderboard.md)", default=Path("docs/leaderboard.md"))


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.files.writing import write_text
    from epbench.reports.leaderboard import read_results
    from epbench.runs.benchmark import NAMES

    results = read_results(args.results)
    parts = [_HEAD]
    for benchmark in NAMES:
        of = [result for result in results if result.benchmark == benchmark]
        parts.append(_chapter(_TITLES[benchmark], list(_BOARDS[benchmark](of))))
    write_text(args.out, "\n".join(parts))
    command.console().say(f"{len(results)} measured rows: {args.out}")


def _chapter(title: str, boards: Sequence[Exhibit]) -> str:
    """The tables of a benchmark, and below them, once, what has to be known of any of them."""
    from epbench.reports.tables import markdown_list

    sections = [f"### {board.name}\n\n{_shown(board).markdown()}" for board in boards]
    notes = dict.fromkeys(note for board in boards for note in board.notes)
    return "\n".join([f"## {title}\n", *sections, markdown_list(notes)])


def _shown(board: Exhibit) -> Table:
    """The table without columns that say nothing; a text that is the same in all rows stands below."""
    from epbench.reports.tables import Table

    table = board.table
    columns = dict(zip(table.head, zip(*table.rows, strict=True), strict=True))
    same = {name: of[0] for name, of in columns.items() if name in _TEXTS and len(set(of)) == 1 and len(of) > 1}
    kept = [name for name, of in columns.items() if name not in same and set(of) != {"–"}]
    rows = [list(row) for row in zip(*(columns[name] for name in kept), strict=True)]
    notes = [f"{name}: {text}" for name, text in same.items()]
    return Table(kept, rows, "", notes, text_columns=sum(name in _LEFT for name in kept))


def _by_dataset(results: Sequence[Result]) -> dict[str, list[Result]]:
    from epbench.reports.leaderboard import by_board

    boards = by_board(results, lambda result: (result.dataset, result.fingerprint))
    return {name.removeprefix("Leaderboard, "): of for name, of in sorted(boards.items())}


def _tulving(results: Sequence[Result]) -> Iterator[Exhibit]:
    from epbench.files.packaged import packaged
    from epbench.reports.leaderboard import rows_of
    from epbench.reports.reported import read_reported
    from epbench.tulving.leaderboard import board

    for name, of in _by_dataset(results).items():
        yield board(name, of[0].dataset, rows_of(of), [])
    files = sorted(packaged("epbench.tulving").glob("reported*.json"))
    reported = [row for path in files for row in read_reported(path, "tulving") if "simple_recall_score" in row.scores]
    for book in dict.fromkeys(row.dataset for row in reported):
        yield board(f"{book}, as reported", book, [], reported)


def _booksort(results: Sequence[Result]) -> Iterator[Exhibit]:
    from epbench.booksort.leaderboard import board
    from epbench.booksort.paper.inputs import reported_numbers
    from epbench.reports.leaderboard import rows_of

    for name, of in _by_dataset(results).items():
        yield board(name, of[0].dataset, rows_of(of), [])
    yield board("the published pairs, as reported", "the published set", [], reported_numbers())


def _memfail(results: Sequence[Result]) -> Iterator[Exhibit]:
    from dataclasses import replace

    from epbench.memfail.leaderboard import board, leaderboards
    from epbench.memfail.paper.inputs import Inputs
    from epbench.memfail.scores.reported_rates import PAPER, read_reported, sources_of
    from epbench.reports.leaderboard import rows_of

    for name, of in _by_dataset(results).items():
        yield board(name, rows_of(of))
    for reported in leaderboards(Inputs(reported=read_reported(PAPER), sources=sources_of(PAPER))):
        yield replace(reported, name="the published rows, as reported")


_BOARDS = {"tulving": _tulving, "booksort": _booksort, "memfail": _memfail}


if __name__ == "__main__":
    command.run(main)
