"""From the answers in a run's folder to its scores: a judge reads them, and the results are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.hub.rows import Row
from epbench.judges.protocol import identity_of
from epbench.judges.run_judge import judge_of_scores, note, note_judge
from epbench.runs.answers import Progress, no_progress
from epbench.runs.finished import is_finished
from epbench.runs.folder import read_scores
from epbench.tulving.calibration.correction import judge_scores, recall_to_correct
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


def is_scored(folder: Path, identity: Mapping[str, Any], judge: Judge, **noted: Any) -> bool:
    """Whether a run is finished, as in `epbench.runs.finished.is_finished`, by this judge and with its present passport."""
    if not is_finished(folder, identity, **noted) or judge_of_scores(folder) != identity_of(judge):
        return False
    scores = read_scores(folder)
    about = judge_scores(judge, recall_to_correct(scores))
    of_run = {name: value for name, value in scores["judge"].items() if name != "one_score"}
    return bool(about == {"judge": of_run, "corrected": scores["corrected"]})
