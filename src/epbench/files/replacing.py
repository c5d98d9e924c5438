"""Replace a folder by a new one so that a complete one exists at any moment, even if the process is killed."""

from __future__ import annotations

import ctypes
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
    """Yield a new, empty folder; if the block ends without an error, it replaces what was at `folder`.

    Old and new are exchanged in one step if the system can do that (Linux, macOS). Elsewhere the old folder is moved
    aside first; if the process is killed at that moment, the next call puts it back. What killed processes have left
    next to the folder is removed.

    Args:
        folder: The folder to replace or to create; missing parents are created.
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
    """Remove the scratch folders of killed processes; if one had moved the old folder aside, put it back."""
    from filelock import FileLock, Timeout

    for scratch in folder.parent.glob(f".{folder.name}-*{_SUFFIX}"):
        if not (scratch / "lock").exists() and _is_alive(scratch.name.removeprefix(f".{folder.name}-").split("-")[0]):
            continue  # it is just being created
        try:
            with FileLock(scratch / "lock", timeout=0):
                if not folder.exists() and (scratch / "old").is_dir():
                    (scratch / "old").replace(folder)
        except (Timeout, OSError):  # a process is using it, or it is just being removed
            continue
        shutil.rmtree(scratch, ignore_errors=True)


def _is_alive(process: str) -> bool:
    """Whether a process with that number exists on this machine; true if that cannot be found out."""
    if sys.platform == "win32":  # where signal 0 does more than ask
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False if the system or the file system cannot."""
    if sys.platform not in ("linux", "darwin"):
        return False
    libc = ctypes.CDLL(
        None, use_errno=True
    )  # the C library of this process; to look for it would start other processes
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        result = libc.renameat2(_AT_CWD, os.fsencode(first), _AT_CWD, os.fsencode(second), _EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        result = libc.renamex_np(os.fsencode(first), os.fsencode(second), _EXCHANGE)
    else:
        return False
    return bool(result == 0)
