"""Measured rows of the leaderboard: one small JSON file for each run, with its scores and identity, and without answers.

Whoever has a run makes such a file from it (`epbench submit`); a repository keeps those of everybody in one folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from epbench.errors import BadInput
from epbench.files.json_files import read_json, read_typed
from epbench.files.typed import Whole
from epbench.journals.records import JOURNALS
from epbench.reports.leaderboard import Standing

FORMAT = 1
_CHECKSUMS = "checksums.json"  # of each run, with the SHA-256 of its files
_BULKY = ("warnings", "distances", "lost_in_the_middle", "by_group", "possible", "stored", "unnoticed", "facts")
"""Fields of scores.json, and of its parts, that no row shows."""


class Result(Struct, frozen=True, kw_only=True):
    """What is kept of a run."""

    format: Whole  # the version of this form
    benchmark: str  # such as `tulving`
    dataset: str  # the name of the dataset, such as `short-l3`, and for Book-SORT its configs
    fingerprint: str  # of its rows; only rows with the same one are ranked together
    # Its rows on the leaderboard: one, or for MemFail one for each k. Their origin is empty, and what bounds them
    # (`alike`) is in texts.
    standings: list[Standing]
    # The content of scores.json without its largest parts, by config for a run of several, else by "".
    scores: dict[str, dict[str, Any]]
    identity: dict[str, dict[str, Any]]  # what run.json says of the run, by config likewise
    command: str  # the command of the run, with names in place of paths
    versions: dict[str, str]  # of the libraries at the time of the run
    journals: dict[str, str]  # the SHA-256 of each journal, by config and file name
    checks: dict[str, Whole]  # how many checks of `epbench verify` held, and how many could not be made; none failed
    by: str  # who measured it
    note: str = ""  # what else is to be known; empty for nothing

    @property
    def checksum(self) -> str:
        """The SHA-256 of the list of journals: it differs if any answer or verdict does."""
        return hashlib.sha256(json.dumps(self.journals, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of its file, without its ending: what was measured, and the beginning of the checksum."""
        first = self.standings[0]
        words = [self.benchmark, self.dataset, first.model, first.memory if len(self.standings) == 1 else first.label]
        plain = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.") for word in words]
        return "-".join([*filter(None, plain), self.checksum[:8]])


def result_of(
    parts: Mapping[str, Path],
    standings: Sequence[Standing],
    dataset: str,
    fingerprint: str,
    *,
    checks: Mapping[str, int],
    by: str,
    note: str = "",
) -> Result:
    """Put together what is kept of a run, whose folders are given by config, or by "" for a run in a single folder.

    `checks` says how many held (`hold`), and how many could not be made (`not_made`). BadInput if a file is damaged.
    """
    runs = {name: read_json(folder / "run.json") for name, folder in parts.items()}
    first = next(iter(runs.values()))
    noted = {name: read_json(folder / _CHECKSUMS)["sha256"] for name, folder in parts.items()}
    journals = {
        f"{name}/{file}".lstrip("/"): hash_
        for name, of in noted.items()
        for file, hash_ in sorted(of.items())
        if file in JOURNALS
    }
    scores = {name: read_json(folder / "scores.json") for name, folder in parts.items()}
    return Result(
        format=FORMAT,
        benchmark=str(first["identity"]["benchmark"]),
        dataset=dataset,
        fingerprint=fingerprint,
        standings=[
            replace(row, origin="", ceilings={}, alike={name: str(of) for name, of in row.alike.items()})
            for row in standings
        ],
        scores=_small(scores),
        identity={name: {**run["identity"], "limit": run.get("limit")} for name, run in runs.items()},
        command=_without_paths(str(first.get("command", ""))),
        versions=first["versions"],
        journals=journals,
        checks=dict(checks),
        by=by,
        note=note,
    )


def _small(scores: Any) -> Any:
    if not isinstance(scores, dict):
        return scores
    return {name: _small(of) for name, of in scores.items() if name not in _BULKY}


def _without_paths(command: str) -> str:
    """A command with names in place of paths, and without what says only where and how long it ran."""
    kept = re.sub(r" --(out|max-time)[= ]\S+", "", command)
    return " ".join(Path(word).name if word.startswith("/") else word for word in kept.split(" "))


def result_text(result: Result) -> str:
    """The content of its file."""
    return json.dumps(_pruned(to_builtins(result)), ensure_ascii=False, indent=1) + "\n"


def _pruned(value: Any) -> Any:
    """The same without nulls, which stand for what was not measured; numbers of questions keep them."""
    if isinstance(value, dict):
        return {key: _pruned(of) for key, of in value.items() if of is not None or key in ("n", "n_failed")}
    return [_pruned(of) for of in value] if isinstance(value, list) else value


def read_results(folder: Path) -> list[Result]:
    """Read all measured rows of a folder, in the order of their names.

    Raises:
        BadInput: A file is no such row, is of a later form, or has a name that is not that of its content; or two are of
            one run.
    """
    found: dict[str, Path] = {}
    results = []
    for path in sorted(folder.glob("*.json")):
        result = read_typed(path, Result)
        if result.format != FORMAT or not result.standings:
            raise BadInput(f"{path}: expected a measured row of form {FORMAT}, found form {result.format}")
        if path.stem != result.name:
            raise BadInput(f"{path}: its content was changed, or it was renamed: its name should be {result.name}.json")
        if other := found.get(result.checksum):
            raise BadInput(f"{path}: the same run as {other.name}")
        found[result.checksum] = path
        results.append(result)
    return results


def rows_of(results: Iterable[Result]) -> list[Standing]:
    """The rows of some results, each with its file and who measured it as its origin."""
    return [replace(row, origin=f"{result.name}.json, {result.by}") for result in results for row in result.standings]
