"""Where published MemFail rows come from: the Hub, or a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench.errors import BadInput, RunFailed

HUB_DATASET = "ishirgarg/MemFail"

_FILES = {
    "conditional_facts_easy": "conditional_facts_dataset_easy.csv",
    "conditional_facts_hard": "conditional_facts_dataset_hard.csv",
    "coexisting_facts": "coexisting_facts_dataset.csv",
    "persona_retrieval": "persona_dataset.csv",
    "long_hop": "long_hop_chains.csv",
}


@dataclass(frozen=True)
class Source:
    """A place of published rows.

    Attributes:
        name: as a card names it.
        folder: that holds the CSV files, at any depth.
    """

    name: str
    folder: Path


def open_source(source: str) -> Source:
    """Find the published files.

    Args:
        source: `hub`, or a folder such as a checkout of the reference repository.

    Raises:
        BadInput: it is neither.
        RunFailed: the Hub cannot be reached, or refuses.
    """
    if source == "hub":
        return _download()
    folder = Path(source)
    if not folder.is_dir():
        raise BadInput(
            f"--source {source!r} is none of template, hub and a folder; this version writes no rows with a model"
        )
    return Source(f"the folder `{folder.resolve().name}`", folder)


def _download() -> Source:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(HUB_DATASET, repo_type="dataset", allow_patterns="*.csv"))
    except Exception as error:  # the Hub's client raises its own, the HTTP library's and the system's errors
        raise RunFailed(
            f"{HUB_DATASET} did not come from the Hub: {error}; where there is no network, give its folder as --source"
        ) from None
    return Source(f"`{HUB_DATASET}` on the Hub, revision `{folder.name}`", folder)


def file_of(source: Source, config: str) -> Path:
    """The CSV file of a config: the one of its published name, or the only one in a folder of the config's name.

    Raises:
        BadInput: there is none, or there are several.
    """
    name = _FILES[config]
    found = _files(source.folder, name) or _files(source.folder, f"{config}/*.csv")
    if len(found) != 1:
        raise BadInput(f"{source.folder}: {_listed(found)} found for {config}, one file {name} expected")
    return found[0]


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def digest_of(path: Path) -> str:
    """SHA-256 of a file, as the card names it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths)) or "nothing"
