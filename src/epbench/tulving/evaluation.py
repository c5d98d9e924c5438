"""One evaluation: ask, judge, score; every answer and verdict is journaled as it arrives, and scored from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from epbench.models.protocol import Request
from epbench.runs.account import token_account
from epbench.runs.asking import ANSWERS, Progress
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import Journal
from epbench.tulving.judge import Case, Judge, Judgement
from epbench.tulving.loading import Row
from epbench.tulving.report import html_report
from epbench.tulving.scoring import Judged, score_run
from epbench.tulving.tables import markdown_table

JUDGEMENTS = "judgements.jsonl"


def record_answers(folder: Path, answers: Mapping[str, str], source: str) -> None:
    """Put answers that came from elsewhere into the journal."""
    journal = Journal(folder / ANSWERS)
    for id_, answer in answers.items():
        key = Request(id_, "", "", answer).key(source)
        if not journal.done(key):
            journal.add(key, id=id_, repeat=0, answer=answer)
    journal.close()


def judge_answers(folder: Path, rows: Sequence[Row], judge: Judge, progress: Progress) -> list[Judged]:
    """Verdicts on all journaled answers to these rows; those that the journal has are not asked for again."""
    answers = Journal(folder / ANSWERS)
    by_id = {row["id"]: row for row in rows}
    given = [r for r in answers if r.get("failure") is None and r["id"] in by_id]
    cases = [_case(by_id[r["id"]], r["answer"]) for r in given]
    answers.close()
    journal = Journal(folder / JUDGEMENTS)
    open_cases = {key: case for case in cases if not journal.done(key := case.key(judge))}
    judgements = judge.judge(list(open_cases.values()))
    with closing(judgements):
        for judgement in progress(judgements, "verdicts", len(open_cases)):
            _add_judgement(journal, open_cases[judgement.key], judge, judgement)
    journal.close()
    order = {row["id"]: place for place, row in enumerate(rows)}
    in_order = sorted(zip(given, cases, strict=True), key=lambda pair: (order[pair[0]["id"]], pair[0]["repeat"]))
    verdicts = [(by_id[case.id], journal.records.get(case.key(judge), {"failure": ""})) for _, case in in_order]
    return [judged(row, verdict) for row, verdict in verdicts if verdict.get("failure") is None]


def _add_judgement(journal: Journal, case: Case, judge: Judge, judgement: Judgement) -> None:
    about: dict[str, Any] = {"id": case.id, "judge": judge.name, "prompt_hash": judge.prompt_hash}
    if judgement.raw:
        about["raw"] = list(judgement.raw)
    if any(astuple(judgement.usage)):
        about["usage"] = asdict(judgement.usage)
    if judgement.verdict is None:
        journal.add(judgement.key, **about, failure=judgement.failure)
    else:
        journal.add(
            judgement.key, **about, **{name: _plain(value) for name, value in asdict(judgement.verdict).items()}
        )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def finish(
    folder: Path, rows: Sequence[Judged], n_failed: int, label: str, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write scores.json, account.json, table.md and report.html from the journals; `more` goes into scores.json too."""
    scores = score_run(rows, n_failed=n_failed) | dict(more or {})
    journal = Journal(folder / ANSWERS)
    account = token_account(journal)
    journal.close()
    write_json(folder / "scores.json", scores)
    write_json(folder / "account.json", account)
    write_text(folder / "table.md", markdown_table({label: scores}))
    write_text(folder / "report.html", html_report(label, read_json(folder / "run.json"), scores, rows, account))
    return scores


def _case(row: Row, answer: str) -> Case:
    return Case(row["id"], row["question"], row["trace"], row["get"], tuple(row["answer"]), answer)


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
