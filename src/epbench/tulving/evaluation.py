"""One evaluation: ask, judge, score; every answer and verdict is journaled as it arrives, and scored from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.models.protocol import Model, Request
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import Journal
from epbench.tulving.judge import Case, Judge
from epbench.tulving.loading import Row
from epbench.tulving.report import html_report
from epbench.tulving.scoring import Judged, score_run
from epbench.tulving.tables import markdown_table

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
ANSWERS, JUDGEMENTS = "answers.jsonl", "judgements.jsonl"


def ask(folder: Path, requests: Sequence[Request], model: Model, progress: Progress) -> dict[str, str]:
    """Answers by question id; those that the journal has are not asked for again.

    Returns:
        The answers that there are; a question that failed is missing, and the next start asks it again.
    """
    journal = Journal(folder / ANSWERS)
    keys = {request.id: request.key(model.name) for request in requests}
    open_requests = [request for request in requests if not journal.done(keys[request.id])]
    for reply in progress(model.answer(open_requests), "answers", len(open_requests)):
        outcome = {"answer": reply.text} if reply.failure is None else {"failure": reply.failure}
        journal.add(reply.key, id=reply.id, **outcome)
    journal.close()
    return {id_: journal.records[key]["answer"] for id_, key in keys.items() if journal.done(key)}


def record_answers(folder: Path, answers: dict[str, str], source: str) -> None:
    """Put answers that came from elsewhere into the journal."""
    journal = Journal(folder / ANSWERS)
    for id_, answer in answers.items():
        request = Request(id_, "", "", answer)
        if not journal.done(request.key(source)):
            journal.add(request.key(source), id=id_, answer=answer)
    journal.close()


def judge_answers(
    folder: Path, rows: Sequence[Row], answers: dict[str, str], judge: Judge, progress: Progress
) -> list[Judged]:
    """Verdicts on all answers; those that the journal has are not asked for again."""
    journal = Journal(folder / JUDGEMENTS)
    cases = [_case(row, answers[row["id"]]) for row in rows if row["id"] in answers]
    open_cases = [case for case in cases if not journal.done(case.key(judge.name))]
    for case in progress(open_cases, "verdicts", len(open_cases)):
        verdict = judge.judge(case)
        journal.add(
            case.key(judge.name),
            id=case.id,
            judge=judge.name,
            items=list(verdict.items),
            scores=list(verdict.scores),
            order=list(verdict.order),
            reason=verdict.reason,
        )
    journal.close()
    verdicts = {case.id: journal.records[case.key(judge.name)] for case in cases}
    return [judged(row, verdicts[row["id"]]) for row in rows if row["id"] in verdicts]


def finish(
    folder: Path, rows: Sequence[Judged], n_failed: int, label: str, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write scores.json, table.md and report.html from the journaled verdicts; `more` goes into scores.json too."""
    scores = score_run(rows, n_failed=n_failed) | dict(more or {})
    write_json(folder / "scores.json", scores)
    write_text(folder / "table.md", markdown_table({label: scores}))
    write_text(folder / "report.html", html_report(label, read_json(folder / "run.json"), scores, rows))
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
