"""Replace a folder by a new one so that it is there, whole, at any moment, also when the process is killed."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_CWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_SUFFIX = ".scratch"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new, empty folder; when the block ends without an error it stands at `folder`, and what was there is gone.

    Old and new are exchanged in one step where the system can do that (Linux, macOS). Elsewhere the old folder is moved
    aside first; if the process is killed just then, the next call puts it back. What killed processes have left beside
    the folder is removed.

    Args:
        folder: its parents are made.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    _clean_up(folder)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-{os.getpid()}-", suffix=_SUFFIX, dir=folder.parent))
    try:
        with FileLock(scratch / "lock"):
            draft = scratch / "new"
            draft.mkdir()
            yield draft
            if not folder.exists():
                draft.replace(folder)
            elif not _exchange(draft, folder):
                folder.replace(scratch / "old")
                draft.replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _clean_up(folder: Path) -> None:
    """Remove the scratch folders of processes that were killed; if one had moved the old folder aside, put it back."""
    from filelock import FileLock, Timeout

    for scratch in folder.parent.glob(f".{folder.name}-*{_SUFFIX}"):
        if not (scratch / "lock").exists() and _is_alive(scratch.name.removeprefix(f".{folder.name}-").split("-")[0]):
            continue  # it is just being made
        try:
            with FileLock(scratch / "lock", timeout=0):
                if not folder.exists() and (scratch / "old").is_dir():
                    (scratch / "old").replace(folder)
        except (Timeout, OSError):  # a process is at work in it, or it is just being removed
            continue
        shutil.rmtree(scratch, ignore_errors=True)


def _is_alive(process: str) -> bool:
    """Whether there is a process of that number on this machine; yes where that cannot be told."""
    if sys.platform == "win32":  # where signal 0 is none that only asks
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot."""
    libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        result = libc.renameat2(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        result = libc.renamex_np(os.fsencode(one), os.fsencode(other), _EXCHANGE)
    else:
        return False
    return bool(result == 0)
