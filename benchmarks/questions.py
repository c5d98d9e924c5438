"""How the time for all questions of a book grows, and what a whole build costs beside writing its files.

    python benchmarks/questions.py
    python benchmarks/questions.py --quick

Prints what was run on what, a table, and as its last line one JSON object: seconds by number of events, the exponent
of growth (slope of log seconds over log events, 1 is linear), of_reference (how often our time for 2,000 events is contained
in that of the published code, which took 187 s on two cores), gigabytes_20000 (the most memory that a process takes which
builds a book of 20,000 events with its dataset), of_write (the whole very-long build over the time pyarrow takes to write the
same files), and seconds of episodic_f1 on a million rows, also over those of its formula alone (f1_of_formula). Each time is
the least of three.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REFERENCE = 187  # seconds of the published code for all questions of 2,000 events
BUILD = """
import resource
import sys
from pathlib import Path
from epbench.hub.dataset_folder import write_dataset
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.dataset.schema import configs_of
recipe = Recipe("very-long", universe_size=1000, events=20_000)
write_dataset(Path(sys.argv[1]) / "built", configs_of(make_book(recipe)), "card")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def best(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Least seconds of some calls, and what the last one returned."""
    seconds = []
    result = None
    for _ in range(repeats):
        del result  # not within the time of the next call
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 2,000 events and 100,000 rows, each once")
    quick = parser.parse_args().quick
    repeats = 1 if quick else 3

    # A large book, in a process of its own; before all else, since its most memory counts ours at its start.
    gigabytes = None
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", BUILD, folder]
            gigabytes = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout) / 1e6

    import evaluate
    import numpy as np
    import pyarrow
    from rich.console import Console
    from rich.table import Table

    from epbench.hub.dataset_folder import write_dataset, write_tables
    from epbench.metric_folders import formulas, metric_path
    from epbench.tulving.chapters.loop import write_chapters
    from epbench.tulving.chapters.template_writer import TemplateWriter
    from epbench.tulving.dataset.build import Recipe, make_book
    from epbench.tulving.dataset.schema import configs_of
    from epbench.tulving.events.universe import as_texts, draw_events, draw_layouts, load_universe, secondary_names
    from epbench.tulving.questions.generate import all_questions, unused_values

    console = Console()
    console.print(
        f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pyarrow.__version__}, {machine()}"
    )

    # All questions of a book, from an index by cue.
    seconds, counts = {}, {}
    for n in (20, 200, 2000) if quick else (20, 200, 2000, 20_000):
        universe = load_universe("default", 100 if n <= 2000 else 1000)
        events = draw_events(universe, n)
        layouts = draw_layouts(n, list(universe.styles))
        chapters, _ = write_chapters(events, layouts, TemplateWriter(universe), secondary_names())
        used = [(event.day, event.space, event.entity, event.content) for event in events]
        unused = unused_values(as_texts(universe), used)
        seconds[n], questions = best(lambda c=chapters, u=unused: all_questions(c, u), repeats)  # type: ignore[misc]
        counts[n] = len(questions)
    exponent = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])

    # The whole of `very-long`: events, chapters, questions, selection, tables, Parquet; then the writing alone.
    data = make_book(Recipe("very-long"))
    configs = configs_of(data)
    tables = [config.table for config in configs]
    with tempfile.TemporaryDirectory() as folder:
        write, _ = best(lambda: [write_tables([table], Path(folder) / "alone.parquet") for table in tables], repeats)

        def build() -> None:
            write_dataset(Path(folder) / "built", configs_of(make_book(Recipe("very-long"))), "card")

        whole, _ = best(build, repeats)

    # The metric on many rows.
    rows = 100_000 if quick else 1_000_000
    predictions = [[f"May {i % 28 + 1}, 2024", "Fort Greene Park"] for i in range(rows)]
    references = [[f"May {i % 27 + 1:02d}, 2024", "High Line"] for i in range(rows)]
    metric = evaluate.load(str(metric_path("episodic_f1")), keep_in_memory=True)
    scoring, _ = best(lambda: metric.compute(predictions=predictions, references=references), 1)
    formula, _ = best(lambda: one_by_one(formulas("episodic_f1"), predictions, references), 1)

    table = Table("what", "questions or rows", "seconds")
    for n in seconds:
        table.add_row(f"all questions of {n:,} events", f"{counts[n]:,}", f"{seconds[n]:.4f}")
    table.add_row("very-long, whole build", f"{len(data.questions):,}", f"{whole:.2f}")
    table.add_row("very-long, pyarrow writing the same files", "", f"{write:.2f}")
    if gigabytes is not None:
        table.add_row("20,000 events, whole build, memory", "", f"{gigabytes:.2f} GB")
    table.add_row("episodic_f1", f"{rows:,}", f"{scoring:.2f}")
    table.add_row("its formula alone, row by row", f"{rows:,}", f"{formula:.2f}")
    console.print(table)
    result = {
        "seconds": {str(n): round(value, 5) for n, value in seconds.items()},
        "exponent": round(exponent, 3),
        "of_reference": round(REFERENCE / seconds[2000], 1),
        "gigabytes_20000": gigabytes,
        "build_seconds": round(whole, 3),
        "write_seconds": round(write, 3),
        "of_write": round(whole / write, 2),
        "f1_rows": rows,
        "f1_seconds": round(scoring, 2),
        "f1_of_formula": round(scoring / formula, 2),
    }
    print(json.dumps(result))


def one_by_one(metric: Any, predictions: list[list[str]], references: list[list[str]]) -> list[float]:
    """F1 of each row by the formula of the metric, without checks and without a result to return."""
    found = []
    for said, true in zip(predictions, references, strict=True):
        items, expected = set(map(metric.normalise, said)), set(map(metric.normalise, true))
        found.append(metric.lenient_f1(len(items), len(expected), float(len(items & expected)))[2])
    return found


def machine() -> str:
    """Processor and number of cores, as the system tells."""
    import os

    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return f"{os.cpu_count()} × {names[0] if names else platform.processor() or platform.machine()}"


if __name__ == "__main__":
    main()
