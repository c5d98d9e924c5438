"""Several runs on one Tulving book side by side: their folders in, one table and one page out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.typed import fields, typed
from epbench.files.writing import write_text
from epbench.runs.several import labels_of
from epbench.tulving.calibration.correction import with_passport
from epbench.tulving.scores.report import comparison_report
from epbench.tulving.scores.run_files import UNKNOWN_CHAPTERS, check_same_book, read_run, read_scores
from epbench.tulving.scores.tables import markdown_table


def write_side_by_side(folders: Sequence[Path], out: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Write OUT/table.md and OUT/report.html.

    Args:
        folders: The folders of the runs; the name of a folder is the label of its run.
        out: The folder of the two files; it is made if it does not exist.

    Returns:
        The scores of each run by its label, and no notes: the tables have them.

    Raises:
        BadInput: A run did not end, two folders have the same name, or the runs are on different books.
    """
    runs = {label: (folder, read_run(folder), read_scores(folder)) for label, folder in labels_of(folders).items()}
    (first_folder, first, _), *_ = runs.values()
    typed(str(first_folder / "run.json"), first, fields({"book": str}))
    unknown = check_same_book({folder: run for folder, run, _ in runs.values()})
    scores: dict[str, dict[str, Any]] = {}
    for label, (folder, _, of_run) in runs.items():
        if "incomplete" not in of_run:
            raise BadInput(f"{folder / 'scores.json'}: expected a field 'incomplete'; give the run's command again")
        scores[label] = with_passport(of_run)
        if folder in unknown:
            scores[label]["warnings"] = [*scores[label].get("warnings", []), UNKNOWN_CHAPTERS]
    write_text(out / "table.md", markdown_table(scores))
    write_text(out / "report.html", comparison_report(first["book"], scores))
    return scores, []
