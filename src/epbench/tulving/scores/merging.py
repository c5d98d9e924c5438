"""Joining the shards of a run on a Tulving book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.judges.journal import JUDGEMENTS
from epbench.judges.protocol import identity_of, noted_judge
from epbench.judges.run_judge import check_judge, note, note_judge
from epbench.runs.answers import ANSWERS, no_progress
from epbench.runs.folder import dataset_of, open_run
from epbench.runs.merge import MergedRun, join_journals, limit_of, read_shards
from epbench.runs.subset import subset
from epbench.tulving.context.passages import PASSAGES
from epbench.tulving.dataset.load import load_book
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.protocol import Judge
from epbench.tulving.judging.verdicts import CALLS, ask_judge, judge_failures
from epbench.tulving.scores.results import finish
from epbench.tulving.scores.run_files import SHARD


def merge(shards: Sequence[Path], out: Path, dataset: str | None = None, limit: int | None = None) -> MergedRun:
    """Join the journals of shards, and score them as one run. A question that no shard has asked has failed.

    Args:
        shards: The folders of the shards, at least one.
        out: The folder of the whole run.
        dataset: Where the book is; None for where the shards found it.
        limit: The number of questions of the whole run; None for the limit of the shards.

    Raises:
        BadInput: A folder is not a shard of the same run, the shards have different judges or limits, or the dataset has
            other rows.
        RunFailed: No shard has a judged answer.
    """
    described = read_shards(shards, out, SHARD)
    first, limit = described[0], limit_of(described, limit)
    judge = _judge_of(described)
    dataset = dataset or dataset_of(first) or ""
    data = load_book(dataset)
    if any(first["identity"].get(name, found) != found for name, found in data.identity.items()):
        raise BadInput(f"{dataset}: its rows are not those of the runs; give the dataset of the runs")

    about = {"dataset": dataset, "book": first["book"], "label": first["label"], "merged": [str(f) for f in shards]}
    with open_run(out, first["identity"], about) as folder:
        check_judge(folder, judge)
        join_journals(shards, folder, (ANSWERS, JUDGEMENTS, CALLS, PASSAGES))
        rows = subset(data.rows, itemgetter("id"), limit)
        note(folder, limit=limit)
        ask_judge(folder, rows, judge, no_progress)
        repeats = first["identity"]["repeats"]
        scores = finish(folder, rows, judge, first["label"], repeats=repeats, chapters=data.book.chapters)
        note_judge(folder, judge)
    return MergedRun(first["label"], scores, judge_failures(out, judge))


def _judge_of(described: Sequence[Mapping[str, Any]]) -> Judge:
    """The judge of all shards. One that is a model is not asked again: its verdicts are in the journals."""
    judges = {noted_judge(run["judge"]) for run in described if "judge" in run}
    if len(judges) > 1:
        names = ", ".join(sorted(map(str, judges)))
        raise BadInput(f"the shards have different judges: {names}; have one judge judge them all")
    lexical = LexicalJudge()
    return judges.pop() if judges - {identity_of(lexical)} else lexical
