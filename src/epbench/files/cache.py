"""The user's cache: what is expensive to make or to fetch, and is used again by later runs.

`$EPBENCH_CACHE` is its root, or `~/.cache/epbench` where the variable is not set. Everything in it can be deleted.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "EPBENCH_CACHE"
_AT_THE_ROOT = ("vectors",)
"""These lie in a chosen root itself: vectors were kept there before anything else was, and are still found there."""


def cache_folder(name: str = "") -> Path:
    """A folder of the cache; it is not created.

    Args:
        name: of the folder, such as `gutenberg`, `passports` or `vectors`; the root if empty.
    """
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return Path.home() / ".cache" / "epbench" / name
    root = Path(chosen).expanduser()
    return root if name in _AT_THE_ROOT else root / name
