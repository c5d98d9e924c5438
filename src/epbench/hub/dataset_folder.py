"""Write a dataset as a folder that `load_dataset(folder)` reads and the Hub's viewer shows.

`<folder>/README.md` is the card, `<folder>/<config>/<split>-00000-of-00001.parquet` are the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.replacing import replacing
from epbench.files.writing import naming

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

ROW_GROUP = 1000  # the viewer reads single row groups


@dataclass(frozen=True)
class Config:
    """One split of one config of a dataset, as a table. A config of several splits is several of these, one after another.

    Attributes:
        name: as in `load_dataset(path, name)`.
        split: `test`, `train` or `validation`.
        features: types of the columns.
        columns: values by column, all of one length: sequences, or Arrow arrays, which spare repeated texts.
    """

    name: str
    split: str
    features: Features
    columns: Mapping[str, Sequence[Any]]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def n_bytes(self) -> int:
        """Bytes of the rows in memory, counted without unfolding repeated texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        n = 0
        for field in self.features.arrow_schema:
            column = self.columns[field.name]
            if isinstance(column, pa.DictionaryArray):
                n += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py()
            else:
                n += pa.array(column, field.type).nbytes
        return n

    @property
    def table(self) -> pa.Table:
        """The rows in Arrow, made anew each time, since all configs at once may be more than the memory holds.

        Its schema carries the features, so that they survive without the card.
        """
        import pyarrow as pa

        schema = self.features.arrow_schema
        return pa.Table.from_pydict({name: self.columns[name] for name in schema.names}, schema=schema)


def columns_of(rows: Iterable[tuple[Any, ...]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Rows of tuples as columns."""
    values = list(zip(*rows, strict=True))
    return dict(zip(names, values or [()] * len(names), strict=True))


def write_dataset(folder: Path, configs: Sequence[Config], card: str, more: Mapping[str, str] | None = None) -> None:
    """Write all configs and the card; the folder appears whole or not at all, and replaces one of that name.

    Args:
        folder: `DIR/<name>`; its parents are made.
        configs: the first is the default; no two of the same name and split.
        card: text of README.md, YAML header included.
        more: texts of other files beside README.md, by name.

    Raises:
        BadInput: the folder exists and is no dataset of this layout.
        OSError: a file could not be written, for example because the disk is full; the error names the file.
    """
    refuse_other_folder(folder)
    with replacing(folder) as draft:
        for config in configs:
            file = Path(config.name) / f"{config.split}-00000-of-00001.parquet"
            table = config.table
            with naming(folder / file):
                (draft / file).parent.mkdir(exist_ok=True)
                write_table(table, draft / file)
        for name, text in {**(more or {}), "README.md": card}.items():
            with naming(folder / name):
                (draft / name).write_text(text, "utf-8")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file as all our datasets have them."""
    import pyarrow.parquet as pq

    pq.write_table(table, path, row_group_size=ROW_GROUP, compression="zstd")


def refuse_other_folder(folder: Path) -> None:
    """Raise BadInput where a folder is there that is no dataset, before anything costly is done to replace it."""
    if folder.exists() and not (folder / "README.md").is_file():
        raise BadInput(f"{folder} exists and is no dataset folder (it has no README.md); choose another --out")


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
