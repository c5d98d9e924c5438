"""Joining the shards of a run of Book-SORT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench.booksort.context.retrieval import RETRIEVED
from epbench.booksort.dataset.load import asked_pairs, fingerprint, load_pairs
from epbench.booksort.scores.results import finish
from epbench.booksort.scores.run_files import SHARD
from epbench.errors import BadInput
from epbench.runs.answers import ANSWERS
from epbench.runs.folder import dataset_of, open_run
from epbench.runs.journal import read_journal
from epbench.runs.merge import MergedRun, join_journals, limit_of, read_shards


def merge(shards: Sequence[Path], out: Path, dataset: str | None = None, limit: int | None = None) -> MergedRun:
    """Join the journals of shards, and score them as one run. A pair that no shard has asked about has failed.

    Args:
        shards: The folders of the shards, at least one.
        out: The folder of the whole run.
        dataset: Where the dataset is; None for where the shards found it.
        limit: The number of pairs of the whole run; None for the limit of the shards.

    Raises:
        BadInput: A folder is not a shard of the same run, the shards have different limits, or the dataset has other rows.
        RunFailed: No shard has an answer.
    """
    described = read_shards(shards, out, SHARD)
    first, limit = described[0], limit_of(described, limit)
    identity, dataset = first["identity"], dataset or dataset_of(first) or ""
    everything = load_pairs(dataset, identity["config"], identity["split"])
    if fingerprint(everything) != identity["fingerprint"]:
        raise BadInput(f"{dataset}: its rows are not those of the runs; give the dataset of the runs")
    pairs = asked_pairs(everything, identity["books"], limit, both=identity.get("both_orders"))

    about = {"dataset": dataset, "label": first["label"], "limit": limit, "merged": [str(f) for f in shards]}
    with open_run(out, identity, about) as folder:
        join_journals(shards, folder, (ANSWERS, RETRIEVED))
        keys = {record["id"]: record["key"] for record in read_journal(folder / ANSWERS).values()}
        return MergedRun(first["label"], finish(folder, pairs, keys, first["label"]))
