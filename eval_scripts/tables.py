"""Make every table and figure of the three papers that the given runs allow.

    python eval_scripts/tables.py runs/long/in-context runs/long/rag-chapter runs/long/none --dataset out/long --reported paper --out tables/long
    python eval_scripts/tables.py --released episodic-memory-benchmark.zip --reported paper --out tables/published
    python eval_scripts/tables.py runs/sort/none runs/sort/in-context runs/books --reported paper --out tables/sort
    python eval_scripts/tables.py runs/memfail/none runs/memfail/mem0 runs/memfail/oracle --reported paper --out tables/memfail
    python eval_scripts/tables.py runs/long/in-context runs/long/none --by origin trace --out tables/groups

Each table and each figure becomes four files in OUT: a picture (.svg), its numbers with all digits (.csv) and a table for
reading (.md) and for a paper (.tex). All of them are on one page, OUT/tables.html, after a leaderboard (also OUT/LEADERBOARD.md); what cannot be
made is listed with the runs that it needs. Runs of several benchmarks have a folder for each in OUT.

RUN is the folder of a run, of the runs of several configs, or of a training. Own, released and reported rows stand in one
table, and those that are not your own are marked. --released scores the runs of a published archive again and adds its
books; --dataset adds books that no run is about, or says where the dataset of a run is now. --reported adds numbers of
papers: `paper` for those that this package holds, or files of your own.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.models.protocol import Model
    from epbench.reports.exhibit import Exhibit, Missing
    from epbench.tulving.judging.realism import Rating
    from epbench.tulving.paper.books import PaperBook

    Exhibits = Sequence[Exhibit | Missing]

PAPER = "paper"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    runs: list[Path] = argument("folders of runs, of any benchmarks", default=[], positional=True, metavar="RUN")
    released: Path | None = argument("the published archive of Tulving books, or its folder", metavar="ZIP")
    datasets: list[str] = argument(
        "datasets: folders, or names on the Hub", default=[], flags=["--dataset"], metavar="D"
    )
    reported: list[str] = argument(f"reported numbers: JSON files, or {PAPER!r} for ours", default=[], metavar="FILE")
    prices: Path | None = argument("MemFail: TOML or JSON of prices per million tokens", metavar="FILE")
    by: list[str] = argument("Tulving: mean F1 by any columns of questions.parquet", default=[], metavar="COLUMN")
    entity: str | None = argument("Tulving: whose path Figure 6 shows (who has the most events)", metavar="NAME")
    realism: str | None = argument(
        f"{options.MODELS}; without one these tables are not made",
        metavar="MODEL",
        group="who says how realistic an event is (Tulving, Tables 24 and 25)",
    )
    backend: options.Backend = included()
    out: Path = argument("folder for tables, figures and the page", group="")

    def __post_init__(self) -> None:
        if not (self.runs or self.released or self.datasets):
            raise BadInput("give folders of runs, --released or --dataset; see --help")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.reports.exhibit import write_exhibits
    from epbench.runs.several import change_notes

    found = _by_benchmark(args)
    console = command.console()
    for benchmark, (runs, datasets) in found.items():
        out = args.out / benchmark if len(found) > 1 else args.out
        boards, made = MAKERS[benchmark](args, runs, datasets, out)
        if changed := change_notes(runs):
            boards, made = _with_notes(boards, changed), _with_notes(made, changed)
            for note in changed:
                command.warn(note)
        console.print(write_exhibits(out, _TITLES[benchmark], made, boards))
        console.say(f"tables: {out / 'tables.html'}")


def _with_notes(made: Sequence[Any], notes: Sequence[str]) -> list[Any]:
    """The same exhibits with further notes; one that is missing stays as it is."""
    from epbench.reports.exhibit import Missing

    return [one if isinstance(one, Missing) else replace(one, notes=[*notes, *one.notes]) for one in made]


# What was given


def _by_benchmark(args: Arguments) -> dict[str, tuple[list[Path], list[str]]]:
    """The folders of runs and the datasets of each benchmark."""
    found: dict[str, tuple[list[Path], list[str]]] = {}
    for folder in args.runs:
        benchmark = _benchmark_of(folder)
        if benchmark not in MAKERS:
            raise BadInput(f"{folder}: expected a run of {', '.join(MAKERS)}, found benchmark {benchmark!r}")
        found.setdefault(benchmark, ([], []))[0].append(folder)
    for name in args.datasets:
        found.setdefault(_benchmark_of_dataset(name), ([], []))[1].append(name)
    if args.released:
        found.setdefault("tulving", ([], []))
    return {name: found[name] for name in MAKERS if name in found}


def _benchmark_of(folder: Path) -> str | None:
    """The benchmark of a run; that of a training is the one whose texts it learns."""
    from epbench.runs.folder import read_run
    from epbench.runs.several import FINETUNING, benchmark_of, runs_in

    benchmark = benchmark_of(folder)
    if benchmark != FINETUNING:
        return benchmark
    method = read_run(runs_in(folder)[0])["identity"].get("method")
    return {"sort_lm": "booksort", "tulving_qa": "tulving"}.get(str(method), benchmark)


def _benchmark_of_dataset(name: str) -> str:
    """The benchmark that a dataset is for, by its configs."""
    from epbench.hub.rows import hub_configs
    from epbench.memfail.dataset.load import KNOWN as MEMFAIL

    configs = {path.name for path in Path(name).iterdir()} if Path(name).is_dir() else set(hub_configs(name))
    for benchmark, known in (("tulving", {"qa"}), ("memfail", set(MEMFAIL)), ("booksort", {"books"})):
        if known & configs:
            return benchmark
    if any(config.startswith("segments_") for config in configs):  # the published files
        return "booksort"
    found = ", ".join(sorted(configs)[:8]) or "nothing"
    raise BadInput(f"{name}: expected a dataset of {', '.join(MAKERS)}, found {found}")


def _reported_files(args: Arguments, benchmark: str) -> list[Path]:
    """The files of reported numbers that are about a benchmark; those that name none are of MemFail."""
    from epbench.files.json_files import read_json
    from epbench.files.packaged import packaged

    found: list[Path] = []
    for name in args.reported:
        if name == PAPER and benchmark == "memfail":
            found.append(Path(PAPER))
        elif name == PAPER:
            found += sorted(packaged(f"epbench.{benchmark}").glob("reported*.json"))
        elif read_json(Path(name)).get("benchmark", "memfail") == benchmark:
            found.append(Path(name))
    return found


# The benchmarks


def _tulving(
    args: Arguments, folders: Sequence[Path], datasets: Sequence[str], out: Path
) -> tuple[Sequence[Exhibit], Exhibits]:
    """The tables and figures of the first paper, and of what it could not show: several seeds, any grouping."""
    from epbench.reports.reported import read_reported
    from epbench.tulving.leaderboard import leaderboards
    from epbench.tulving.paper import make
    from epbench.tulving.paper.books import read_books
    from epbench.tulving.paper.inputs import Inputs, read_runs

    runs = read_runs(folders)
    if args.released:
        runs += read_runs(_score_released(args.released, out / "released"), "released")
    reported = [row for path in _reported_files(args, "tulving") for row in read_reported(path, "tulving")]
    inputs = Inputs(runs, reported)
    books = read_books([*datasets, *_still_there(make.datasets_of(inputs), datasets)], args.released)
    realism = None
    if args.realism:
        from epbench.models.load import load_model

        judge = load_model(args.realism, args.backend.options)
        realism = {book.fingerprint: _rated(book, judge, out / "realism" / book.fingerprint) for book in books}
    made = make.exhibits(inputs, books, realism=realism, by=args.by, entity=args.entity)
    return leaderboards(inputs), made


def _still_there(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """Those of the datasets of runs that were not given anyway and can be read; it is told which cannot."""
    from epbench.hub.rows import stored_rows

    found = []
    for name in names:
        if name not in given:
            try:
                next(iter(stored_rows(name, "book", "test")), None)
                found.append(name)
            except BadInput as error:
                command.warn(f"no tables about the book of {name}; say where it is with --dataset ({error})")
    return found


def _rated(book: PaperBook, judge: Model, folder: Path) -> dict[int, Rating | None]:
    """How realistic a model calls the event of each chapter; it is told how many have no rating."""
    from epbench.tulving.judging.realism import ratings_of

    ratings = ratings_of(book, judge, folder, progress=command.bar)
    if lost := [chapter for chapter, rating in ratings.items() if rating is None]:
        command.warn(
            f"{book.name}: {judge.name} rated {len(ratings) - len(lost)} of {len(ratings)} chapters; start again"
        )
    return ratings


def _score_released(archive: Path, out: Path) -> list[Path]:
    """Score the runs of a published archive; return their folders."""
    from epbench.tulving.released.archive import open_archive
    from epbench.tulving.released.runs import published_runs, score_published_runs

    opened = open_archive(archive)
    scored = score_published_runs(opened, out, command.bar)
    for label, reason in scored.not_scored.items():
        command.warn(f"not scored: {label}: {reason}")
    return [out / run.folder for run in published_runs(opened) if run.label in scored.scores]


def _booksort(
    args: Arguments, folders: Sequence[Path], datasets: Sequence[str], out: Path
) -> tuple[Sequence[Exhibit], Exhibits]:
    """The tables and figures of the paper about Book-SORT."""
    from epbench.booksort.leaderboard import leaderboards
    from epbench.booksort.paper.inputs import read_inputs
    from epbench.booksort.paper.make import exhibits
    from epbench.reports.reported import read_reported

    reported = [row for path in _reported_files(args, "booksort") for row in read_reported(path, "booksort")]
    inputs = read_inputs(folders, reported)
    return leaderboards(inputs), exhibits(inputs)


def _memfail(
    args: Arguments, folders: Sequence[Path], datasets: Sequence[str], out: Path
) -> tuple[Sequence[Exhibit], Exhibits]:
    """The tables and figures of the paper about MemFail."""
    from epbench.memfail.leaderboard import leaderboards
    from epbench.memfail.paper.inputs import Inputs, read_datasets, read_runs
    from epbench.memfail.paper.make import exhibits
    from epbench.memfail.scores.reported_rates import read_reported, sources_of
    from epbench.models.estimate import read_prices

    prices = read_prices(args.prices) if args.prices else None
    files = _reported_files(args, "memfail")
    runs = read_runs(folders, prices)
    inputs = Inputs(runs, read_reported(*files), read_datasets(datasets), prices, sources_of(*files))
    return leaderboards(inputs), exhibits(inputs)


MAKERS = {"tulving": _tulving, "booksort": _booksort, "memfail": _memfail}
_TITLES = {"tulving": "Tulving books", "booksort": "Book-SORT", "memfail": "MemFail"}


if __name__ == "__main__":
    command.run(main)
