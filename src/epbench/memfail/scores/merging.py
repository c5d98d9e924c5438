"""Joining the shards of a run of MemFail, which machines have split by config, or by row where each row has its own store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.shapes import check
from epbench.judges.journal import JUDGEMENTS
from epbench.judges.protocol import identity_of, noted_judge
from epbench.judges.run_judge import check_judge, note, note_judge
from epbench.memfail.context.conversations import REPLIES
from epbench.memfail.dataset.load import load_memfail
from epbench.memfail.evaluate import judge_and_score, read_output
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.protocol import Judge
from epbench.memfail.recompute import PAST_RUN, past_config
from epbench.memfail.scores.tables import with_baseline
from epbench.memories.relay.calls import CALLS
from epbench.memories.session import MEMORIES, MEMORIES_SHAPE, RETRIEVED, STORED
from epbench.runs.answers import ANSWERS, no_progress
from epbench.runs.folder import dataset_of, open_run, read_run
from epbench.runs.merge import MergedRun, join_journals, limit_of, read_shards
from epbench.runs.several import runs_in

_JOURNALS = (STORED, RETRIEVED, REPLIES, ANSWERS, JUDGEMENTS, CALLS)


def merge_configs(
    shards: Sequence[Path], out: Path, dataset: str | None = None, limit: int | None = None, prompts: Path | None = None
) -> list[MergedRun]:
    """Join the runs of each config that the shards hold, and score each config as one run.

    Args:
        shards: The folders of the shards, at least one; each is a run, or holds one for each config.
        out: The folder of the whole run; with several configs it holds one folder for each.
        dataset: Where the dataset is; None for where the shards found it.
        limit: The number of questions of each config of the whole run; None for the limit of the shards.
        prompts: The reader's prompt pack, if the shards had another one than ours.

    Raises:
        BadInput: A folder is not a shard of the same run, the shards have different judges, limits or prompts, or the
            dataset has other rows.
    """
    by_config: dict[str, list[Path]] = {}
    several = False
    for shard in shards:
        if shard.resolve() == out.resolve():
            raise BadInput(f"{out}: one of the shards; expected another folder for the whole run")
        several = several or not (shard / "run.json").is_file()
        for folder in runs_in(shard):
            run = read_run(folder)
            check(str(folder / "run.json"), run, PAST_RUN)
            by_config.setdefault(run["identity"]["config"], []).append(folder)
    several = several or len(by_config) > 1
    return [
        _merge(folders, out / config if several else out, dataset, limit, prompts)
        for config, folders in by_config.items()
    ]


def _merge(
    shards: Sequence[Path], out: Path, dataset: str | None, limit: int | None, prompts: Path | None
) -> MergedRun:
    described = read_shards(shards, out, PAST_RUN)
    first, limit = described[0], limit_of(described, limit)
    identity, judge, dataset = first["identity"], _judge_of(described), dataset or dataset_of(first) or ""
    data = load_memfail(dataset, identity["config"])
    if data.fingerprint != identity["fingerprint"]:
        raise BadInput(f"{dataset}: its rows are not those of the runs; give the dataset of the runs")
    config = past_config(shards[0], identity, data, prompts, limit)
    label = f"{first['label']} ({identity['config']})"
    about = {"dataset": dataset, "label": first["label"], "merged": [str(f) for f in shards]}
    with open_run(out, identity, about) as folder:
        check_judge(folder, judge)
        join_journals(shards, folder, _JOURNALS)
        _join_memories(shards, folder)
        note(folder, limit=limit)
        _, scores = judge_and_score(folder, read_output(folder, config), judge, first["label"], no_progress)
        note_judge(folder, judge)
    return MergedRun(label, with_baseline(scores, {"identity": identity}))


def _join_memories(shards: Sequence[Path], out: Path) -> None:
    """Put together what each store held: rows have stores of their own, so that no two shards have one in common."""
    held: dict[str, list[str]] = {}
    for shard in shards:
        if (shard / MEMORIES).is_file():
            held |= read_json(shard / MEMORIES, MEMORIES_SHAPE)
    write_json(out / MEMORIES, held)


def _judge_of(described: Sequence[Mapping[str, Any]]) -> Judge:
    """The judge of all shards. One that is a model is not asked again: its verdicts are in the journals."""
    judges = {noted_judge(run["judge"]) for run in described}
    if len(judges) > 1:
        names = ", ".join(sorted(map(str, judges)))
        raise BadInput(f"the shards have different judges: {names}; have one judge judge them all")
    rules, (found,) = LexicalJudge(), judges
    return rules if found == identity_of(rules) else found
