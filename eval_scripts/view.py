"""Look at all runs of a folder in a browser: their scores, their pages, several side by side, and those that are at work.

    python eval_scripts/view.py runs
    python eval_scripts/view.py runs --port 8765
    python eval_scripts/view.py runs --bundle site   # the same as files, for any web server or a static Space

It serves on this machine alone, reads only, and never leaves the folder. The list follows runs that are being made. Choose two
runs or more of one dataset to compare them question by question. A bundle has the pages of all finished runs, and for each
dataset a page of up to eight runs side by side, and profiles (`epbench profile`); nothing in it needs a server.
"""

from __future__ import annotations

import json
import tempfile
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.errors import BadInput, EpbenchError

if TYPE_CHECKING:
    from epbench.reports.overview import RunRow
    from epbench.reports.page import Headline

HOST = "127.0.0.1"
PROFILE = "profile.html"
MOST_BESIDE = 8
_NAMES_OF_THIS_MACHINE = ("127.0.0.1", "localhost")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    folder: Path = argument("folder of runs (runs)", positional=True, default=Path("runs"), metavar="FOLDER")
    port: int = argument("port on this machine; 0 takes a free one", default=0, metavar="N")
    bundle: Path | None = argument("write files there instead of serving", metavar="DIR")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    if not args.folder.is_dir():
        raise BadInput(f"{args.folder}: expected a folder of runs")
    if args.bundle:
        _bundle(args.folder, args.bundle)
        return
    with tempfile.TemporaryDirectory(prefix="epbench-view-") as scratch:
        try:
            server = ThreadingHTTPServer((HOST, args.port), partial(Viewer, args.folder, Path(scratch)))
        except OSError as error:
            raise BadInput(f"--port {args.port}: {error.strerror}; choose another one, or 0 for a free one") from None
        command.console().say(f"{args.folder}: http://{HOST}:{server.server_port}/   (Ctrl+C ends it)")
        with server:
            server.serve_forever()


def rows_of(folder: Path) -> list[RunRow]:
    """The runs of a folder."""
    from epbench.reports.overview import run_rows

    return list(run_rows(folder, _headlines))


def _headlines(benchmark: str, scores: Mapping[str, Any]) -> Sequence[Headline | None]:
    from epbench.runs.benchmark import NAMES, benchmark_named

    return benchmark_named(benchmark, Path()).headlines(scores) if benchmark in NAMES else ()


def profiles_in(folder: Path) -> list[str]:
    """The folders of profiles, relative to the folder of all runs."""
    return [path.parent.relative_to(folder).as_posix() for path in sorted(folder.rglob(PROFILE))]


def side_by_side(folders: Sequence[Path], out: Path) -> str:
    """The page of several runs.

    Raises:
        BadInput: They are of different benchmarks or datasets, or two of them have one name.
    """
    from epbench.runs.benchmark import find_benchmark
    from epbench.runs.several import by_benchmark

    if len(of := by_benchmark({str(folder): folder for folder in folders})) > 1:
        raise BadInput(f"the chosen runs are of {len(of)} benchmarks; choose runs of one")
    if len({folder.name for folder in folders}) < len(
        folders
    ):  # parts of runs, such as of one config: their whole runs
        folders = list(dict.fromkeys(folder.parent for folder in folders))
    more: dict[str, Any] = {"reported": [], "prices": None} if "memfail" in of else {}
    find_benchmark(folders[0]).side_by_side(folders, out, **more)
    return (out / "report.html").read_text("utf-8")


class Viewer(BaseHTTPRequestHandler):
    """Answers GET for the list, its rows, the page of a run and a comparison, and nothing else."""

    def __init__(self, folder: Path, scratch: Path, *args: Any) -> None:
        self.folder, self.scratch = folder, scratch
        super().__init__(*args)

    def do_GET(self) -> None:
        host = urllib.parse.urlsplit(f"//{self.headers.get('Host', '')}").hostname
        if host not in _NAMES_OF_THIS_MACHINE:  # a page of elsewhere whose name leads here
            self._send(403, "this server answers this machine alone")
            return
        where = urllib.parse.urlsplit(self.path)
        try:
            self._answer(where.path, urllib.parse.parse_qs(where.query))
        except BadInput as error:
            self._send(404, str(error))
        except EpbenchError as error:
            self._send(500, str(error))

    def _answer(self, path: str, query: Mapping[str, list[str]]) -> None:
        from epbench.reports.overview import overview_page, rows_json

        if path == "/":
            profiles = {f"Profile: {path}": f"profile/{path}/{PROFILE}" for path in profiles_in(self.folder)}
            page = overview_page(
                f"Runs in {self.folder}", rows_of(self.folder), live=True, pages={}, comparisons=profiles
            )
            self._send(200, page, "text/html")
        elif path == "/runs.json":
            self._send(200, json.dumps(rows_json(rows_of(self.folder))), "application/json")
        elif path.startswith("/run/"):
            report = self._run(urllib.parse.unquote(path.removeprefix("/run/"))) / "report.html"
            if not report.is_file():
                raise BadInput(f"{report}: this run has no page yet")
            self._send(200, report.read_text("utf-8"), "text/html")
        elif path.startswith("/profile/"):
            self._send(200, self._of_profile(urllib.parse.unquote(path.removeprefix("/profile/"))), "text/html")
        elif path == "/compare":
            folders = [self._run(name) for name in query.get("run", [])]
            if len(folders) < 2:
                raise BadInput("choose at least two runs")
            with tempfile.TemporaryDirectory(dir=self.scratch) as out:
                self._send(200, side_by_side(folders, Path(out)), "text/html")
        else:
            raise BadInput("there is nothing here")

    def _run(self, name: str) -> Path:
        """The folder of a run that the list has; no other folder is ever opened."""
        if name not in {row.path for row in rows_of(self.folder)}:
            raise BadInput(f"{name!r} is no run of {self.folder}")
        return self.folder / name

    def _of_profile(self, name: str) -> str:
        """The page of a profile, or that of a run to which one of its points leads."""
        for path in profiles_in(self.folder) if "\0" not in name else ():
            root = (self.folder / path).resolve()
            page = (self.folder / name).resolve()
            if page.is_file() and page.is_relative_to(root) and page.name in (PROFILE, "report.html"):
                return page.read_text("utf-8")
        raise BadInput(f"{name!r} is no page of a profile in {self.folder}")

    def _send(self, status: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
        }
        for name, value in (headers | {"X-Content-Type-Options": "nosniff"}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


def _bundle(folder: Path, out: Path) -> None:
    from epbench.files.writing import write_text
    from epbench.reports.overview import overview_page

    rows = rows_of(folder)
    pages = {row.path: f"runs/{number}.html" for number, row in enumerate(rows) if row.has_page}
    for path, name in pages.items():
        write_text(out / name, (folder / path / "report.html").read_text("utf-8"))
    beside: dict[str, str] = {}
    for title, of in _groups(rows).items():
        name = f"together/{len(beside)}.html"
        try:
            with tempfile.TemporaryDirectory() as scratch:
                write_text(out / name, side_by_side([folder / path for path in of], Path(scratch)))
            beside[title] = name
        except EpbenchError as error:
            command.warn(f"no page of {title} side by side: {error}")
    for number, profile in enumerate(profiles_in(folder)):
        beside[f"Profile: {profile}"] = f"profiles/{number}/{PROFILE}"
        for page in sorted((folder / profile).rglob("*.html")):
            if page.name in (PROFILE, "report.html"):
                name = f"profiles/{number}/{page.relative_to(folder / profile).as_posix()}"
                write_text(out / name, page.read_text("utf-8"))
    listed = overview_page(f"Runs in {folder.name}", rows, live=False, pages=pages, comparisons=beside)
    write_text(out / "index.html", listed)
    command.console().say(f"{len(rows)} runs: {out / 'index.html'}")


def _groups(rows: Iterable[RunRow]) -> dict[str, list[str]]:
    """The first finished runs of each dataset with at least two."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.state == "finished" and row.has_page:
            found.setdefault(f"{row.benchmark}, {row.dataset}", []).append(row.path)
    return {title: of[:MOST_BESIDE] for title, of in found.items() if len(of) > 1}


if __name__ == "__main__":
    command.run(main)
