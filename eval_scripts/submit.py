"""Make the row of a run for the leaderboard: check the run, write its small JSON file, and print the text of a pull request.

    python eval_scripts/submit.py runs/long/rag-chapter --by "Ada Lovelace" --out results
    python eval_scripts/submit.py runs/memfail/verbatim-bm25 --by "Ada Lovelace" --note "two cores, no GPU" --out results

Everything is first computed again from the journals, as `epbench verify` does; a run of which a check does not hold is refused.
The file has the scores with their intervals, who was asked about what, and the hash of each journal. It has no question, no
answer and no path of this machine. Keep the run itself, so that others can ask for it, or publish it.

The exit status is 0 if the file was written, 1 if the run does not hold, and 2 if it is no whole run.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.reports.leaderboard import Result, Standing

Found = tuple[str, str, list["Standing"]]
"""The name of a dataset, the fingerprint of its rows, and the rows of a run on it."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    runs: list[Path] = argument("folders of runs", positional=True, metavar="RUN")
    by: str = argument("who measured it, as the leaderboard is to name them", metavar="NAME")
    note: str = argument("what else readers should know", default="", metavar="TEXT")
    dataset: str | None = argument("where the dataset is now, if not where the run found it", metavar="D")
    out: Path = argument("folder of measured rows (results)", default=Path("results"))


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.files.writing import write_text
    from epbench.reports.leaderboard import result_text

    console = command.console()
    results = [_result(folder, args) for folder in args.runs]
    for result in results:
        args.out.mkdir(parents=True, exist_ok=True)
        path = args.out / f"{result.name}.json"
        write_text(path, result_text(result))
        console.say(f"row: {path}")
    for result in results:
        console.say_all(["", *_pull_request(result, args.out)])


def _result(folder: Path, args: Arguments) -> Result:
    from epbench.reports.leaderboard import result_of
    from epbench.runs.folder import read_run
    from epbench.runs.several import benchmark_of, runs_in
    from epbench.runs.verification import verify

    benchmark = benchmark_of(folder)
    if benchmark not in _FIND:
        raise BadInput(
            f"{folder}: expected a run of {', '.join(_FIND)}, found {benchmark!r}; of a training, give its measures"
        )
    parts = {"" if part == folder else part.name: part for part in runs_in(folder)}
    for part in parts.values():
        _check_whole(part)
    checks = [check for part in parts.values() for check in verify(part, args.dataset)]
    if wrong := [f"{check.what}: {check.said}" for check in checks if check.held is False]:
        print("\n".join([f"{folder}: this run does not hold, and gets no row", *wrong]), file=sys.stderr)
        sys.exit(1)
    dataset, fingerprint, standings = _FIND[benchmark](folder, parts)
    held = sum(check.held is True for check in checks)
    counts = {"hold": held, "not_made": len(checks) - held}
    n_people = sum(read_run(part).get("people", 0) for part in parts.values())
    note = "; ".join(filter(None, [f"answered by people: {n_people}" if n_people else "", args.note]))
    return result_of(parts, standings, dataset, fingerprint, checks=counts, by=args.by, note=note)


def _check_whole(folder: Path) -> None:
    from epbench.runs.folder import read_run

    run = read_run(folder)
    if run.get("shard"):
        raise BadInput(
            f"{folder / 'run.json'}: expected a whole run, found shard {run['shard']}; epbench merge joins them"
        )
    if "released" in run["identity"]:
        raise BadInput(
            f"{folder / 'run.json'}: these answers were published with a paper, whose numbers the leaderboard has"
        )
    if not (folder / "scores.json").is_file():
        raise BadInput(f"{folder} has no scores.json; only a run that has ended has a row")


def _tulving(folder: Path, parts: Mapping[str, Path]) -> Found:
    from epbench.runs.folder import read_run
    from epbench.tulving.leaderboard import standing
    from epbench.tulving.paper.inputs import read_runs
    from epbench.tulving.scores.tables import judge_names

    if len(parts) > 1:
        raise BadInput(f"{folder}: expected one run, found {len(parts)}; give each of them")
    (part,) = parts.values()
    (run,) = read_runs([part])
    chapters = read_run(part)["identity"].get("chapters")
    judge = judge_names({run.label: run.scores})[run.label]
    return run.book, "-".join(filter(None, [run.fingerprint, chapters])), [standing(run, judge)]


def _booksort(folder: Path, parts: Mapping[str, Path]) -> Found:
    from epbench.booksort.leaderboard import standing
    from epbench.booksort.paper.inputs import read_inputs

    runs = read_inputs([folder], []).runs
    if len(runs) > 1:
        raise BadInput(f"{folder}: expected one run, found {len(runs)} that differ in more than the config")
    return f"{runs[0].dataset}: {', '.join(runs[0].configs)}", runs[0].fingerprint, [standing(runs[0])]


def _memfail(folder: Path, parts: Mapping[str, Path]) -> Found:
    from epbench.memfail.leaderboard import standings
    from epbench.memfail.paper.inputs import Inputs, read_runs
    from epbench.runs.folder import read_run

    runs = read_runs([folder])
    dataset = Path(str(read_run(next(iter(parts.values())))["dataset"])).name
    rows = json.dumps({run.config: run.fingerprint for run in runs}, sort_keys=True)
    return dataset, hashlib.sha256(rows.encode()).hexdigest()[:16], standings(Inputs(runs))


_FIND = {"tulving": _tulving, "booksort": _booksort, "memfail": _memfail}


def _pull_request(result: Result, out: Path) -> list[str]:
    """The title and the text of a pull request that adds a row."""
    first = result.standings[0]
    scores = {name: of for name, of in first.scores.items() if of.mean is not None}
    interval = {name: "" if of.low is None else f" ({of.low:.3f}–{of.high:.3f})" for name, of in scores.items()}
    lines = [f"- {name}: {of.mean:.3f}{interval[name]}" for name, of in scores.items()]
    return [
        f"Add {first.model or 'answers'} with {first.memory} on {result.dataset}",
        "",
        f"Measured by {result.by}, with epbench {result.versions.get('epbench')}, judged by {first.judge}:",
        "",
        *lines,
        "",
        f"Command: `{result.command}`",
        f"Checks of the run: {result.checks['hold']} hold, {result.checks['not_made']} could not be made. "
        f"Checksum of its journals: {result.checksum}",
        f"The row is {out / (result.name + '.json')}; `make leaderboard` makes the page from it.",
    ]


if __name__ == "__main__":
    command.run(main)
