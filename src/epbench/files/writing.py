"""Errors of writing that name their file; by itself, a write to a full disk fails without saying which file it was."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
