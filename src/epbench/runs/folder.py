"""A run's folder: what was run (`run.json`), what came back (journals), what it is worth (`scores.json`)."""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import kind_of, parse_json
from epbench.files.writing import naming
from epbench.runs.secrets import without_secrets
from epbench.runs.shapes import IDENTITIES, RUN, SCORES, check, check_file

_LIBRARIES = ("epbench", "datasets", "evaluate", "numpy", "pyarrow", "scipy", "torch", "transformers", "vllm", "openai")


@contextmanager
def open_run(folder: Path, identity: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Path]:
    """Open a run's folder for this process alone, to begin it or to take it up again.

    Args:
        folder: made where it is not there.
        identity: what the run is (dataset and fingerprint, memory, model, judge, …); a folder is taken up only by a
            run of the same identity.
        about: what else to note in run.json, such as the path of the dataset.

    Raises:
        BadInput: the folder holds another run or other files, or another process is at work in it.
    """
    from filelock import FileLock, Timeout

    described = folder / "run.json"
    if folder.exists() and not described.exists() and any(not p.name.startswith(".") for p in folder.iterdir()):
        raise BadInput(f"{folder} holds other files and no run.json; choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            for scratch in folder.glob(".*.scratch"):  # of a process that was killed while it wrote a file
                shutil.rmtree(scratch)
            if described.exists():
                _same(folder, read_run(folder)["identity"], identity)
            else:
                write_json(described, {"identity": dict(identity), **about, "command": _command(), **_versions()})
            yield folder
    except Timeout:
        raise BadInput(
            f"{folder}: another process is at work in this run; wait for it or choose another --out"
        ) from None


def _same(folder: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name, value in expected.items():
        if found.get(name) != value:
            raise BadInput(
                f"{folder / 'run.json'}: this folder holds another run: its {name} is {found.get(name)!r}, "
                f"{value!r} expected; choose another --out"
            )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, of the shape that files of that name have, if there is one.

    Raises:
        BadInput: the file is missing, is not a file, cannot be read, is not a JSON object, has a number that is not
            finite, or is not of its shape.
    """
    try:
        content = parse_json(path.read_bytes())
        json.dumps(content, allow_nan=False)  # or it could not be written again
    except OSError as error:
        raise BadInput(f"{path}: expected a JSON file that can be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: no JSON ({error})") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: a JSON object is expected, found {kind_of(content)}")
    check_file(path, content)
    return content


def read_run(folder: Path) -> dict[str, Any]:
    """run.json of a run, whose `identity` is an object, and whose fields have the types that we write.

    Raises:
        BadInput: there is none, or it is another tool's or damaged; the message names the field.
    """
    path = folder / "run.json"
    run = read_json(path)
    check(str(path), run, RUN)
    benchmark = run["identity"].get("benchmark")
    if isinstance(benchmark, str) and benchmark in IDENTITIES:
        check(f"{path}, field 'identity'", run["identity"], IDENTITIES[benchmark])
    return run


def read_scores(folder: Path) -> dict[str, Any]:
    """scores.json of a run, whose fields have the types that we write.

    Raises:
        BadInput: there is none, or it is another tool's or damaged; the message names the field.
    """
    path = folder / "scores.json"
    if not path.is_file():
        raise BadInput(f"{folder} has no scores.json; is it a run's folder, and did the run end?")
    scores = read_json(path)
    benchmark = read_run(folder)["identity"].get("benchmark") if (folder / "run.json").exists() else None
    if isinstance(benchmark, str) and benchmark in SCORES:
        check(str(path), scores, SCORES[benchmark])
    return scores


def write_json(path: Path, content: Any) -> None:
    """Write atomically, indented, with keys in the given order."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all.

    Raises:
        OSError: it could not be written, for example because the disk is full; the error names the file.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", suffix=".scratch", dir=path.parent) as scratch:
            draft = Path(scratch) / path.name
            draft.write_text(text, "utf-8")
            draft.replace(path)


def _command() -> str:
    return shlex.join(["python", *map(without_secrets, sys.argv)])


def _versions() -> dict[str, Any]:
    found = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "platform": platform.platform(), "versions": found}
