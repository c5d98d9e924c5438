"""Writing files that appear whole or not at all, with errors that name the file: by itself, a full disk does not."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from epbench.files.secrets import without_keys


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name of a file, as the user knows it, to an error of the system that occurs while it is written."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(
            number, " ".join((error.strerror or str(error) or os.strerror(number)).split()), str(path)
        ) from error


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Yield an empty folder whose files move into `folder` when the block ends without an error.

    Other files in `folder` stay. After an error it is as it was before, and is removed if it was not there.

    Raises:
        OSError: The folder cannot be written, for example because the disk is full; the error names it.
    """
    existed = folder.exists()
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(prefix=".new-", suffix=".scratch", dir=folder) as scratch:
                yield Path(scratch)
                for file in sorted(Path(scratch).iterdir()):
                    file.replace(folder / file.name)
        except BaseException:
            if not existed:
                with suppress(OSError):  # not empty
                    folder.rmdir()
            raise


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all. The secrets that this process knows become `***`.

    An `OSError`, for example because the disk is full, names the file.
    """
    with naming(path), filling(path.parent) as draft:
        (draft / path.name).write_text(without_keys(text, markup=True), "utf-8")
