"""The journal of verdicts: every verdict is written as it arrives, and nothing that was judged is judged again.

One journal may hold the verdicts of several judges, since a verdict's key depends on its judge.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.journals.journal import Journal, Record
from epbench.judges.protocol import Judge, Judgeable, JudgeIdentity, Judgement, about_judge, identity_of, noted_judge
from epbench.models.protocol import Usage
from epbench.progress import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JUDGEMENTS = "judgements.jsonl"

InputT = TypeVar("InputT", bound=Judgeable)
VerdictT = TypeVar("VerdictT", bound="DataclassInstance")


def open_inputs(records: Mapping[str, Record], inputs: Iterable[InputT], judge: JudgeIdentity) -> dict[str, InputT]:
    """The inputs on which this judge has yet to give a verdict, each once, by their keys."""
    return _open(records, {judge_input.key(judge): judge_input for judge_input in inputs})


def _open(records: Mapping[str, Record], by_key: Mapping[str, InputT]) -> dict[str, InputT]:
    return {
        key: judge_input
        for key, judge_input in by_key.items()
        if key not in records or records[key].get("failure") is not None
    }


def judge_open(
    journal: Journal,
    inputs: Iterable[InputT],
    judge: Judge[InputT, VerdictT],
    progress: Progress,
    what: str,
    describe: Callable[[InputT, float], Record],
    calls: Path | None = None,
) -> None:
    """Have all inputs judged on which the journal has no verdict by this judge.

    Args:
        journal: Takes each judgement as it arrives.
        inputs: What is to be judged.
        judge: Is not asked at all where nothing is open, so that no model is loaded in vain.
        progress: Shows how many verdicts there are, with those of earlier starts.
        what: Name of the verdicts at that.
        describe: What else a record says of an input, given the seconds since the judgement before.
        calls: See `Judge.judge`.
    """
    by_key = {judge_input.key(judge): judge_input for judge_input in inputs}
    todo = _open(journal.records, by_key)
    if not todo:
        return

    def judged() -> Generator[Record]:
        last = time.monotonic()
        with closing(judge.judge(list(todo.values()), calls)) as judgements:
            for judgement in judgements:
                now = time.monotonic()
                about = describe(todo[judgement.key], now - last)
                journal.add(judgement.key, **about, **_record_of(judgement, judge))
                last = now
                yield journal.records[judgement.key]

    records = judged()
    with closing(records):  # or requests that are open at an endpoint would go on when this stops
        for _ in progress(records, what, len(by_key), len(by_key) - len(todo)):
            pass


def _record_of(judgement: Judgement[VerdictT], judge: JudgeIdentity) -> Record:
    """What a record says of a judgement: the fields of the verdict, or the failure."""
    record: dict[str, Any] = about_judge(judge, "judge")
    if judgement.raw:
        record["raw"] = list(judgement.raw)
    if judgement.usage != Usage():
        record["usage"] = asdict(judgement.usage)
    verdict = judgement.verdict
    if verdict is None:
        return record | {"failure": judgement.failure}
    return record | {field.name: getattr(verdict, field.name) for field in fields(verdict)}


def failures_of(records: Mapping[str, Record], judge: JudgeIdentity) -> dict[str, int]:
    """How many inputs the judge has failed on and is to be asked again about, by reason, the commonest first."""
    own = [record for record in records.values() if noted_judge(record, "judge") == identity_of(judge)]
    return dict(Counter(r["failure"] for r in own if r.get("failure") is not None).most_common())
