"""What the shared packages need to know of Book-SORT; see `epbench.runs.benchmark`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from epbench.booksort.answers import score
from epbench.booksort.context.retrieval import RETRIEVED
from epbench.booksort.dataset.load import Pair, asked_pairs, fingerprint, load_books, load_pairs
from epbench.booksort.scores.comparison import compare
from epbench.booksort.scores.results import finish
from epbench.booksort.scores.side_by_side import write_side_by_side
from epbench.booksort.scores.tables import screen_tables
from epbench.files.shapes import MAYBE_TEXT, Items, Shape
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.runs.benchmark import Benchmark, Check, check_fingerprint


@dataclass(frozen=True)
class _PastRun:
    """A run on pairs; see `epbench.runs.benchmark.PastRun`."""

    checks: Sequence[Check]
    pairs: Sequence[Pair]

    @property
    def ids(self) -> set[str]:
        return {pair.id for pair in self.pairs}

    def judge(self, folder: Path, judge: None) -> None:
        """There is no judge: an answer names the right segment or not."""

    def finish(self, folder: Path, judge: None, label: str) -> dict[str, Any]:
        keys = {record["id"]: record["key"] for record in read_journal(folder / ANSWERS).values()}
        return finish(folder, self.pairs, keys, label)

    def failures(self, folder: Path, judge: None) -> dict[str, int]:
        return {}

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
    identity = run["identity"]
    everything = load_pairs(dataset, identity["config"], identity["split"])
    checks = [check_fingerprint("dataset", fingerprint(everything), identity["fingerprint"])]
    if "texts" in identity:
        checks.append(check_fingerprint("books", fingerprint(load_books(dataset)), identity["texts"]))
    pairs = asked_pairs(everything, identity["books"], limit, shard, both=identity.get("both_orders"))
    return _PastRun(checks, pairs)


BENCHMARK = Benchmark(
    name="booksort",
    title="Book-SORT",
    described=Shape(
        {
            "dataset": (str,),
            "identity": Shape(
                {"fingerprint": (str,), "config": Items((str,)), "split": (str,), "books": (list, NoneType)},
                {"both_orders": (bool, NoneType)},
            ),
        },
        {"label": (str,), "limit": (int, NoneType), "shard": MAYBE_TEXT},
    ),
    past=_past,
    journals=(ANSWERS, RETRIEVED),
    compare=compare,
    side_by_side=write_side_by_side,
    screen_tables=screen_tables,
    columns=("segment_1", "segment_2"),
    score=score,
)
