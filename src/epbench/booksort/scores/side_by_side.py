"""Several runs of Book-SORT side by side: their folders in, one table and one page out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.scores.report import comparison_report
from epbench.booksort.scores.run_files import read_run, read_scores
from epbench.booksort.scores.tables import markdown_table
from epbench.errors import BadInput
from epbench.files.typed import fields, typed
from epbench.files.writing import write_text
from epbench.runs.several import check_same, labels_of


def write_side_by_side(folders: Sequence[Path], out: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md and OUT/report.html.

    Args:
        folders: The folders of the runs; the name of a folder is the label of its run.
        out: The folder of the two files; it is made if it does not exist.

    Returns:
        The scores of each run by its label, and no notes: the tables have them.

    Raises:
        BadInput: A run did not end, two folders have the same name, or the runs are on different datasets.
    """
    labels = labels_of(folders)
    scores = {label: read_scores(folder) for label, folder in labels.items()}
    described = {folder: read_run(folder) for folder in labels.values()}
    rows = {folder: run["identity"].get("fingerprint") for folder, run in described.items()}
    if len(set(rows.values())) > 1:
        raise BadInput(
            f"the runs are on different datasets: {', '.join(f'{f}: {print_}' for f, print_ in rows.items())}"
        )
    check_same(described, (), ("texts",))
    first_folder, first = next(iter(described.items()))
    typed(str(first_folder / "run.json"), first, fields({"dataset": str}))
    write_text(out / "table.md", markdown_table(scores))
    write_text(out / "report.html", comparison_report(Path(first["dataset"]).name, scores))
    return scores, []
