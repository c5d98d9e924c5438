"""Writing files and folders that appear whole or not at all, even if the process is killed.

Errors name the file; by itself, a full disk does not. A folder is replaced by a new one, or its copy brought up to date, in
one step.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from epbench.files.secrets import without_keys

_AT_CWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_SUFFIX = ".scratch"


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

    Other files in `folder` stay. After an error it is as it was before, and is removed if it was not there. OSError if the
    folder cannot be written, for example because the disk is full; the error names it.
    """
    existed = folder.exists()
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(prefix=".new-", suffix=_SUFFIX, dir=folder) as scratch:
                yield Path(scratch)
                for file in sorted(Path(scratch).iterdir()):
                    file.replace(folder / file.name)
        except BaseException:
            if not existed:
                with suppress(OSError):  # not empty
                    folder.rmdir()
            raise


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all, with `***` for the secrets that this process knows; errors name it."""
    with naming(path), filling(path.parent) as draft:
        (draft / path.name).write_text(without_keys(text, markup=True), "utf-8")


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a new, empty folder; if the block ends without an error, it replaces what was at `folder`.

    Old and new are exchanged in one step if the system can do that (Linux, macOS). Elsewhere the old folder is moved
    aside first; if the process is killed at that moment, the next call puts it back. What killed processes have left
    next to the folder is removed, and missing parents are created.
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
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    except ValueError:
        return False
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False if the system or the file system cannot."""
    if sys.platform not in ("linux", "darwin"):
        return False
    import ctypes

    libc, one, other = ctypes.CDLL(None), os.fsencode(first), os.fsencode(second)  # the C library of this process
    if sys.platform == "darwin":
        return bool(libc.renamex_np(one, other, _EXCHANGE) == 0)
    return hasattr(libc, "renameat2") and bool(libc.renameat2(_AT_CWD, one, _AT_CWD, other, _EXCHANGE) == 0)


def keep_copy(folder: Path, kept: Path, note: str) -> None:
    """Make `kept` a copy of the present content of a folder.

    A file that has the size and the time of its earlier copy becomes a hard link to that copy. Copies are never changed. Nobody
    may write in the folder meanwhile. The note is kept beside the copy, for `note_of`.
    """

    def copy(source: str, target: str) -> None:
        before, now = kept / "content" / Path(source).relative_to(folder), Path(source).stat()
        if not stat.S_ISREG(now.st_mode):
            return  # sockets and pipes are not content
        then = before.stat() if before.is_file() else None
        if then and (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns):
            os.link(before, target)
        else:
            shutil.copy2(source, target)

    with replacing(kept) as draft:
        (draft / "note").write_text(note, "utf-8")
        shutil.copytree(folder, draft / "content", symlinks=True, copy_function=copy)


def note_of(kept: Path) -> str | None:
    """Return the note of a copy; None if there is no copy."""
    path = kept / "note"
    return path.read_text("utf-8") if path.is_file() else None


def restore_copy(kept: Path, folder: Path) -> None:
    """Give a folder the content of a copy again; the copy stays as it is."""
    with replacing(folder) as draft:
        draft.rmdir()
        shutil.copytree(kept / "content", draft, symlinks=True)


def bytes_in(folder: Path, but: str) -> int:
    """Return the size of all files in a folder and below, but those of one name."""
    files = (path for path in folder.rglob("*") if path.name != but and not path.is_symlink() and path.is_file())
    return sum(path.stat().st_size for path in files)
