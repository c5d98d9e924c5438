"""The rows of a dataset, in a folder, on the Hub or in its local cache: read with a check of their columns, and chosen for a run.

The canary is for those who filter training data. It is left out here, so that no prompt and no fingerprint has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.typed import typed
from epbench.hub.dataset_folder import CANARY_COLUMN

Row = dict[str, Any]

MAX_ROWS = 1_000_000  # in a file; our largest table has 35,000
MAX_BYTES = 2**30  # of the unfolded rows of a file that is read as a list; our largest has about 50 MB
_BATCH = 16  # rows; a row can hold a text of many megabytes, which is stored once for all rows that have it


def checked_rows(name: str, config: str, split: str, kind: type[Struct]) -> Iterator[Row]:
    """Yield the rows of a dataset, in a folder or on the Hub, one by one, each with the columns that it must have.

    All rows at once, each with its own copy of a long text, may need more memory than a small machine has. BadInput if
    there are none, a file cannot be read, a column is missing, or a value has another type.
    """
    yield from check_rows(f"{name}, config {config!r}", stored_rows(name, config, split), kind)


def all_checked_rows(name: str, config: str, split: str, kind: type[Struct]) -> list[Row]:
    """Return the same rows as a list, for tables that are small: up to `MAX_BYTES`."""
    return list(check_rows(f"{name}, config {config!r}", stored_rows(name, config, split, MAX_BYTES), kind))


def check_rows(where: str, rows: Iterable[Row], kind: type[Struct]) -> Iterator[Row]:
    """Yield rows of any source (`where` in messages), each with the columns that it must have. BadInput without rows."""
    number = -1
    for number, row in enumerate(rows):
        typed(f"{where}, row {number}", row, kind)
        yield row
    if number < 0:
        raise BadInput(f"{where}: found no rows")


def stored_rows(name: str, config: str, split: str, max_bytes: int | None = None) -> Iterable[Row]:
    """Return the rows one by one, unchecked; see `checked_rows`. Those of a folder may take `max_bytes`."""
    if Path(name).is_dir():
        return _rows_of_folder(Path(name), config, split, max_bytes)
    from datasets import disable_progress_bars, load_dataset
    from datasets.utils.logging import set_verbosity_error

    disable_progress_bars()
    set_verbosity_error()  # offline users want the cached copy, and need no warning that it is used
    try:
        rows = load_dataset(name, config, split=split)
    except Exception as error:  # datasets raises a dozen types for a missing dataset or config
        raise _missing(name, config, error) from error
    without: Iterable[Row] = rows.remove_columns(CANARY_COLUMN) if CANARY_COLUMN in rows.column_names else rows
    return without


def hub_configs(name: str) -> list[str]:
    """Return the names of a dataset's configs on the Hub, or in the local cache if the Hub cannot be reached."""
    from datasets import config, get_dataset_config_names

    cached = Path(config.HF_DATASETS_CACHE) / name.replace("/", "___")
    try:
        configs: list[str] = get_dataset_config_names(name)
    except Exception as error:  # datasets raises a dozen types for a missing dataset
        raise _missing(name, "default", error) from error
    if len(configs) < 2 and cached.is_dir():  # for a cached dataset, only the default config is named
        configs = [path.name for path in cached.iterdir()]
    return configs


def bounded_rows(
    file: Any, where: str, *, columns: list[str] | None = None, max_rows: int, max_bytes: int | None = None
) -> Iterator[Row]:
    """Yield the rows of a `pyarrow.parquet.ParquetFile` one by one; BadInput if it exceeds a limit or cannot be read.

    It may store equal values once, so a small file can have very many rows; `max_bytes` is of unfolded rows.
    """
    import pyarrow as pa

    if (n := file.metadata.num_rows) > max_rows:
        raise BadInput(f"{where}: expected at most {max_rows:,} rows, found {n:,}")
    size = 0
    try:
        for batch in file.iter_batches(_BATCH, columns=columns):
            for column in batch.columns:  # equal values that are held once count for each row
                size += (column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column).nbytes
            if max_bytes is not None and size > max_bytes:
                raise BadInput(f"{where}: its rows unfold to more than {max_bytes:,} bytes, which is the limit")
            yield from batch.to_pylist()
    except BadInput:
        raise
    except parquet_errors() as error:
        raise _unreadable(where, error) from None


def parquet_errors() -> tuple[type[Exception], ...]:
    """Return what pyarrow raises for a damaged or foreign file.

    Besides its own errors these are the system's, and Python's for values that it cannot hold, such as a date in the year
    100,000 or text that is not UTF-8.
    """
    import pyarrow as pa

    return (pa.ArrowException, OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)


def _rows_of_folder(folder: Path, config: str, split: str, max_bytes: int | None) -> Iterator[Row]:
    """The rows of the files themselves: `datasets` confuses folders that have the same name and card."""
    import pyarrow.parquet as pq

    paths = sorted((folder / config).glob(f"{split}-*.parquet"))
    if not paths:
        raise BadInput(f"{folder}: expected the rows of a dataset in {config}/{split}-*.parquet, found no such file")
    for path in paths:
        try:
            file = pq.ParquetFile(path)
            columns = [name for name in file.schema_arrow.names if name != CANARY_COLUMN]
        except parquet_errors() as error:
            raise _unreadable(str(path), error) from None
        yield from bounded_rows(file, str(path), columns=columns, max_rows=MAX_ROWS, max_bytes=max_bytes)


def _unreadable(where: str, error: BaseException) -> BadInput:
    return BadInput(f"{where}: not a readable Parquet file ({' '.join(str(error).split())})")


def _missing(name: str, config: str, error: Exception) -> BadInput:
    return BadInput(
        f"dataset {name!r} (config {config!r}) is neither a folder nor on the Hub or in the local cache: {error}; "
        f"build it, and name its folder or publish it to the cache"
    )


_COMMIT = re.compile(r"[0-9a-f]{40}")


def dataset_revision(name: str, config: str) -> str | None:
    """Return the commit, 40 hexadecimal digits, of the rows of a dataset as `datasets` finds them: on the Hub or in its cache.

    None if the rows are those of a folder, or were installed in the cache from one. BadInput if there are none.
    """
    if Path(name).is_dir():
        return None
    from datasets import load_dataset_builder

    try:
        revision = str(load_dataset_builder(name, config).hash)
    except Exception as error:  # datasets raises a dozen types for a missing dataset or config
        raise _missing(name, config, error) from error
    return revision if _COMMIT.fullmatch(revision) else None


Item = TypeVar("Item")


def subset(
    items: Sequence[Item], group_of: Callable[[Item], str], limit: int | None = None, shard: str | None = None
) -> list[Item]:
    """Choose the items of a run. The choice depends on the names of the groups alone, so it is the same on any machine.

    A limit, at least 1, takes so many items, group by group in a random order; a larger one takes the same items and
    more. A shard, `i/n`, takes of the groups in this order every n-th, beginning with the i-th; the n shards together
    hold every item within the limit exactly once. A shard never divides a group; a limit may divide the last one.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"limit: expected at least 1, got {limit}")
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(group_of(item), []).append(place)
    order = sorted(groups, key=lambda name: sha256(name.encode()).hexdigest())
    chosen = set([place for name in order for place in groups[name]][:limit])
    if shard is not None:
        number, n = part_of(shard)
        chosen &= {place for name in order[number - 1 :: n] for place in groups[name]}
    return [items[place] for place in sorted(chosen)]


def part_of(shard: str) -> tuple[int, int]:
    """Read `i/n`: the number of a part, from 1, and how many parts there are."""
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if match is None or int(match[1]) > int(match[2]):
        raise BadInput(f"shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got {shard!r}")
    return int(match[1]), int(match[2])
