import os

import pytest

from epbench.files.writing import keep_copy, note_of, restore_copy


def content(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "live/deep/er").mkdir(parents=True)
    (tmp_path / "live/a").write_text("one")
    (tmp_path / "live/deep/er/b").write_text("two")
    return tmp_path / "live"


def test_a_copy_is_restored_as_it_was(folder, tmp_path):
    kept = tmp_path / "kept"
    assert note_of(kept) is None
    keep_copy(folder, kept, "first")
    before = content(folder)
    (folder / "a").write_text("changed")
    (folder / "new").write_text("x")
    (folder / "deep/er/b").unlink()
    restore_copy(kept, folder)
    assert content(folder) == before and note_of(kept) == "first"
    (folder / "a").write_text("changed again")  # what is restored is not the copy itself
    restore_copy(kept, folder)
    assert content(folder) == before


def test_only_files_that_changed_are_copied_again(folder, tmp_path):
    kept = tmp_path / "kept"
    keep_copy(folder, kept, "1")
    number = (kept / "content/deep/er/b").stat().st_ino
    (folder / "a").write_text("other")
    keep_copy(folder, kept, "2")
    assert (kept / "content/deep/er/b").stat().st_ino == number and note_of(kept) == "2"
    assert content(kept / "content") == content(folder)
    (folder / "deep/er/b").write_text("333")
    assert (kept / "content/deep/er/b").read_text() == "two"


def test_links_are_kept_and_pipes_are_left_out(folder, tmp_path):
    (folder / "link").symlink_to("a")
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    keep_copy(folder, tmp_path / "kept", "")
    restore_copy(tmp_path / "kept", folder)
    assert (folder / "link").readlink().name == "a" and (folder / "gone").is_symlink()
    assert not (folder / "pipe").exists()
