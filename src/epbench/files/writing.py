"""Errors of writing that name their file: a write to a full disk fails without saying which file it was for."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give a name to an error of the system that comes up while a file is written.

    Args:
        path: of the file, as the user knows it.

    Raises:
        OSError: with the same number and reason, and this path.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(
            number, " ".join((error.strerror or str(error) or os.strerror(number)).split()), str(path)
        ) from error
