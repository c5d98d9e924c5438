"""What the shared packages need to know of Book-SORT; see `epbench.runs.benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epbench.booksort.answers import score
from epbench.booksort.context.remembered import MemoryRun, Told
from epbench.booksort.dataset.load import answered_pairs, asked_pairs, fingerprint, load_books, load_pairs
from epbench.booksort.scores.comparison import compare, write_side_by_side
from epbench.booksort.scores.report import headlines
from epbench.booksort.scores.results import finish
from epbench.booksort.scores.run_files import APART
from epbench.booksort.scores.tables import screen_tables
from epbench.files.typed import Whole, fields
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import RETIRED, read_journal
from epbench.memories.protocol import SystemSpec
from epbench.memories.relay import CALLS
from epbench.memories.session import MEMORIES, MEMORIES_TYPE, RETRIEVED, STORED
from epbench.runs.benchmark import Benchmark, Described, PastRun, check_fingerprint


def _past(about: Described) -> PastRun:
    identity = about.run["identity"]
    everything = load_pairs(about.dataset, identity["config"], identity["split"])
    checks = [check_fingerprint("dataset", fingerprint(everything), identity["fingerprint"])]
    if "texts" in identity:
        checks.append(check_fingerprint("books", fingerprint(load_books(about.dataset)), identity["texts"]))
    by_book = identity.get("stored") == "book"
    both = identity.get("both_orders")
    pairs = asked_pairs(everything, identity["books"], about.limit, about.shard, both, by_book)
    if "answers" in identity:  # the file of a run of answers is not kept, and its journal names the pairs
        ids = [record["id"] for record in read_journal(about.folder / ANSWERS).values()]
        pairs = answered_pairs(everything, ids, str(about.folder / ANSWERS))
    memory = None
    if "stored" in identity and all(check.held for check in checks):
        told = Told(pairs, load_books(about.dataset) if by_book else [], identity["conversation_words"])
        name, is_class = identity["memory"], "system_digest" in identity
        spec = SystemSpec(name, baseline=not is_class, knows_gold=name == "oracle")
        memory = MemoryRun(spec, told, identity["top_k"])

    def finished(folder: Path, judge: None, label: str) -> dict[str, Any]:
        answers = read_journal(folder / ANSWERS).values()
        keys = {record["id"]: record["key"] for record in answers if record.get("failure") != RETIRED}
        return finish(folder, pairs, keys, label, memory)

    return PastRun(checks=checks, ids={pair.id for pair in pairs}, finish=finished)


BENCHMARK = Benchmark(
    name="booksort",
    title="Book-SORT",
    described=fields(
        {
            "dataset": str,
            "identity": fields(
                {"fingerprint": str, "config": list[str], "split": str, "books": list[Any] | None},
                {"both_orders": bool | None, "memory": str, "stored": str, "conversation_words": Whole, "top_k": Whole},
            ),
        },
        {"label": str, "limit": Whole | None, "shard": str | None},
    ),
    past=_past,
    journals=(ANSWERS, STORED, RETRIEVED, CALLS),
    objects={MEMORIES: MEMORIES_TYPE},
    compare=compare,
    side_by_side=write_side_by_side,
    headlines=headlines,
    screen_tables=screen_tables,
    columns=("segment_1", "segment_2"),
    later=(APART,),
    score=score,
)
