"""Write a dataset as a folder that `load_dataset(folder)` reads and the Hub's viewer shows.

`<folder>/README.md` is the card, `<folder>/<config>/<split>-00000-of-00001.parquet` are the rows.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

ROW_GROUP = 1000  # the viewer reads single row groups


@dataclass(frozen=True)
class Config:
    """One config of a dataset: a table of one split.

    Attributes:
        name: as in `load_dataset(path, name)`.
        split: `test`, `train` or `validation`.
        features: types of the columns.
        columns: values by column, all of one length.
    """

    name: str
    split: str
    features: Features
    columns: Mapping[str, Sequence[Any]]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def table(self) -> pa.Table:
        """The rows in Arrow; its schema carries the features, so that they survive without the card."""
        import pyarrow as pa

        schema = self.features.arrow_schema
        return pa.Table.from_pydict({name: self.columns[name] for name in schema.names}, schema=schema)


def columns_of(rows: Iterable[tuple[Any, ...]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Rows of tuples as columns."""
    values = list(zip(*rows, strict=True))
    return dict(zip(names, values or [()] * len(names), strict=True))


def write_dataset(folder: Path, configs: Sequence[Config], card: str) -> None:
    """Write all configs and the card; the folder appears whole or not at all, and replaces one of that name.

    Args:
        folder: `DIR/<name>`; its parents are made.
        configs: the first is the default.
        card: text of README.md, YAML header included.

    Raises:
        BadInput: the folder exists and is no dataset of this layout.
    """
    import pyarrow.parquet as pq

    if folder.exists() and not (folder / "README.md").is_file():
        raise BadInput(f"{folder} exists and is no dataset folder (it has no README.md); choose another --out")
    with _appearing(folder) as draft:
        for config in configs:
            path = draft / config.name / f"{config.split}-00000-of-00001.parquet"
            path.parent.mkdir()
            pq.write_table(config.table, path, row_group_size=ROW_GROUP, compression="zstd")
        (draft / "README.md").write_text(card, "utf-8")


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A scratch folder beside the wanted one, moved into its place at the end; nothing half-written remains."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        draft = scratch / "new"
        draft.mkdir()
        yield draft
        if folder.exists():
            folder.replace(scratch / "old")
        draft.replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def parquet_files(folder: Path) -> dict[str, list[Path]]:
    """The Parquet files of every config of a dataset folder, by the config's name.

    Raises:
        BadInput: there is none.
    """
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/*.parquet")):
        files.setdefault(path.parent.name, []).append(path)
    if not files or not (folder / "README.md").is_file():
        raise BadInput(f"{folder} is no dataset folder: <config>/<split>-*.parquet and README.md are expected in it")
    return files
