"""From the answers in a run's folder to its scores: a judge reads them, and the results are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.hub.rows import Row
from epbench.judges.run_judge import note, note_judge
from epbench.runs.answers import Progress, no_progress
from epbench.tulving.judging.protocol import Judge
from epbench.tulving.judging.verdicts import ask_judge
from epbench.tulving.pages.cards import Chapters
from epbench.tulving.scores.results import finish


def judge_and_score(
    folder: Path,
    rows: Sequence[Row],
    judge: Judge,
    label: str,
    *,
    repeats: int = 1,
    limit: int | None = None,
    shard: str | None = None,
    progress: Progress = no_progress,
    chapters: Chapters | None = None,
) -> dict[str, Any]:
    """Have the journaled answers of a run judged, score them, and write the results; nothing is judged twice.

    Args:
        folder: The folder of an open run.
        rows: The questions that the run asked.
        judge: The judge; its verdicts are journaled as they come.
        label: The name of the run in tables.
        repeats: How often the run asked each question, at least 1.
        limit: The number of questions that the run was limited to; None for all. It goes into run.json, and so does `shard`.
        shard: Which part of the questions the run asked, as `i/n`; None for all.
        progress: Shows a progress bar.
        chapters: The number and the text of each chapter of the book, for the report; None if the book is not at hand.

    Returns:
        The content of scores.json.

    Raises:
        NothingToScore: There is no judged answer; no results are written then.
    """
    note(folder, limit=limit, shard=shard)
    ask_judge(folder, rows, judge, progress)
    scores = finish(folder, rows, judge, label, repeats=repeats, chapters=chapters)
    note_judge(folder, judge)
    return scores
