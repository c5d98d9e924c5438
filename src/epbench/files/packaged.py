"""The data files that the package carries: word lists, sentence banks, prompts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def packaged(package: str, name: str = "") -> Path:
    """Return the path of a data file.

    Args:
        package: the package whose folder `data` holds the file, such as `"epbench.tulving"`.
        name: the file's path inside `data`, with `/` between folders; by default the folder itself.
    """
    return Path(str(files(package))) / "data" / name
