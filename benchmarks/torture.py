"""Torture our scripts, archives and metrics, and print what was lost, paid twice, or ended in a traceback.

    python benchmarks/torture.py
    python benchmarks/torture.py --quick

Kills: twelve commands (builders, installation, runs, judges) are killed by SIGKILL at random moments and started again
until they end. Lost are journaled records that are missing afterwards and files that have vanished; paid again are
requests of an endpoint that were asked anew although their answer was journaled; paid twice are answers that the
endpoint had sent and that were not yet journaled. Archives: mutations of a published archive, read and scored; escaped
are files that were written outside the run's folder. Metrics: odd values in odd columns. --quick does a twentieth of these.
Attacks: every test of `tests/torture/attacks.py`, from two servers behind one judge's name to escapes of memory systems.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the torture is a part of the tests

KILLS, ARCHIVES, METRIC_INPUTS = 209, 500, 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of everything")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same moments and mutations (0)")
    args = parser.parse_args()

    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from tests.metrics.test_all_metrics import compute_all
    from tests.torture.archives import torture_archives
    from tests.torture.attacks import ATTACKS, attack
    from tests.torture.kills import JOBS, prepare, torture

    share = 20 if args.quick else 1
    console = Console()
    console.print(f"Python {platform.python_version()}, {platform.platform()}")
    with tempfile.TemporaryDirectory(prefix="epbench-torture-") as folder:
        made = prepare(Path(folder))
        tallies = {}
        for job in track(JOBS, "kills", console=console, transient=True, disable=not console.is_terminal):
            (Path(folder) / job.name).mkdir()
            tallies[job.name] = torture(job, Path(folder) / job.name, made, -(-KILLS // len(JOBS) // share), args.seed)
        archives = torture_archives(Path(folder) / "archives", ARCHIVES // share, args.seed)
    metrics = compute_all(args.seed, METRIC_INPUTS // share)
    bar = track(ATTACKS.items(), "attacks", console=console, transient=True, disable=not console.is_terminal)
    attacks = {name: attack(files) for name, files in bar}

    kills = Table("command", "kills", "ended", "lost", "paid again", "paid twice", "results that differ")
    for name, tally in tallies.items():
        numbers = (tally.kills, tally.finished, tally.lost, tally.paid_again, tally.paid_twice, len(tally.different))
        kills.add_row(name, *map(str, numbers))
    console.print(kills)
    for what, outcomes in (("archives", archives), ("metric inputs", metrics)):
        table = Table(what, *outcomes)
        table.add_row("", *map(str, outcomes.values()))
        console.print(table)
    held = Table("attack", "held", "broke", "skipped")
    for name, counts in attacks.items():
        held.add_row(name, *(str(counts[outcome]) for outcome in ("held", "broke", "skipped")))
    console.print(held)
    result: dict[str, Any] = {
        "kills": sum(tally.kills for tally in tallies.values()),
        "lost": sum(tally.lost for tally in tallies.values()),
        "paid_again": sum(tally.paid_again for tally in tallies.values()),
        "paid_twice": sum(tally.paid_twice for tally in tallies.values()),
        "different": sum(len(tally.different) for tally in tallies.values()),
        **archives,
        "metric_inputs": METRIC_INPUTS // share,
        "attacks": {name: dict(counts) for name, counts in attacks.items()},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
