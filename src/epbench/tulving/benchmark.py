"""What the shared packages need to know of Tulving books; see `epbench.runs.benchmark`."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from epbench.files.typed import Whole, fields
from epbench.hub.rows import subset
from epbench.journals.answers import ANSWERS
from epbench.judges.protocol import JUDGEMENTS
from epbench.progress import no_progress
from epbench.runs.benchmark import Benchmark, Check, Described, PastRun, check_fingerprint
from epbench.tulving.answers import score
from epbench.tulving.context.requests import PASSAGES
from epbench.tulving.dataset.load import load_book
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.verdicts import CALLS, ask_judge, judge_failures
from epbench.tulving.scores.comparison import compare, write_side_by_side
from epbench.tulving.scores.report import headlines
from epbench.tulving.scores.results import finish
from epbench.tulving.scores.run_files import LATER
from epbench.tulving.scores.tables import screen_tables


def _past(about: Described) -> PastRun:
    data, identity = load_book(about.dataset), about.run["identity"]
    checks = [check_fingerprint("dataset", data.fingerprint, identity["fingerprint"])]
    if "chapters" in identity:
        checks.append(check_fingerprint("chapters", data.chapters, identity["chapters"]))
    else:
        note = "the run has no fingerprint of their texts; a run that begins now writes it"
        checks.append(Check("chapters", None, note))
    rows = subset(data.rows, itemgetter("id"), about.limit, about.shard)
    asked: dict[str, Any] = {"repeats": identity.get("repeats", 1), "chapters": data.book.chapters}
    return PastRun(
        checks=checks,
        ids={row["id"] for row in rows},
        judge=lambda folder, judge: ask_judge(folder, rows, judge, no_progress),
        finish=lambda folder, judge, label: finish(folder, rows, judge, label, **asked),
        failures=judge_failures,
    )


BENCHMARK = Benchmark(
    name="tulving",
    title="Tulving book",
    described=fields(
        {"dataset": str, "identity": fields({"fingerprint": str}, {"repeats": Whole})},
        {"book": str, "label": str, "limit": Whole | None, "shard": str | None},
    ),
    past=_past,
    journals=(ANSWERS, JUDGEMENTS, CALLS, PASSAGES),
    compare=compare,
    side_by_side=write_side_by_side,
    headlines=headlines,
    screen_tables=screen_tables,
    columns=("cue", "trace"),
    score=score,
    rules=LexicalJudge,
    later=LATER,
)
