"""What the shared packages need to know of Tulving books; see `epbench.runs.benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any

from epbench.files.shapes import MAYBE_TEXT, Shape
from epbench.hub.rows import Row
from epbench.journals.answers import ANSWERS
from epbench.judges.journal import JUDGEMENTS
from epbench.progress import no_progress
from epbench.runs.benchmark import Benchmark, Check, check_fingerprint
from epbench.runs.subset import subset
from epbench.tulving.answers import score
from epbench.tulving.context.passages import PASSAGES
from epbench.tulving.dataset.load import Loaded, load_book
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.verdicts import CALLS, ask_judge, judge_failures
from epbench.tulving.scores.comparison import compare
from epbench.tulving.scores.results import finish
from epbench.tulving.scores.run_files import LATER
from epbench.tulving.scores.side_by_side import write_side_by_side
from epbench.tulving.scores.tables import screen_tables


@dataclass(frozen=True)
class _PastRun:
    """A run on a book; see `epbench.runs.benchmark.PastRun`."""

    checks: Sequence[Check]
    data: Loaded
    rows: Sequence[Row]
    repeats: int

    @property
    def ids(self) -> set[str]:
        return {row["id"] for row in self.rows}

    def judge(self, folder: Path, judge: Any) -> None:
        ask_judge(folder, self.rows, judge, no_progress)

    def finish(self, folder: Path, judge: Any, label: str) -> dict[str, Any]:
        return finish(folder, self.rows, judge, label, repeats=self.repeats, chapters=self.data.book.chapters)

    def failures(self, folder: Path, judge: Any) -> dict[str, int]:
        return judge_failures(folder, judge)

    def shown(self, label: str, scores: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        return label, scores


def _past(
    folder: Path | None,
    run: Mapping[str, Any],
    dataset: str,
    limit: int | None,
    shard: str | None,
    prompts: Path | None,
) -> _PastRun:
    data, identity = load_book(dataset), run["identity"]
    checks = [check_fingerprint("dataset", data.fingerprint, identity["fingerprint"])]
    if "chapters" in identity:
        checks.append(check_fingerprint("chapters", data.chapters, identity["chapters"]))
    else:
        said = "the run has no fingerprint of their texts; a run that begins now writes it"
        checks.append(Check("chapters", None, said))
    return _PastRun(checks, data, subset(data.rows, itemgetter("id"), limit, shard), identity.get("repeats", 1))


BENCHMARK = Benchmark(
    name="tulving",
    title="Tulving book",
    described=Shape(
        {"dataset": (str,), "identity": Shape({"fingerprint": (str,)}, {"repeats": (int,)})},
        {"book": (str,), "label": (str,), "limit": (int, NoneType), "shard": MAYBE_TEXT},
    ),
    past=_past,
    journals=(ANSWERS, JUDGEMENTS, CALLS, PASSAGES),
    compare=compare,
    side_by_side=write_side_by_side,
    screen_tables=screen_tables,
    columns=("cue", "trace"),
    score=score,
    rules=LexicalJudge,
    later=LATER,
)
