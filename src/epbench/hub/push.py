"""Publish on the Hub: write the folder of a run, plan what a folder would change there, and upload it as one commit and a tag.

A push can be repeated at any time. Large files that have arrived before are not sent again, and without a difference there
is no commit. The commit names its parent, so that what somebody else has committed meanwhile is not overwritten.

A finished run becomes a dataset: its questions are the rows, and beside them stands all that `epbench verify` needs. So
the repository is a source for the scores of a model's page, and anybody can compute every number again from it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from epbench.errors import BadInput, RunFailed
from epbench.files.json_files import read_json
from epbench.files.secrets import without_secrets
from epbench.files.text import shown
from epbench.hub.card import default_config, filled, header_of, licence_of
from epbench.hub.dataset_folder import parquet_files
from epbench.metric_folders import metric_path

Kind = Literal["dataset", "space"]
State = Literal["new", "changed", "deleted", "unchanged"]

ROWS = "questions.parquet"  # the rows of a run
_NEEDED = ("run.json", "scores.json", "checksums.json", "table.md", "report.html", ROWS)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")


@dataclass(frozen=True)
class There:
    """A file that is already published."""

    size: int  # its size in bytes
    hash: str  # of a large file the SHA-256 of its content, in hexadecimal digits; of another its git object id
    large: bool  # whether it is a large file, which git only points to


@dataclass(frozen=True)
class Difference:
    """What becomes of one file."""

    path: str  # its path in the folder, with slashes
    state: State  # `new`, `changed`, `deleted` or `unchanged`
    size: int  # its size in bytes: of a deleted file as it was, of others as it will be


def is_changed(found: Sequence[Difference]) -> bool:
    """Whether publishing changes anything."""
    return any(difference.state != "unchanged" for difference in found)


@dataclass(frozen=True)
class Push:
    """A folder beside the repository that it goes to, as it is now."""

    folder: Path
    repo: str  # the name of the repository, such as `epbench/short`
    kind: Kind  # `dataset` or `space`
    tag: str | None  # the tag that the content gets; None for none
    head: str | None  # the newest commit; None if the repository does not exist
    files: Sequence[Difference]  # what becomes of each file
    tagged: str | None  # the commit that already has the tag, or None
    tagged_files: Sequence[Difference]  # what would become of each file if the repository were as the tag has it
    there: dict[str, There] = field(repr=False)  # what the repository holds, by path

    @property
    def changes(self) -> bool:
        """Whether there is anything to commit."""
        return is_changed(self.files)

    @property
    def moves_tag(self) -> bool:
        """Whether the tag is on other content, so that it would have to move."""
        return self.tagged is not None and is_changed(self.tagged_files)

    @property
    def address(self) -> str:
        """The address of the repository."""
        from huggingface_hub import constants

        return f"{constants.ENDPOINT}/{self.kind}s/{self.repo}"


def dataset_push(folder: Path, namespace: str) -> Push:
    """Compare a dataset folder with the dataset `<namespace>/<folder's name>` on the Hub; nothing is changed.

    The tag is `v` and the `version` in the header of its README.md. The credentials are those of `hf auth login`, or of
    HF_TOKEN in the environment. BadInput if its rows must not be passed on, RunFailed if the Hub does not answer.
    """
    check_may_be_passed_on(folder)
    version = header_of(folder).get("version")
    if version is not None and not _VERSION.fullmatch(str(version)):
        raise BadInput(f"{folder / 'README.md'}, field 'version': expected one such as 0.1.0, found {shown(version)}")
    return _compared(folder, f"{namespace}/{folder.name}", "dataset", None if version is None else f"v{version}")


def metric_push(name: str, namespace: str) -> Push:
    """Compare a metric folder with the Space `<namespace>/<name>`, from which `evaluate.load` loads it.

    The tag is that of the package. It does not begin with `v`, as `evaluate.load` takes a tag of its own version first.
    """
    from epbench import __version__

    return _compared(metric_path(name), f"{namespace}/{name}", "space", f"epbench-{__version__}")


def run_push(folder: Path, namespace: str) -> Push:
    """Compare what `write_run_folder` made of a run with the dataset of its name on the Hub; it gets no tag."""
    return _compared(folder, f"{namespace}/{folder.name}", "dataset", None)


def check_may_be_passed_on(folder: Path) -> None:
    """Refuse rows that belong to others: their card names no licence."""
    parquet_files(folder)
    licence_of(folder, "these rows", "without a licence they are for your own use, in the local cache")


def _compared(folder: Path, repo: str, kind: Kind, tag: str | None) -> Push:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    files, api, head, tagged = _files(folder, kind), HfApi(), None, None
    there: dict[str, There] = {}
    with _one_line_error(repo):
        try:
            head = api.repo_info(repo, repo_type=kind).sha
        except RepositoryNotFoundError:
            pass
        else:
            there = _listed(repo, kind, str(head))
            tags = api.list_repo_refs(repo, repo_type=kind).tags
            tagged = next((ref.target_commit for ref in tags if ref.name == tag), None)
        then = _listed(repo, kind, tagged) if tagged not in (None, head) else there

    changes, tagged_changes = (_differences(files, known, kind) for known in (there, then))
    return Push(folder, repo, kind, tag, head, changes, tagged, tagged_changes, there)


def _compared_again(planned: Push) -> Push:
    return _compared(planned.folder, planned.repo, planned.kind, planned.tag)


def _differences(files: Mapping[str, Path], there: Mapping[str, There], kind: Kind) -> list[Difference]:
    """What becomes of each file; those come last which publishing deletes, the Parquet files that a dataset no longer has."""
    compared = [Difference(path, _state(file, there.get(path)), file.stat().st_size) for path, file in files.items()]
    gone = sorted(path for path in there.keys() - files.keys() if "/" in path and path.endswith(".parquet"))
    return compared + [Difference(path, "deleted", there[path].size) for path in gone if kind == "dataset"]


def _state(file: Path, there: There | None) -> State:
    if there is None:
        return "new"
    head = b"blob %d\0" % (size := file.stat().st_size)
    with file.open("rb") as content:
        kind = "sha256" if there.large else lambda: hashlib.sha1(head, usedforsecurity=False)
        same = size == there.size and hashlib.file_digest(content, kind).hexdigest() == there.hash
    return "unchanged" if same else "changed"


def _files(folder: Path, kind: Kind) -> dict[str, Path]:
    """The files of a folder, those of the default config first."""
    first = ROWS if is_run(folder) else f"{default_config(folder)}/" if kind == "dataset" else ""
    visible: dict[str, Path] = {}
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise BadInput(
                f"{path}: expected a file inside {folder}, found a link to {path.resolve()}; replace it by a copy"
            )
        relative = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in relative.parts):
            visible[relative.as_posix()] = path
    return {name: visible[name] for name in sorted(visible, key=lambda name: (not name.startswith(first), name))}


def _listed(repo: str, kind: Kind, revision: str) -> dict[str, There]:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    entries = HfApi().list_repo_tree(repo, recursive=True, revision=revision, repo_type=kind)
    return {
        entry.path: There(entry.size, entry.lfs.sha256 if entry.lfs else entry.blob_id, entry.lfs is not None)
        for entry in entries
        if isinstance(entry, RepoFile)
    }


@contextmanager
def _one_line_error(repo: str) -> Iterator[None]:
    """Turn what the Hub's client raises into one line without keys and signed addresses, and keep its log quiet."""
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # its warnings quote signed addresses, and what it repeats needs no warning
    try:
        yield
    except (BadInput, RunFailed):
        raise
    except Exception as error:  # errors of the Hub's client, of its HTTP library or of the system
        raise RunFailed(
            f"{repo}: the Hub failed: {without_secrets(_reasons(error))}; log in with `hf auth login`, or give the same "
            "command again: what has arrived is not sent again"
        ) from None


def _reasons(error: BaseException) -> str:
    """The error and what caused it, as the client says only of its own errors why they happened."""
    message = str(error) or type(error).__name__
    return f"{message} ({_reasons(error.__cause__)})" if error.__cause__ else message


_ATTEMPTS = 3  # commits that are tried if somebody else commits at the same time
_CONFLICTS = (409, 412)  # 412: the parent of the commit is no longer the newest


def push(planned: Push, *, private: bool = False) -> Push:
    """Make the repository what the folder is, set or move the tag (`moves_tag`), and return what has been committed.

    RunFailed if the Hub refuses the upload or cannot be reached, or somebody else changes the same files.
    """
    from huggingface_hub import HfApi

    with _one_line_error(planned.repo):
        if planned.head is None:
            sdk = "static" if planned.kind == "space" else None
            HfApi().create_repo(planned.repo, repo_type=planned.kind, private=private, exist_ok=True, space_sdk=sdk)
            planned = _compared_again(planned)
        done = _commit(planned)
        _set_tag(_compared_again(done))
    return done


def _commit(planned: Push) -> Push:
    """Commit the changes, again if somebody else has committed other files in the meantime."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    for _ in range(_ATTEMPTS):
        if not planned.changes:
            return planned
        changed = [(file.path, file.state) for file in planned.files if file.state != "unchanged"]
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationDelete(path) if state == "deleted" else CommitOperationAdd(path, planned.folder / path)
            for path, state in changed
        ]
        try:
            HfApi().create_commit(
                planned.repo,
                operations,
                commit_message=f"Publish {planned.repo}" + (f" {planned.tag}" if planned.tag else ""),
                repo_type=planned.kind,
                parent_commit=planned.head,
            )
        except HfHubHTTPError as error:
            if error.response.status_code not in _CONFLICTS:
                raise
            planned = _after_conflict(planned)
        else:
            return planned
    raise RunFailed(f"{planned.repo}: somebody else keeps committing to it; give the same command again later")


def _after_conflict(planned: Push) -> Push:
    now = _compared_again(planned)
    changed = [file.path for file in now.files if file.state != "unchanged"]
    if conflicts := [path for path in changed if now.there.get(path) != planned.there.get(path)]:
        raise RunFailed(
            f"{now.repo}: somebody else has changed {', '.join(conflicts)} during the upload; look at their commit "
            f"{str(now.head)[:7]}, then give the same command again to replace it"
        )
    return now


def _set_tag(now: Push) -> None:
    """Tag the newest commit, unless the tag is already on the same content."""
    from huggingface_hub import HfApi

    if now.tag is None or (now.tagged is not None and not now.moves_tag):
        return
    if now.tagged is not None:
        HfApi().delete_tag(now.repo, tag=now.tag, repo_type=now.kind)
    HfApi().create_tag(now.repo, tag=now.tag, revision=now.head, repo_type=now.kind)


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, and not a dataset."""
    return (folder / "run.json").is_file()


def run_name(folder: Path) -> str:
    """The name of a run's repository: what was measured, and a hash of its files; BadInput if the run has not ended."""
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
    dataset, dataset_folder = str(run.get("dataset", "")), Path(str(run.get("dataset_folder", "")))
    license = "other"  # the dataset, whose texts the questions have, is not at hand
    if (dataset_folder / "README.md").is_file():
        license = licence_of(dataset_folder, "its questions", "a run on these rows is for your own use")
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
