"""The files that a finished run leaves: scores, usage, a table and a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.files.json_files import write_json
from epbench.files.writing import write_text

RESULTS = ("scores.json", "usage.json", "table.md", "report.html")
"""The files that every benchmark writes, in the order of writing."""


def write_results(
    folder: Path,
    *,
    scores: Mapping[str, Any],
    usage: Mapping[str, Any],
    table: str,
    report: str,
) -> None:
    """Write the results of a run, after its questions.parquet. Each file appears whole or not at all.

    Args:
        folder: The run's folder.
        scores: The content of scores.json.
        usage: The content of usage.json.
        table: The content of table.md.
        report: The content of report.html.
    """
    write_json(folder / "scores.json", scores)
    write_json(folder / "usage.json", usage)
    write_text(folder / "table.md", table)
    write_text(folder / "report.html", report)
