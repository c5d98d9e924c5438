"""Joining the folders of a run that was split over machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.shapes import Shape, check
from epbench.runs.folder import LATER, open_run, read_run
from epbench.runs.journal import Journal, read_journal


@dataclass(frozen=True)
class MergedRun:
    """The whole run that shards were joined to.

    Attributes:
        label: The name of the run in tables.
        scores: The content of scores.json.
        failures: How often the judge gave no verdict, by reason; empty without a judge.
    """

    label: str
    scores: dict[str, Any]
    failures: dict[str, int] = field(default_factory=dict)


def read_shards(folders: Sequence[Path], out: Path, shape: Shape) -> list[dict[str, Any]]:
    """Read run.json of every shard.

    Args:
        folders: The folders of the shards, at least one.
        out: The folder of the whole run.
        shape: What run.json of a shard must hold.

    Returns:
        The content of each run.json, in the order of `folders`. A field of the identity that only some versions write is
        left out if a shard lacks it, since nothing is known of that shard then.

    Raises:
        BadInput: A folder holds no run, is `out` itself, or holds another run than the first one does.
    """
    described: list[dict[str, Any]] = []
    for folder in folders:
        if folder.resolve() == out.resolve():
            raise BadInput(f"{out}: one of the shards; expected another folder for the whole run")
        run = read_run(folder)
        check(str(folder / "run.json"), run, shape)
        described.append(run)
        for name in LATER:
            if any(name not in one["identity"] for one in described):
                for one in described:
                    one["identity"].pop(name, None)
        for name, value in described[0]["identity"].items():
            if run["identity"].get(name) != value:
                raise BadInput(
                    f"{folder / 'run.json'}: its {name} is {run['identity'].get(name)!r}; expected {value!r}, as in "
                    f"{folders[0]}"
                )
    return described


def limit_of(described: Sequence[Mapping[str, Any]], given: int | None) -> int | None:
    """The number of questions of the whole run.

    Args:
        described: The content of run.json of each shard.
        given: The limit that the user asks for; None for that of the shards.

    Returns:
        The limit, or None for all questions of the dataset.

    Raises:
        BadInput: The shards have different limits, and none is given.
    """
    if given is not None:
        return given
    limits = {run["limit"] for run in described if "limit" in run}  # a shard that was stopped may not say
    if len(limits) > 1:
        raise BadInput(f"the shards have different limits ({', '.join(map(str, limits))}); give the right limit")
    return limits.pop() if limits else None


def join_journals(shards: Sequence[Path], out: Path, names: Sequence[str]) -> None:
    """Copy the records of the shards' journals into the journals of `out`; a question that any shard answered is answered.

    Each shard is locked while it is read.

    Args:
        shards: The folders of the shards.
        out: The folder of the whole run, opened by the caller.
        names: The names of the journals. A journal that no shard has is not made.

    Raises:
        BadInput: A process is still at work in a shard.
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
