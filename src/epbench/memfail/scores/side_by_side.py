"""Several runs of MemFail side by side: their folders in, one table and one page out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.writing import write_text
from epbench.memfail.scores.report import comparison_report
from epbench.memfail.scores.reported_rates import beside, read_reported
from epbench.memfail.scores.run_files import read_run, read_scores, run_folders
from epbench.memfail.scores.tables import markdown_table, with_baseline


def write_side_by_side(folders: Sequence[Path], out: Path, reported: Path | None = None) -> dict[str, dict[str, Any]]:
    """Write OUT/table.md and OUT/report.html.

    Args:
        folders: The folders of runs, or of runs of several configs; the name of a folder is the label of its runs.
        out: The folder of the two files; it is made if it does not exist.
        reported: A JSON file of reported success rates, which are shown where they fit; see `read_reported`.

    Returns:
        The scores of each run by its label, with `baseline` where its run.json says so; reported rates are among them.

    Raises:
        BadInput: A folder holds no run of MemFail, a run did not end, two runs have one label, or runs of one config are
            on different rows.
    """
    runs: dict[str, dict[str, Any]] = {}
    for folder, run in run_folders(folders):
        scores, name = with_baseline(read_scores(run), read_run(run)), folder.resolve().name
        label = name if run == folder else f"{name} ({scores['config']})"
        if label in runs:
            raise BadInput(f"two runs are called {label!r}; rename a folder, its name is the label")
        runs[label] = scores
    if reported:
        runs = beside(runs, read_reported(reported))
    write_text(out / "table.md", markdown_table(runs))
    write_text(out / "report.html", comparison_report(runs))
    return runs
