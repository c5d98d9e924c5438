"""Joining the folders of a run that was split over machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.runs.folder import open_run, read_run
from epbench.runs.journal import Journal, read_journal
from epbench.runs.shapes import SHARDS, check

SPLIT = {"tulving": "eval_scripts/tulving.py", "booksort": "eval_scripts/booksort.py"}
"""By benchmark, the scripts whose runs can be split by --shard."""


def described_shards(folders: Sequence[Path], out: Path) -> list[dict[str, Any]]:
    """Content of each folder's run.json.

    Raises:
        BadInput: a folder is none of a run or is `out`, the folders hold different runs, or a run that cannot be split.
    """
    described: list[dict[str, Any]] = []
    for folder in folders:
        if not (folder / "run.json").is_file():
            raise BadInput(f"{folder}: no run.json in it; the folder of a shard is expected")
        if folder.resolve() == out.resolve():
            raise BadInput(f"--out {out}: one of the shards; another folder is expected")
        described.append(read_run(folder))
        identity = described[-1]["identity"]
        if identity.get("benchmark") not in SPLIT or "fingerprint" not in identity:
            raise BadInput(f"{folder / 'run.json'}: no run with --dataset of {' or '.join(SPLIT.values())}")
        check(str(folder / "run.json"), described[-1], SHARDS[identity["benchmark"]])
        for name, value in described[0]["identity"].items():
            if identity.get(name) != value:
                raise BadInput(f"{folder / 'run.json'}: its {name} is {identity.get(name)!r}, {value!r} expected")
    return described


def limit_of(described: Sequence[Mapping[str, Any]], given: int | None) -> int | None:
    """How many questions the whole has: as given, else as the shards had it.

    Raises:
        BadInput: the shards had different limits, and none is given.
    """
    limits = {run["limit"] for run in described if "limit" in run}  # a shard that was stopped may note none
    if given is None and len(limits) > 1:
        raise BadInput(f"the shards have different limits ({', '.join(map(str, limits))}); give the right --limit")
    return limits.pop() if given is None and limits else given


def join_journals(shards: Sequence[Path], out: Path, names: Sequence[str]) -> None:
    """Put the records of the shards' journals of these names into those of `out`; what some shard has done is done.

    Each shard is locked while it is read.

    Raises:
        BadInput: a process is still at work in a shard.
    """
    joined = {name: Journal(out / name) for name in names if any((shard / name).exists() for shard in shards)}
    for shard in shards:
        with open_run(shard, {}, {}):
            for name, journal in joined.items():
                for record in read_journal(shard / name).values():
                    if not journal.done(record["key"]):
                        journal.add(**record)
    for journal in joined.values():
        journal.close()
