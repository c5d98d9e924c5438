"""A finished run as a dataset of the Hub: its questions as rows, and all that `epbench verify` needs beside them.

The repository is a source for the scores of a model's page, and anybody can compute every number again from it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.hub.card import filled, licence_of

ROWS = "questions.parquet"
_NEEDED = ("run.json", "scores.json", "checksums.json", "table.md", "report.html", ROWS)


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, and not a dataset."""
    return (folder / "run.json").is_file()


def run_name(folder: Path) -> str:
    """The name of a run's repository: what was measured, and the beginning of a hash of its files.

    BadInput if the run has not ended, or lacks a file.
    """
    if absent := [name for name in _NEEDED if not (folder / name).is_file()]:
        raise BadInput(f"{folder} has no {absent[0]}; expected a run that has ended, or one config of it")
    run = read_json(folder / "run.json")
    identity = run["identity"]
    words = [run.get("book") or Path(str(run.get("dataset", ""))).name, identity.get("config")]
    words += [identity.get("memory") or identity.get("system"), identity.get("model")]
    flat = " ".join(" ".join(word) if isinstance(word, list) else str(word) for word in words if word)
    digest = hashlib.sha256((folder / "checksums.json").read_bytes()).hexdigest()[:8]
    return f"run-{re.sub(r'[^a-z0-9.]+', '-', flat.lower()).strip('-.')[:70].rstrip('-.')}-{digest}"


def write_run_folder(folder: Path, namespace: str, out: Path) -> Path:
    """Write the folder of a run's repository, named as it, into an empty one: the files of the run as they are, and a card.

    BadInput as for `run_name`, or if the run's dataset must not be passed on.
    """
    name, run = run_name(folder), read_json(folder / "run.json")
    dataset = str(run.get("dataset", ""))
    license = _license(run)
    made = out / name
    made.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(".") and path.name != "README.md":
            shutil.copyfile(path, made / path.name)
    values = {
        "title": f"{run.get('label') or folder.name} on {run.get('book') or Path(dataset).name}".replace('"', "'"),
        "license": license,
        "benchmark": run["identity"].get("benchmark", "memory"),
        "rows": ROWS,
        "version": run.get("versions", {}).get("epbench", ""),
        "command": str(run.get("command", "")).replace("```", ""),
        "table": (folder / "table.md").read_text("utf-8"),
        "repo": f"{namespace}/{name}",
        "dataset": dataset if re.fullmatch(r"[\w.-]+/[\w.-]+", dataset) else Path(dataset).name,
    }
    (made / "README.md").write_text(filled("epbench.hub", "run_card.md.jinja", values) + "\n", "utf-8")
    return made


def _license(run: Mapping[str, Any]) -> str:
    """The licence of the run's dataset, whose texts its questions have; `other` where the dataset is not at hand."""
    folder = Path(str(run.get("dataset_folder", "")))
    if not (folder / "README.md").is_file():
        return "other"
    return licence_of(folder, "its questions", "a run on these rows is for your own use")
