"""A copy of a folder that is brought up to date: complete at any moment, and files that did not change are not copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from epbench.files.replacing import replacing


def keep_copy(folder: Path, kept: Path, note: str) -> None:
    """Make `kept` a copy of the present content of a folder.

    A file that has the size and the time of its earlier copy becomes a hard link to that copy. Copies are never changed.

    Args:
        folder: what is copied. Nobody may write in it meanwhile.
        kept: the copy; an earlier one is replaced in one step.
        note: a text that is kept beside the copy, for `note_of`.
    """
    with replacing(kept) as draft:
        (draft / "note").write_text(note, "utf-8")
        _copy(folder, draft / "content", kept / "content")


def note_of(kept: Path) -> str | None:
    """Return the note of a copy; None if there is no copy."""
    path = kept / "note"
    return path.read_text("utf-8") if path.is_file() else None


def restore_copy(kept: Path, folder: Path) -> None:
    """Give a folder the content of a copy again; the copy stays as it is."""
    with replacing(folder) as draft:
        draft.rmdir()
        shutil.copytree(kept / "content", draft, symlinks=True)


def _copy(folder: Path, into: Path, earlier: Path) -> None:
    into.mkdir()
    for entry in os.scandir(folder):
        source, target, before = Path(entry.path), into / entry.name, earlier / entry.name
        if entry.is_dir(follow_symlinks=False):
            _copy(source, target, before)
        elif entry.is_symlink():
            target.symlink_to(source.readlink())
        elif entry.is_file(follow_symlinks=False):  # sockets and pipes are not content
            if _is_unchanged(source, before):
                os.link(before, target)
            else:
                shutil.copy2(source, target)


def _is_unchanged(source: Path, before: Path) -> bool:
    try:
        now, then = source.stat(), before.stat()
    except FileNotFoundError:
        return False
    return (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns)


def bytes_in(folder: Path, but: str) -> int:
    """Return the size of all files in a folder and below, but those of one name."""
    files = (path for path in folder.rglob("*") if path.name != but and not path.is_symlink() and path.is_file())
    return sum(path.stat().st_size for path in files)
