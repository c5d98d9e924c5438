"""A page with all runs of a folder: what each is about and its scores, to filter, to sort, and to choose runs from.

The page is one file. With `live` it asks its server again for what has changed; else it is what it was when it was made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.text import printable
from epbench.journals.answers import ANSWERS
from epbench.reports.explorer import script_json
from epbench.reports.page import Headline, page, render

Headlines = Callable[[str, Mapping[str, Any]], Sequence[Headline | None]]
"""From the name of a benchmark and the content of scores.json to its headline scores; none for an unknown benchmark."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the page lists it."""

    path: str  # the run's folder, relative to the folder of all runs
    benchmark: str  # such as `tulving`
    dataset: str  # the name of the dataset, for MemFail with the config
    model: str  # who answered
    memory: str  # with which memory or system
    judge: str  # who judged; empty for nobody
    state: str  # `finished`, `at work`, or `stopped` for one that has no scores and that no process works in
    answers: int | None  # the number of answers in the journal; None for a finished run
    idle: float | None  # for how many seconds no answer has come; None for a finished run
    failed: int  # the number of failed questions of a finished run
    questions: int  # the number of its questions
    # By name: the value or None, the ends of the interval or of the range, and whether it is a range.
    scores: Mapping[str, Sequence[Any]]
    has_page: bool  # whether it has a report.html


def run_rows(root: Path, headlines: Headlines) -> Iterator[RunRow]:
    """Find all runs below a folder, in the order of their paths. A folder whose files are damaged is left out."""
    for described in sorted(root.rglob("run.json")):
        try:
            yield _row(described.parent, described.parent.relative_to(root).as_posix(), headlines)
        except (BadInput, KeyError, TypeError, AttributeError):  # of another tool, or just being written
            continue


def _row(folder: Path, path: str, headlines: Headlines) -> RunRow:
    run = read_json(folder / "run.json")
    identity = run["identity"]
    finished, journal = (folder / "scores.json").is_file(), folder / ANSWERS
    scores = read_json(folder / "scores.json") if finished else {}
    benchmark, config = str(identity.get("benchmark", "")), identity.get("config")
    name = str(run.get("book") or Path(str(run.get("dataset", ""))).name)
    configs = ", ".join(config) if isinstance(config, list) else config
    told = [one for one in headlines(benchmark, scores) if one] if finished else []
    return RunRow(
        path=path,
        benchmark=benchmark,
        dataset=": ".join(filter(None, [name, configs])),
        model=str(identity.get("model", "")),
        memory=str(identity.get("memory") or identity.get("system") or ""),
        judge=str(run.get("judge", {}).get("name", "")),
        state="finished" if finished else "at work" if _is_locked(folder) else "stopped",
        answers=None if finished else journal.read_bytes().count(b"\n") if journal.is_file() else 0,
        idle=None if finished or not journal.is_file() else max(0.0, round(time.time() - journal.stat().st_mtime, 1)),
        failed=int(scores.get("n_failed", 0)),
        questions=int(scores.get("n_questions", 0)),
        scores={one.name: [one.value, *(one.bounds or one.interval or (None, None)), bool(one.bounds)] for one in told},
        has_page=(folder / "report.html").is_file(),
    )


def _is_locked(folder: Path) -> bool:
    from filelock import FileLock, Timeout

    if not (folder / ".lock").exists():
        return False
    try:
        with FileLock(folder / ".lock", timeout=0):
            return False
    except (Timeout, OSError):
        return True


def rows_json(rows: Sequence[RunRow]) -> list[dict[str, Any]]:
    """The rows as JSON values, with texts that can be shown."""
    return [{name: printable(of) if isinstance(of, str) else of for name, of in asdict(row).items()} for row in rows]


def overview_page(
    title: str, rows: Sequence[RunRow], *, live: bool, pages: Mapping[str, str], comparisons: Mapping[str, str]
) -> str:
    """The page. With `live`, a server answers `runs.json` and `compare`, so that it follows runs that are at work.

    `pages` has the addresses of pages by the path of the run; those that are not named are at `run/PATH`. `comparisons`
    has, by title, the addresses of pages of several runs that were made with it.
    """
    from markupsafe import Markup

    data = {"live": live, "runs": rows_json(rows), "pages": dict(pages), "comparisons": dict(comparisons)}
    return page(title, render("overview", data=Markup(script_json(data))))
