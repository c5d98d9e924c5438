"""The rows of a dataset as they are stored: in a folder, on the Hub or in its local cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from epbench.errors import BadInput

Row = dict[str, Any]


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


def _rows_of_folder(folder: Path, config: str, split: str, builder: str) -> Iterator[Row]:
    """Rows of the files themselves: `datasets` takes folders for the same that have one name and one card."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = sorted((folder / config).glob(f"{split}-*.parquet"))
    if not paths:
        raise BadInput(
            f"{folder}: {config}/{split}-*.parquet is expected in a dataset of builders/{builder}.py and is not there"
        )
    for path in paths:
        try:
            for batch in pq.ParquetFile(path).iter_batches(100):
                yield from batch.to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{path}: no Parquet that can be read ({' '.join(str(error).split())})") from None


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
