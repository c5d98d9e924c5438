"""Find the published MemFail rows: on the Hub or in a folder."""

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
    """Where published rows were found.

    Attributes:
        name: How a dataset card names this source.
        folder: The folder that holds the CSV files, at any depth.
    """

    name: str
    folder: Path


def open_source(source: str) -> Source:
    """Find the published files.

    Args:
        source: `hub`, or a folder such as a checkout of the reference repository.

    Raises:
        BadInput: The source is neither.
        RunFailed: The Hub cannot be reached or refuses the download.
    """
    if source == "hub":
        return _download()
    folder = Path(source)
    if not folder.is_dir():
        raise BadInput(f"source: expected hub or a folder, got {source!r}")
    return Source(f"the folder `{folder.resolve().name}`", folder)


def _download() -> Source:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(HUB_DATASET, repo_type="dataset", allow_patterns="*.csv"))
    except Exception as error:  # the Hub's client raises its own, the HTTP library's and the system's errors
        raise RunFailed(
            f"{HUB_DATASET} could not be downloaded from the Hub: {error}; without a network, use a local folder of it"
        ) from None
    return Source(f"`{HUB_DATASET}` on the Hub, revision `{folder.name}`", folder)


def file_of(source: Source, config: str) -> Path:
    """Return the CSV file of a config.

    It has the published name, or is the only CSV file in a folder named after the config.

    Raises:
        BadInput: There is no such file, or more than one.
    """
    name = _FILES[config]
    found = _files(source.folder, name) or _files(source.folder, f"{config}/*.csv")
    if len(found) != 1:
        raise BadInput(f"{source.folder}, config {config!r}: expected one file {name}, got {_listed(found)}")
    return found[0]


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, as the card shows it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths)) or "nothing"
