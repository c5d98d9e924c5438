"""Install datasets in the cache of `datasets`, and metrics in the module cache of `evaluate`.

Afterwards `load_dataset("epbench/short")` and `evaluate.load("episodic_f1")` work from any folder, without a network: these
libraries use their caches if the Hub cannot be reached or does not know the name.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.text import one_line
from epbench.files.writing import naming, replacing
from epbench.hub.card import default_config
from epbench.hub.dataset_folder import parquet_files
from epbench.hub.push import Difference, State, is_changed
from epbench.metric_folders import metric_path

_FAR_FUTURE = 4_102_444_800  # 2100-01-01
_VERSION = "0.0.0"


@dataclass(frozen=True)
class Content:
    """The rows of a dataset."""

    rows: int | None  # their number in all configs and splits; None if the cache does not say
    hashes: Mapping[str, str]  # by config, a hash of its files

    def __str__(self) -> str:
        digest = hashlib.sha256(json.dumps(sorted(self.hashes.items())).encode()).hexdigest()[:12]
        return f"{'unknown' if self.rows is None else f'{self.rows:,}'} rows ({digest})"


@dataclass(frozen=True)
class Installation:
    """A dataset folder beside what is installed under its name."""

    folder: Path
    name: str  # the name that it gets, such as `epbench/short`
    root: Path  # its folder in the cache
    given: Content  # the content of the folder
    there: Content | None  # the content of the cache, or None
    files: Sequence[Difference]  # what becomes of each config, with the size of its files in bytes

    @property
    def changes(self) -> bool:
        """Whether there is anything to install."""
        return is_changed(self.files)

    @property
    def replaces(self) -> bool:
        """Whether other rows have the name now."""
        return self.there is not None and self.changes


def planned_install(folder: Path, namespace: str = "epbench") -> Installation:
    """Compare a dataset folder with what the cache of `datasets` holds as `<namespace>/<folder's name>`."""
    import datasets
    import pyarrow.parquet as pq

    files = parquet_files(folder)
    default_config(folder)
    rows = sum(pq.read_metadata(path).num_rows for paths in files.values() for path in paths)
    content = Content(rows, {config: _content_hash(config, paths) for config, paths in files.items()})
    root = Path(datasets.config.HF_DATASETS_CACHE) / f"{namespace}___{folder.name}"
    there = _installed(root)
    old = there.hashes if there else {}
    compared = []
    for config, paths in files.items():
        same = old.get(config) == content.hashes[config]
        state: State = "new" if config not in old else "unchanged" if same else "changed"
        compared.append(Difference(config, state, _size_of(paths)))
    compared += [Difference(gone, "deleted", _size_of((root / gone).rglob("*"))) for gone in old.keys() - files.keys()]
    return Installation(folder, f"{namespace}/{folder.name}", root, content, there, compared)


def _size_of(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())


def install_dataset(folder: Path, namespace: str = "epbench") -> None:
    """Install a dataset folder in the cache of `datasets` as `<namespace>/<folder's name>`.

    If the same content is already installed, nothing is done. The content that is replaced stays beside the new one,
    for programs that are loading it now; `load_dataset` no longer finds it, and the next replacement removes it.
    BadInput if the rows cannot be read. After an OSError, such as that of a full disk, the cache still holds what it
    held before.
    """
    import datasets
    from datasets.packaged_modules.parquet.parquet import Parquet

    planned = planned_install(folder, namespace)
    if not planned.changes:
        return
    default = default_config(folder)
    datasets.disable_progress_bars()
    with replacing(planned.root) as prepared:
        for config, paths in parquet_files(folder).items():
            builder = Parquet(
                cache_dir=str(prepared.parent / "built"),
                dataset_name=folder.name,
                config_name=config,
                hash=planned.given.hashes[config],
                data_files={path.name.split("-")[0]: str(path) for path in paths},  # by split
            )
            with _naming(planned.root, paths[0]):
                builder.download_and_prepare()
            shutil.move(builder.cache_dir, prepared / config / _VERSION / str(builder.hash))
        _keep_readable(planned.root, prepared, default)
        # Without the Hub, `datasets` takes the newest config if no name is given, and refuses if several configs share
        # a version and a hash. So every config has its own hash, and the default one has the latest date.
        newest = prepared / default / _VERSION / planned.given.hashes[default]
        os.utime(newest, (_FAR_FUTURE, _FAR_FUTURE))


@contextmanager
def _naming(root: Path, file: Path) -> Iterator[None]:
    """Give the reason for an error of `datasets`, which itself says only that there was one."""
    from datasets.exceptions import DatasetGenerationError

    try:
        with naming(root):
            yield
    except DatasetGenerationError as error:
        cause: BaseException = error
        while deeper := cause.__cause__ or cause.__context__:
            cause = deeper
            if isinstance(cause, OSError) and cause.errno is not None:
                raise OSError(cause.errno, cause.strerror, str(root)) from None
        raise BadInput(f"{file}: its rows cannot be read ({one_line(str(cause))})") from None


def _keep_readable(root: Path, prepared: Path, default: str) -> None:
    """Link the files that are installed now into the new folder; whoever has found them there can go on reading them."""
    for config, there in _newest(root).items():
        link = prepared / config / _VERSION / there.name
        if (prepared / config).is_dir() and there.parent.name == _VERSION and not link.exists():
            shutil.copytree(there, link, copy_function=_link)
            # Older than the new rows of this config. A program that compares dates just now still finds the default config.
            date = _FAR_FUTURE - 1 if config == default else 0
            os.utime(link, (date, date))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _newest(root: Path) -> dict[str, Path]:
    """By config, the folder that `datasets` takes: the one with the latest date."""
    folders = [info.parent for info in root.glob("*/*/*/dataset_info.json")]
    return {at.parts[-3]: at for at in sorted(folders, key=lambda folder: (folder.stat().st_mtime, folder.name))}


def _installed(root: Path) -> Content | None:
    """What the cache holds under a name: installed from a folder, or loaded from the Hub."""
    folders = _newest(root)
    if not folders:
        return None
    try:
        infos = [folder / "dataset_info.json" for folder in folders.values()]
        splits = [json.loads(info.read_text("utf-8")).get("splits") or {} for info in infos]
        rows = sum(int(split["num_examples"]) for of_config in splits for split in of_config.values())
    except (ValueError, LookupError, TypeError, AttributeError):  # another version of `datasets` wrote it
        rows = None
    return Content(rows, {config: folder.name for config, folder in sorted(folders.items())})


def _content_hash(config: str, paths: list[Path]) -> str:
    digest = hashlib.sha256(config.encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def metric_is_installed(name: str, namespace: str) -> bool:
    """Whether `evaluate` has this metric in its cache, with the code of this version."""
    return all(
        len(list(package.glob("*/__init__.py"))) == 1
        and filecmp.cmpfiles(metric_path(name), package / _version(name), _code(name), shallow=False)[0] == _code(name)
        for package in _packages(name, namespace)
    )


def install_metric(name: str, namespace: str) -> None:
    """Install a metric in the module cache of `evaluate`, as `<name>` and as `<namespace>/<name>`."""
    version = _version(name)
    for package in _packages(name, namespace):
        with replacing(package) as draft:
            (draft / version).mkdir()
            for file in _code(name):
                shutil.copyfile(metric_path(name) / file, draft / version / file)
            (draft / version / f"{name}.json").write_text("{}")
            for folder in (draft, draft / version):
                (folder / "__init__.py").touch()


def _code(name: str) -> list[str]:
    return [f"{name}.py", "formulas.py"]


def _version(name: str) -> str:
    return hashlib.sha256(b"".join((metric_path(name) / file).read_bytes() for file in _code(name))).hexdigest()


def _packages(name: str, namespace: str) -> list[Path]:
    """Where `evaluate` looks for the bare name and for the name with its owner."""
    import datasets  # which has the same setting, and is here also where `evaluate` is not

    modules = Path(datasets.config.HF_MODULES_CACHE) / "evaluate_modules/metrics"
    return [modules / f"{owner}--{name}" for owner in ("evaluate-metric", namespace)]
