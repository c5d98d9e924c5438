"""Write a dataset as a folder that `load_dataset(folder)` reads and the Hub's viewer shows.

`<folder>/README.md` is the card, `<folder>/<config>/<split>-00000-of-00001.parquet` are the rows. Every stored row also
has the canary, by which training data can be filtered; `rows` leaves it out again.

What the card says on responsible use is there for machines, too, in `croissant-rai.json`. Its fields are those of the
Responsible AI vocabulary of Croissant, http://mlcommons.org/croissant/RAI/1.0. The Hub writes the rest of a dataset's
Croissant metadata itself and takes none of these fields from a card, so they come as a file.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.packaged import packaged
from epbench.files.writing import naming, replacing

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

CANARY = "epbench:canary:8c0f2e9d-5b1a-4f67-9d3e-71f4c6a2b05e"
CANARY_COLUMN = "canary"

ROW_GROUP = 1000  # rows; the Hub's viewer reads one row group at a time
BLOCK = 2 * ROW_GROUP  # rows that are in Arrow at once while a file is written
FILES_AT_ONCE = 2
# Bytes of the distinct values of a row group; beyond it, repeated long texts would be repeated.
LARGEST_DICTIONARY = 2**27

CROISSANT_FILE = "croissant-rai.json"
FIELDS: Mapping[str, str] = {
    "dataCollection": "how the data came to be",
    "dataCollectionType": "the same in terms of the vocabulary: a list",
    "dataAnnotationProtocol": "who or what decided what the right answers are",
    "personalSensitiveInformation": "personal or sensitive information in the data",
    "dataBiases": "where the data is lopsided",
    "dataLimitations": "what a score on the data does not say",
    "dataUseCases": "what the data is for, and what it is not for",
    "dataSocialImpact": "what good and what harm its use may do",
    "dataReleaseMaintenancePlan": "how versions are made, and what happens to old ones",
}
"""What a card says on responsible use, in this order: the name of each field, and what it is about."""

_SPDX = {"mit": "https://spdx.org/licenses/MIT", "cc0-1.0": "https://spdx.org/licenses/CC0-1.0"}


@dataclass(frozen=True)
class Config:
    """One split of one config of a dataset, as a table; a config with several splits is several of these in a row."""

    name: str  # the name of the config, as in `load_dataset(path, name)`
    split: str  # `test`, `train` or `validation`
    features: Features  # the types of the columns, without the canary
    # The values by column, all of the same length: sequences, or Arrow arrays, which store repeated texts once.
    columns: Mapping[str, Sequence[Any]]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def stored_features(self) -> Features:
        """The types of the columns as they are stored, with the canary as the last one."""
        from datasets import Features, Value

        return Features({**self.features, CANARY_COLUMN: Value("string")})

    @cached_property
    def n_bytes(self) -> int:
        """The bytes of the stored rows in memory, counted without unfolding repeated texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        n: int = pa.repeat(CANARY, self.n_rows).nbytes
        for field in self.features.arrow_schema:
            column = self.columns[field.name]
            if isinstance(column, pa.DictionaryArray):
                n += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py()
            else:
                n += sum(pa.array(column[at : at + BLOCK], field.type).nbytes for at in range(0, self.n_rows, BLOCK))
        return n

    def tables(self) -> Iterator[pa.Table]:
        """Yield the stored rows in Arrow, a block after the other, since all of them together may not fit into memory.

        There is at least one block, which may be empty. What came as an Arrow dictionary remains one. The schema
        carries the features, so that they survive without the card.
        """
        import pyarrow as pa

        schema = self.stored_features.arrow_schema
        for at, name in enumerate(self.features):
            if isinstance(self.columns[name], pa.DictionaryArray):
                field = schema.field(at)
                schema = schema.set(at, field.with_type(pa.dictionary(pa.int32(), field.type)))
        for start in range(0, self.n_rows or 1, BLOCK):
            canary = {CANARY_COLUMN: pa.repeat(CANARY, min(BLOCK, self.n_rows - start))}
            # The values have no name here: when they are in Arrow, nothing else holds what was computed for them.
            yield pa.Table.from_pydict(
                {name: self.columns[name][start : start + BLOCK] for name in self.features} | canary, schema=schema
            )

    @property
    def table(self) -> pa.Table:
        """All stored rows in Arrow at once, with repeated texts written out, built anew on each call."""
        import pyarrow as pa

        return pa.concat_tables(self.tables()).cast(self.stored_features.arrow_schema)


class Column(Sequence[Any]):
    """A column that is computed from rows when it is read, and is stored nowhere."""

    def __init__(self, rows: Sequence[Any], of: Callable[[Any], Any]) -> None:
        """Take the rows, and what gives the value of each."""
        self._rows, self._of = rows, of

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        rows = self._rows[at]
        return list(map(self._of, rows)) if isinstance(at, slice) else self._of(rows)


def columns_of(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Turn rows, each a tuple of values in the order of the names, into columns by name."""
    return {name: Column(rows, itemgetter(at)) for at, name in enumerate(names)}


@dataclass(frozen=True)
class Card:
    """The card of a dataset."""

    text: str  # README.md, with its YAML header
    header: Mapping[str, Any]  # the fields of that header
    responsible_use: Mapping[str, str | Sequence[str]]  # what it says of each of `FIELDS`; empty for nothing

    def reworded(self, change: Callable[[str], str]) -> Card:
        """Return the card with its text as `change` gives it, such as with commands in place of scripts."""
        return replace(self, text=change(self.text))

    def files(self, name: str) -> dict[str, str]:
        """Return the texts of the card's files by their names, for a dataset with this name."""
        if not self.responsible_use:
            return {"README.md": self.text}
        content = read_json(packaged("epbench.hub", "croissant.json")) | {
            "name": name,
            "description": self.header["pretty_name"],
            "license": _SPDX.get(self.header["license"], self.header["license"]),
            "url": f"https://huggingface.co/datasets/epbench/{name}",
            "version": self.header["version"],
            "inLanguage": "en",
            **{f"rai:{field}": value for field, value in self.responsible_use.items()},
        }
        return {CROISSANT_FILE: json.dumps(content, indent=2, ensure_ascii=False) + "\n", "README.md": self.text}


def write_dataset(
    folder: Path, configs: Sequence[Config], card: Card | str, more: Mapping[str, str] | None = None
) -> None:
    """Write all configs, the default first, the card, and what the card says on responsible use as a file for machines.

    The folder appears completely or not at all, and replaces an older dataset; BadInput if it is something else. `more`
    has the texts of further files. An OSError names the file that could not be written.
    """
    refuse_other_folder(folder)
    with replacing(folder) as draft:

        def write(config: Config) -> None:
            file = Path(config.name) / f"{config.split}-00000-of-00001.parquet"
            with naming(folder / file):
                (draft / file).parent.mkdir(exist_ok=True)
                write_tables(config.tables(), draft / file)

        # pyarrow packs the rows of one file while we make those of another. The last config often has the whole text as one
        # row, which takes the most memory, so it begins.
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            list(pool.map(write, [*configs[-1:], *configs[:-1]]))
        files = {"README.md": card} if isinstance(card, str) else card.files(folder.name)
        for name, text in {**(more or {}), **files}.items():
            with naming(folder / name):
                (draft / name).write_text(text, "utf-8")


def write_tables(tables: Iterable[pa.Table], path: Path) -> None:
    """Write a Parquet file in the form that all our datasets have, from blocks of its rows.

    With the page index, the Hub's viewer reads single pages. Pages end where the content says so, so that the Hub stores
    only the pages that differ from those of an earlier version. All blocks but the last have a multiple of `ROW_GROUP`
    rows. A column that is an Arrow dictionary is written as one, and read as its values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    blocks = iter(tables)
    first = next(blocks)
    plain = first.schema
    for at, field in enumerate(plain):
        if pa.types.is_dictionary(field.type):
            plain = plain.set(at, field.with_type(field.type.value_type))
    with pq.ParquetWriter(
        path,
        first.schema,
        compression="zstd",
        write_page_index=True,
        write_statistics=first.num_rows > 1,  # of a whole book in one row, they would be its text twice more
        use_content_defined_chunking=True,
        dictionary_pagesize_limit=LARGEST_DICTIONARY,
        store_schema=False,  # ours is that of the rows written out, so that they are read as such
    ) as writer:
        for table in chain([first], blocks):
            for at in range(0, table.num_rows or 1, ROW_GROUP):
                writer.write_table(_own_dictionaries(table[at : at + ROW_GROUP]))
        stored = b64encode(plain.serialize().to_pybytes())
        writer.add_key_value_metadata({**(plain.metadata or {}), b"ARROW:schema": stored})
    pa.default_memory_pool().release_unused()


def _own_dictionaries(rows: pa.Table) -> pa.Table:
    """Leave only the texts of these rows in their dictionaries, which are written as they are, once per row group."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type) and rows.num_rows:
            column = rows.column(at).combine_chunks()
            used = pc.unique(column.indices)
            compacted = pa.DictionaryArray.from_arrays(pc.index_in(column.indices, used), column.dictionary.take(used))
            rows = rows.set_column(at, field, compacted)
    return rows


def refuse_other_folder(folder: Path) -> None:
    """Refuse to replace a folder that is not a dataset; call it before any costly work."""
    if folder.exists() and not (folder / "README.md").is_file():
        raise BadInput(f"{folder} exists and is not a dataset folder (it has no README.md); choose another place")


def parquet_files(folder: Path) -> dict[str, list[Path]]:
    """Return the Parquet files of a dataset folder, by the name of their config; BadInput if it is none."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/*.parquet")):
        files.setdefault(path.parent.name, []).append(path)
    if not files or not (folder / "README.md").is_file():
        raise BadInput(f"{folder} is not a dataset folder: expected README.md and <config>/<split>-*.parquet in it")
    return files
