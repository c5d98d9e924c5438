"""The user's cache: what is expensive to make or to fetch, and is used again by later runs.

`$EPBENCH_CACHE` is its root, or `~/.cache/epbench` where the variable is not set. Everything in it can be deleted.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from epbench.errors import BadInput

VARIABLE = "EPBENCH_CACHE"


def cache_folder(name: str = "") -> Path:
    """A folder of the cache, such as `gutenberg`, `passports` or `vectors`, or its root; it is not created."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return Path.home() / ".cache" / "epbench" / name
    root = Path(chosen).expanduser()
    # Vectors were kept in a chosen root before anything else was, and are still found there.
    return root if name == "vectors" else root / name


def refuse_full_disk(folder: Path, needed: int, what: str) -> None:
    """Refuse to fill the disk of the cache with so many bytes of `what`, named in the plural: `BadInput` with both numbers."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BadInput(
            f"{folder}: {what} take {needed / 1e9:,.2f} GB, but {free / 1e9:,.2f} GB are free on this disk; set {VARIABLE} "
            "to a folder on another one"
        )
