"""One evaluation: ask, judge, score; every answer and verdict is journaled as it arrives, and scored from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from epbench.models.protocol import Model, Reply, Request
from epbench.runs.account import token_account
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import Journal
from epbench.tulving.judge import Case, Judge
from epbench.tulving.loading import Row
from epbench.tulving.report import html_report
from epbench.tulving.scoring import Judged, score_run
from epbench.tulving.tables import markdown_table

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
ANSWERS, JUDGEMENTS = "answers.jsonl", "judgements.jsonl"


def ask(folder: Path, requests: Sequence[Request], model: Model, progress: Progress) -> None:
    """Put the answers to all requests into the journal; those that it has are not asked for again.

    A question that fails is journaled with its reason, and the next start asks it again.
    """
    journal = Journal(folder / ANSWERS)
    open_requests = {key: r for r in requests if not journal.done(key := r.key(model.name))}
    replies = model.answer(list(open_requests.values()))
    with closing(replies):  # or what is open at an endpoint would go on when this stops
        _record(journal, progress(replies, "answers", len(open_requests)), open_requests)
    journal.close()


def _record(journal: Journal, replies: Iterable[Reply], requests: Mapping[str, Request]) -> None:
    """Journal each reply as it comes, with the seconds since the one before."""
    last = time.monotonic()
    for reply in replies:
        outcome: dict[str, Any] = {"answer": reply.text} if reply.failure is None else {"failure": reply.failure}
        if reply.reasoning:
            outcome["reasoning"] = reply.reasoning
        if any(astuple(reply.usage)):
            outcome["usage"] = asdict(reply.usage)
        now = time.monotonic()
        repeat = requests[reply.key].repeat
        journal.add(reply.key, id=reply.id, repeat=repeat, **outcome, seconds=round(now - last, 4))
        last = now


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
    open_cases = {key: case for case in cases if not journal.done(key := case.key(judge.name))}
    for key, case in progress(open_cases.items(), "verdicts", len(open_cases)):
        verdict = judge.judge(case)
        journal.add(
            key,
            id=case.id,
            judge=judge.name,
            items=list(verdict.items),
            scores=list(verdict.scores),
            order=list(verdict.order),
            reason=verdict.reason,
        )
    journal.close()
    order = {row["id"]: place for place, row in enumerate(rows)}
    in_order = sorted(zip(given, cases, strict=True), key=lambda pair: (order[pair[0]["id"]], pair[0]["repeat"]))
    return [judged(by_id[case.id], journal.records[case.key(judge.name)]) for _, case in in_order]


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


def fingerprint_of(content: Any) -> str:
    """Short hash of answers or prompts, so that a run's folder is taken up with the same ones only."""
    plain = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
