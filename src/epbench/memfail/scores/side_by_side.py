"""Several runs of MemFail side by side: their folders in, one table and one page out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.memfail.scores.report import comparison_report
from epbench.memfail.scores.reported_rates import beside, read_published
from epbench.memfail.scores.tables import markdown_table
from epbench.runs.folder import read_run, read_scores, write_text


def holds_runs(folder: Path) -> bool:
    """Whether a folder is a run of MemFail, or holds one for each config.

    Raises:
        BadInput: a run.json is no JSON object.
    """
    return bool(runs_in(folder))


def write_comparison(folders: Sequence[Path], out: Path, published: Path | None = None) -> dict[str, Any]:
    """Write OUT/table.md and OUT/report.html.

    Args:
        folders: of runs, or of runs of several configs; a folder's name is the label of its runs.
        out: made where it is not there.
        published: JSON of published success rates, shown where they fit; see `read_published`.

    Returns:
        scores.json of each run by its label, published rates among them.

    Raises:
        BadInput: a folder holds no run of MemFail or one that did not end, two have one label, or runs of one config are
            on different rows.
    """
    runs: dict[str, Any] = {}
    rows: dict[str, tuple[Path, Any]] = {}
    for folder in folders:
        found = runs_in(folder)
        if not found:
            raise BadInput(f"{folder}: no run of MemFail, nor a folder of such runs")
        for run in found:
            identity, scores = read_run(run)["identity"], read_scores(run)
            config = scores["config"]
            label = folder.resolve().name if run == folder else f"{folder.resolve().name} ({config})"
            if label in runs:
                raise BadInput(f"two runs are called {label!r}; rename a folder, its name is the label")
            first, fingerprint = rows.setdefault(config, (run, identity.get("fingerprint")))
            if fingerprint != identity.get("fingerprint"):
                raise BadInput(f"{first} and {run} are on different rows of {config}")
            runs[label] = scores
    runs = beside(runs, read_published(published)) if published else runs
    write_text(out / "table.md", markdown_table(runs))
    write_text(out / "report.html", comparison_report(runs))
    return runs


def runs_in(folder: Path) -> list[Path]:
    """The run of MemFail that a folder is, or the runs of several configs that it holds.

    Raises:
        BadInput: a run.json is no JSON object.
    """
    places = [folder] if (folder / "run.json").is_file() else sorted(path.parent for path in folder.glob("*/run.json"))
    return [place for place in places if read_run(place)["identity"].get("benchmark") == "memfail"]
