"""The results of a run of Book-SORT, computed again from its journals, to be compared with those in its folder."""

from __future__ import annotations

from pathlib import Path
from types import NoneType

from epbench.booksort.dataset.load import asked_pairs, fingerprint, load_books, load_pairs
from epbench.booksort.scores.results import finish
from epbench.booksort.scores.run_files import read_run
from epbench.files.shapes import MAYBE_TEXT, Items, Shape, check
from epbench.runs.answers import ANSWERS
from epbench.runs.folder import dataset_of
from epbench.runs.journal import read_journal
from epbench.runs.verification import Check, check_fingerprint, copy_journals

_RUN = Shape(
    {
        "dataset": (str,),
        "identity": Shape({"fingerprint": (str,), "config": Items((str,)), "split": (str,), "books": (list, NoneType)}),
    },
    {"label": (str,), "limit": (int, NoneType), "shard": MAYBE_TEXT},
)
"""What run.json must say, so that the results can be computed again."""


def recompute(folder: Path, scratch: Path, dataset: str | None = None) -> list[Check]:
    """Compute the results of a run again, into an empty folder; on another dataset than the run's, nothing is computed.

    Args:
        folder: The run's folder.
        scratch: The folder for the results.
        dataset: Where the dataset is now; None for where the run found it.

    Returns:
        What was checked on the way: the dataset, and that every answer is about one of its pairs.

    Raises:
        BadInput: The run or the dataset cannot be read.
    """
    run = read_run(folder)
    check(str(folder / "run.json"), run, _RUN)
    identity = run["identity"]
    everything = load_pairs(dataset or dataset_of(run) or "", identity["config"], identity["split"])
    checks = [check_fingerprint("dataset", fingerprint(everything), identity["fingerprint"])]
    if "texts" in identity:
        checks.append(
            check_fingerprint("books", fingerprint(load_books(dataset or dataset_of(run) or "")), identity["texts"])
        )
    if any(check.held is False for check in checks):
        return checks  # other questions: nothing would follow from these journals
    pairs = asked_pairs(everything, identity["books"], run.get("limit"), run.get("shard"), identity.get("both_orders"))
    copy_journals(folder, scratch)
    records = read_journal(folder / ANSWERS).values()
    asked = {pair.id for pair in pairs}
    strange = [record["id"] for record in records if record["id"] not in asked]
    said = f"{len(strange)} answers are about no pair of the run, such as {strange[0]!r}" if strange else ""
    finish(scratch, pairs, {record["id"]: record["key"] for record in records}, run.get("label", folder.name))
    return [*checks, Check(ANSWERS, not strange, said)]
