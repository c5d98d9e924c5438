"""The rows of a dataset as they are stored: in a folder, on the Hub or in its local cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from epbench.errors import BadInput

Row = dict[str, Any]

MAX_ROWS = 1_000_000  # of a file; our largest table has 35,000
MAX_BYTES = 2**30  # of the unfolded rows of a file that is read as a list; our largest has some 50 MB
_BATCH = 16  # rows; a row can hold a text of many megabytes, which is stored once for all rows that have it


def stored_rows(name: str, config: str, split: str, builder: str) -> Iterable[Row]:
    """Rows one by one: all at once, each with its own copy of a long text, may be more than a small machine holds.

    Args:
        name: a folder, or a name on the Hub.
        config: of the dataset.
        split: of the config.
        builder: the script that makes such a dataset, for the error: `tulving`.

    Raises:
        BadInput: there is no such dataset or config, or a file cannot be read.
    """
    if Path(name).is_dir():
        return _rows_of_folder(Path(name), config, split, builder)
    from datasets import disable_progress_bars, load_dataset
    from datasets.utils.logging import set_verbosity_error

    disable_progress_bars()
    set_verbosity_error()  # that a cached copy is used without a network is what offline users asked for
    try:
        rows: Iterable[Row] = load_dataset(name, config, split=split)
    except Exception as error:  # datasets raises a dozen types for "not there" and "no such config"
        raise _missing(name, config, builder, error) from error
    return rows


def _rows_of_folder(folder: Path, config: str, split: str, builder: str, max_bytes: int | None = None) -> Iterator[Row]:
    """Rows of the files themselves: `datasets` takes folders for the same that have one name and one card."""
    import pyarrow.parquet as pq

    paths = sorted((folder / config).glob(f"{split}-*.parquet"))
    if not paths:
        raise BadInput(
            f"{folder}: {config}/{split}-*.parquet is expected in a dataset of builders/{builder}.py and is not there"
        )
    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except parquet_errors() as error:
            raise _unreadable(str(path), error) from None
        yield from bounded_rows(file, str(path), max_rows=MAX_ROWS, max_bytes=max_bytes)


def bounded_rows(
    file: Any, where: str, *, columns: list[str] | None = None, max_rows: int, max_bytes: int | None = None
) -> Iterator[Row]:
    """The rows of a `pyarrow.parquet.ParquetFile` one by one, as far as they keep within limits.

    Args:
        file: of which equal values may be stored once, so that a small file can have very many rows.
        where: how errors name the file.
        columns: to be read; all unless given.
        max_rows: that the file may have.
        max_bytes: that the rows may take when they are unfolded; any number unless given.

    Raises:
        BadInput: the file cannot be read, or has more rows or bytes.
    """
    if (n := file.metadata.num_rows) > max_rows:
        raise BadInput(f"{where}: {n:,} rows found, at most {max_rows:,} expected")
    size = 0
    try:
        for batch in file.iter_batches(_BATCH, columns=columns):
            size += sum(_unfolded(column).nbytes for column in batch.columns)
            if max_bytes is not None and size > max_bytes:
                raise _TooLarge
            yield from batch.to_pylist()
    except _TooLarge:
        raise BadInput(f"{where}: its rows unfold to more than {max_bytes:,} bytes, at most so many expected") from None
    except parquet_errors() as error:
        raise _unreadable(where, error) from None


def all_rows(name: str, config: str, split: str, builder: str) -> list[Row]:
    """The same as a list, for tables that are small.

    Raises:
        BadInput: as `stored_rows`, and where the rows of a folder take more than `MAX_BYTES`.
    """
    if Path(name).is_dir():
        return list(_rows_of_folder(Path(name), config, split, builder, MAX_BYTES))
    return list(stored_rows(name, config, split, builder))


def parquet_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises for a damaged or foreign file: its own errors, the system's, and those of Python for values
    that it cannot hold, such as a date in the year 100,000 or a text that is not UTF-8.
    """
    import pyarrow as pa

    return (pa.ArrowException, OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)


def _unfolded(column: Any) -> Any:
    """A column in which equal values stand once for each row."""
    import pyarrow as pa

    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


class _TooLarge(Exception):
    """The rows of a file take more memory than they may."""


def _unreadable(where: str, error: BaseException) -> BadInput:
    return BadInput(f"{where}: no Parquet that can be read ({' '.join(str(error).split())})")


def hub_configs(name: str, builder: str) -> list[str]:
    """Names of the configs on the Hub; of those in the local cache where the Hub cannot be reached.

    Raises:
        BadInput: there is no such dataset.
    """
    from datasets import config, get_dataset_config_names

    cached = Path(config.HF_DATASETS_CACHE) / name.replace("/", "___")
    try:
        found: list[str] = get_dataset_config_names(name)
    except Exception as error:  # datasets raises a dozen types for "not there"
        raise _missing(name, "default", builder, error) from error
    if len(found) < 2 and cached.is_dir():  # of a cached set it names the default alone
        found = [path.name for path in cached.iterdir()]
    return found


def _missing(name: str, config: str, builder: str, error: Exception) -> BadInput:
    return BadInput(
        f"dataset {name!r} (config {config!r}) is neither a folder nor on the Hub or in the local cache: {error}; "
        f"make it with builders/{builder}.py and install it with builders/publish.py --to cache"
    )
