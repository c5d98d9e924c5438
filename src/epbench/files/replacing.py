"""Replace a folder by a new one, of which nobody ever reads a part."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".scratch"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a new, empty folder; if the block ends without an error, it replaces what was at `folder`.

    There are two steps: the old folder moves aside, and the new one moves in. Between them there is none, for as long as a
    rename takes. If the process dies at that moment, the old one lies in `.NAME-….scratch/old` beside it, and `recover`
    or the next call puts it back.

    Args:
        folder: The folder to replace or to create; missing parents are created.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    recover(folder)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=_SUFFIX, dir=folder.parent))
    draft, old = scratch / "new", scratch / "old"
    try:
        with FileLock(scratch / "lock"):
            draft.mkdir()
            yield draft
            while draft.exists():
                shutil.rmtree(old, ignore_errors=True)
                with suppress(FileNotFoundError):
                    folder.replace(old)
                try:
                    draft.replace(folder)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process was faster
                        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def recover(folder: Path) -> None:
    """Remove what killed processes have left beside a folder; if one had moved the old folder aside, put it back."""
    from filelock import FileLock, Timeout

    for lock in folder.parent.glob(f".{folder.name}-*{_SUFFIX}/lock"):
        with suppress(Timeout, OSError), FileLock(lock, timeout=0):  # a process at work holds the lock
            if not folder.exists() and (lock.parent / "old").is_dir():
                (lock.parent / "old").replace(folder)
            shutil.rmtree(lock.parent, ignore_errors=True)
