"""Writing files that appear whole or not at all, with errors that name the file: by itself, a full disk does not."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from epbench.files.secrets import without_keys


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name of a file to an error of the system that occurs while it is written.

    Args:
        path: The path of the file, as the user knows it.

    Raises:
        OSError: The error with the same number and reason, and with this path.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(
            number, " ".join((error.strerror or str(error) or os.strerror(number)).split()), str(path)
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all. The secrets that this process knows become `***`.

    Raises:
        OSError: The file could not be written, for example because the disk is full; the error names it.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", suffix=".scratch", dir=path.parent) as scratch:
            draft = Path(scratch) / path.name
            draft.write_text(without_keys(text, markup=True), "utf-8")
            draft.replace(path)
