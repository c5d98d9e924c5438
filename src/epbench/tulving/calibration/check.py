"""Check a judge: have it judge the calibration set like the answers of any run, and write its passport and a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.writing import write_text
from epbench.hub.rows import Row
from epbench.progress import Progress
from epbench.runs.usage import commonest
from epbench.tulving.calibration.answers import CalibrationAnswer
from epbench.tulving.calibration.passport import PASSPORT, Passport, make_passport
from epbench.tulving.calibration.report import passport_page, passport_table
from epbench.tulving.calibration.store import store_passport
from epbench.tulving.judging.protocol import Judge, Verdict
from epbench.tulving.judging.verdicts import judge_answers, judge_failures
from epbench.tulving.questions.generate import bin_of
from epbench.tulving.scores.results import record_answers

_SOURCE = "made answers"  # the keys of the answers in stored journals depend on it


def check_judge_on(
    folder: Path, calibration_set: Sequence[CalibrationAnswer], seed: int, judge: Judge, progress: Progress
) -> Passport:
    """Have the calibration set judged, in the journals of an open run, and write the results.

    These are passport.json, table.md and report.html; the passport is also kept for later runs.

    Args:
        folder: Folder of the run.
        calibration_set: The calibration set.
        seed: Seed of the calibration set.
        judge: Is asked for the verdicts that the journal does not have.
        progress: Shows a bar.

    Raises:
        RunFailed: There is no verdict at all.
    """
    inputs = [answer.judge_input for answer in calibration_set]
    record_answers(folder, {given.id: given.answer for given in inputs}, _SOURCE)
    judged = judge_answers(folder, [_row(answer) for answer in calibration_set], judge, progress)
    if not judged:
        reasons = commonest(reason for reason, n in judge_failures(folder, judge).items() for _ in range(n))
        raise RunFailed(
            f"judge {judge.name} has judged none of the {len(calibration_set)} calibration answers{reasons}"
        )
    verdicts = {row.id: Verdict(row.items, row.scores, row.order, "") for row in judged}
    passport = make_passport(judge, calibration_set, verdicts, seed)
    write_json(folder / PASSPORT, passport)
    write_text(folder / "table.md", passport_table(passport))
    page = passport_page(read_json(folder / "run.json"), passport, calibration_set, verdicts)
    write_text(folder / "report.html", page)
    store_passport(judge, passport)
    return passport


def _row(answer: CalibrationAnswer) -> Row:
    """The question of a calibration answer as a row of the dataset."""
    given, n = answer.judge_input, len(answer.decisions)
    row: dict[str, Any] = {"id": given.id, "question": given.question, "trace": given.trace, "get": given.get}
    row |= {"answer": list(given.reference), "n_chapters": n, "bin": bin_of(n)}
    return row | dict.fromkeys(["time", "space", "entity", "content"])
