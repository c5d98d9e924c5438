"""The data files that the package carries: word lists, sentence banks, prompts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def packaged(package: str, name: str = "") -> Path:
    """Return the path of a data file in the folder `data` of a package, or of that folder."""
    return Path(str(files(package))) / "data" / name
