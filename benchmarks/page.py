"""How long a browser takes to open the page of a run, or of four, with 700 and with 35,000 questions, and to filter it.

    python benchmarks/page.py
    python benchmarks/page.py --quick

Prints what was run on what, a table, and as its last line one JSON object: by number of questions the seconds to write the
page, to open it until the first question is drawn, and to answer a filter and a search (which waits 0.15 s for
further letters), and the megabytes of the file. Needs Chromium and the package websockets; without a browser the
object is empty. Each time in the browser is the least of three.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from epbench.reports.explorer import Evidence, Mark, QuestionCard, explorer_html, versus_html
from epbench.reports.page import page
from tests.reports.browser import CHROMIUM, NONE_HERE, Browser

N_CHAPTERS = 200
WORDS = 900  # of a chapter
_FILTER = """(() => {
  const select = [...document.querySelectorAll(".filters label")].find(l => l.firstChild.data === "bin").querySelector("select");
  const begin = performance.now();
  select.value = "1";
  select.dispatchEvent(new Event("change"));
  document.querySelector(".list").getBoundingClientRect();
  return (performance.now() - begin) / 1000;
})()"""
_SEARCH = """(() => {
  const field = document.querySelector(".filters input"), status = document.querySelector(".status");
  const before = status.textContent, begin = performance.now();
  field.value = "number 677";
  field.dispatchEvent(new Event("input"));
  return new Promise(done => {
    new MutationObserver(() => done((performance.now() - begin) / 1000)).observe(status, {childList: true});
  });
})()"""


def cards(n: int) -> list[QuestionCard]:
    """Questions as long as those of a Tulving book, each about one to three chapters."""
    answer = "It was Ada Moss, who came by in the morning and left before the rain. " * 4
    return [
        QuestionCard(
            id=f"t{i:06d}",
            facets={"bin": str(i % 5), "cue": "tsec"[i % 4], "trace": ("entities", "spaces", "times")[i % 3], "get": "all"},
            outcome=("right", "wrong", "failed")[i % 3],
            question=f"Consider all events on May 05, 2026 at the quay. Who took part in number {i}? Give full names.",
            reference=["Ada Moss", "Bo Lind"],
            answer=answer,
            verdict="F1 0.667 (precision 1.000, recall 0.500; harsh F1 0.667)",
            reason="The answer names one of the two.",
            evidence=[
                Evidence(f"Chapter {at + 1}", at, [Mark("May 05, 2026", "time, given"), Mark("Ada Moss", "item found", "found")])
                for at in ((i + step) % N_CHAPTERS for step in range(1 + i % 3))
            ],
        )
        for i in range(n)
    ]  # fmt: skip


def texts() -> list[str]:
    """Chapters of the length of a Tulving book's."""
    sentence = "On May 05, 2026 Ada Moss walked along the quay and spoke of boats. "
    return [f"Chapter {i}. " + "\n\n".join([sentence * 12] * (WORDS // 156)) for i in range(N_CHAPTERS)]


def answered(n: int, run: int) -> list[QuestionCard]:
    """The same questions with what one of several runs made of them."""
    return [
        replace(
            card, outcome="right" if (7 * i + 13 * run) % 10 > 2 * run else "wrong", answer=f"{card.answer} ({run})"
        )
        for i, card in enumerate(cards(n))
    ]


def measured(browser: Browser, n: int, runs: int, folder: Path, repeats: int) -> dict[str, float]:
    """Seconds and megabytes of the page of some questions, of one run or several."""
    path, begin = folder / f"{n}x{runs}.html", time.perf_counter()
    several = versus_html({f"run {run}": answered(n, run) for run in range(runs)}, texts()) if runs > 1 else ""
    path.write_text(page(f"{n:,} questions", several or explorer_html(cards(n), texts())), "utf-8")
    written = time.perf_counter() - begin
    times = []
    for _ in range(repeats):
        opened = browser.open(path)
        times.append((opened, browser.js(_FILTER), browser.js(_SEARCH)))
        assert browser.complaints() == [], browser.complaints()
    names = ("open", "filter", "search")
    least = {name: round(min(column), 3) for name, column in zip(names, zip(*times, strict=True), strict=True)}
    return {"write": round(written, 3), **least, "megabytes": round(path.stat().st_size / 1e6, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="each page is opened once")
    repeats = 1 if parser.parse_args().quick else 3
    if CHROMIUM is None:
        print(f"not measured: {NONE_HERE}\n{{}}")
        return

    from rich.console import Console

    from epbench.reports.tables import Table

    console = Console()
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        Browser(Path(scratch) / "profile") as browser,
    ):
        console.print(f"Python {platform.python_version()}, {browser.do('Browser.getVersion')['product']}")
        for n, runs in ((700, 1), (35_000, 1), (35_000, 4)):
            name = str(n) if runs == 1 else f"{n}x{runs}"
            found[name] = measured(browser, n, runs, Path(scratch), repeats)
    rows = [[name.replace("x", ", runs: "), *map(str, values.values())] for name, values in found.items()]
    console.print(Table(["questions", *found["700"]], rows, title="Seconds, and megabytes of the file"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
