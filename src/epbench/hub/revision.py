"""Which version of a dataset on the Hub a run has read."""

from __future__ import annotations

import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}")


def dataset_revision(name: str, config: str) -> str | None:
    """Return the commit that the rows of a dataset belong to, as `datasets` finds them now: on the Hub, or in its cache.

    Args:
        name: A folder, or a name on the Hub.
        config: A config of the dataset.

    Returns:
        40 hexadecimal digits; None if the rows are those of a folder, or were installed in the cache from one.

    Raises:
        BadInput: The dataset or config does not exist.
    """
    if Path(name).is_dir():
        return None
    from datasets import load_dataset_builder

    from epbench.hub.rows import missing

    try:
        found = str(load_dataset_builder(name, config).hash)
    except Exception as error:  # datasets raises a dozen types for a missing dataset or config
        raise missing(name, config, error) from error
    return found if _COMMIT.fullmatch(found) else None
