"""The two ends of an evaluation: answers that came from elsewhere go into its journal, and scores come out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.hub.stored import Row
from epbench.memories.recall import memory_account
from epbench.models.protocol import Request
from epbench.runs.account import token_account
from epbench.runs.asking import ANSWERS
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import Journal
from epbench.tulving.correction import judge_scores
from epbench.tulving.judge import Judge
from epbench.tulving.report import html_report
from epbench.tulving.scoring import Judged, score_run
from epbench.tulving.tables import markdown_table

JUDGEMENTS = "judgements.jsonl"
RESULTS = ("scores.json", "account.json", "table.md", "report.html")  # that `finish` writes


def record_answers(folder: Path, answers: Mapping[str, str], source: str) -> None:
    """Put answers that came from elsewhere into the journal."""
    journal = Journal(folder / ANSWERS)
    for id_, answer in answers.items():
        key = Request(id_, "", "", answer).key(source)
        if not journal.done(key):
            journal.add(key, id=id_, repeat=0, answer=answer)
    journal.close()


def finish(
    folder: Path,
    rows: Sequence[Judged],
    n_failed: int,
    label: str,
    more: Mapping[str, Any] | None = None,
    *,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """Write scores.json, account.json, table.md and report.html from the journals.

    Args:
        folder: of the run.
        rows: the judged answers.
        n_failed: number of questions without an answer or a verdict.
        label: the run's name in tables.
        more: goes into scores.json too.
        judge: who judged; what its passport says goes into scores.json and the reports.
    """
    scores = score_run(rows, n_failed=n_failed) | dict(more or {})
    if judge is not None:
        scores |= judge_scores(judge, scores["f1_by_bin"])
    journal = Journal(folder / ANSWERS)
    account = token_account(journal) | memory_account(folder)
    journal.close()
    write_json(folder / "scores.json", scores)
    write_json(folder / "account.json", account)
    write_text(folder / "table.md", markdown_table({label: scores}))
    write_text(folder / "report.html", html_report(label, read_json(folder / "run.json"), scores, rows, account))
    return scores


def judged(row: Row, verdict: dict[str, Any]) -> Judged:
    """A row of the dataset with the verdict on its answer."""
    return Judged(
        id=row["id"],
        get=row["get"],
        bin=row["bin"],
        n_chapters=row["n_chapters"],
        cue=(row["time"], row["space"], row["entity"], row["content"]),
        truth=row["answer"],
        items=verdict["items"],
        scores=verdict["scores"],
        order=verdict["order"],
    )
