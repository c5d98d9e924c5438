"""Check a judge: let it judge made answers like those of any run, and write its passport and a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.hub.rows import Row
from epbench.runs.answers import Progress
from epbench.runs.folder import read_json, write_json, write_text
from epbench.tulving.calibration.answers import MadeAnswer
from epbench.tulving.calibration.passport import PASSPORT, Passport, make_passport
from epbench.tulving.calibration.report import passport_page, passport_table
from epbench.tulving.calibration.store import store_passport
from epbench.tulving.judging.protocol import Judge, Verdict
from epbench.tulving.judging.verdicts import judge_answers, judge_failures
from epbench.tulving.questions.generate import bin_of
from epbench.tulving.scores.results import record_answers


def check_judge_on(folder: Path, made: Sequence[MadeAnswer], seed: int, judge: Judge, progress: Progress) -> Passport:
    """Have the made answers judged, in the journals of an open run, and write what came of it.

    Writes passport.json, table.md and report.html, and puts the passport into the user's store.

    Args:
        folder: of the run.
        made: the made answers.
        seed: of the made answers.
        judge: is asked for the verdicts that the journal does not have.
        progress: shows a bar.

    Raises:
        RunFailed: there is no verdict at all.
    """
    record_answers(folder, {answer.case.id: answer.case.answer for answer in made}, "made answers")
    judged = judge_answers(folder, [_row(answer) for answer in made], judge, progress)
    if not judged:
        reasons = "; ".join(judge_failures(folder, judge))
        raise RunFailed(f"judge {judge.name} has judged none of {len(made)} made answers: {reasons}")
    verdicts = {row.id: Verdict(row.items, row.scores, row.order, "") for row in judged}
    passport = make_passport(judge, made, verdicts, seed)
    write_json(folder / PASSPORT, passport)
    write_text(folder / "table.md", passport_table(passport))
    write_text(folder / "report.html", passport_page(read_json(folder / "run.json"), passport, made, verdicts))
    store_passport(judge, passport)
    return passport


def _row(made: MadeAnswer) -> Row:
    """A made answer's question in the shape of the dataset's rows."""
    case, n = made.case, len(made.decisions)
    row: dict[str, Any] = {"id": case.id, "question": case.question, "trace": case.trace, "get": case.get}
    row |= {"answer": list(case.truth), "n_chapters": n, "bin": bin_of(n)}
    return row | dict.fromkeys(["time", "space", "entity", "content"])
