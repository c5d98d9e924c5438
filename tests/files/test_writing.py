"""A folder that is replaced is there, whole, whenever the process is killed, and a copy of one is as it was."""

import os
import random
import subprocess
import sys

import pytest

from epbench.files import writing as module
from epbench.files.writing import keep_copy, note_of, replacing, restore_copy

_REPLACES = """
import sys
from pathlib import Path
from epbench.files import writing as module
if sys.argv[2] == "moves":
    module._exchange = lambda one, other: False
for number in range(100_000):
    with module.replacing(Path(sys.argv[1])) as draft:
        for name in "ab":
            (draft / name).write_text(str(number))
    print(number, flush=True)
"""


def _replace(folder, text):
    with replacing(folder) as draft:
        for name in "ab":
            (draft / name).write_text(text)


def test_the_new_folder_takes_the_place_of_the_old_one(tmp_path):
    for text in ("one", "two"):
        _replace(tmp_path / "deep/set", text)
        assert [(tmp_path / "deep/set" / name).read_text() for name in "ab"] == [text, text]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["set"]


def test_an_error_leaves_the_old_folder(tmp_path):
    _replace(tmp_path / "set", "one")
    with pytest.raises(RuntimeError), replacing(tmp_path / "set") as draft:
        (draft / "a").write_text("two")
        raise RuntimeError
    assert (tmp_path / "set/a").read_text() == "one" and [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exchanges", "moves"])
def test_a_kill_leaves_one_whole_folder_or_one_that_the_next_start_finds(tmp_path, how, monkeypatch):
    folder, chance = tmp_path / "set", random.Random(how)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    if how == "exchanges" and not module._exchange(tmp_path / "one", tmp_path / "other"):
        how = "moves"  # this file system cannot exchange
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", _REPLACES, folder, how], stdout=subprocess.PIPE) as process:
            for _ in range(chance.randrange(1, 20)):
                process.stdout.readline()
            process.kill()
        if how == "exchanges":
            assert (folder / "a").read_text() == (folder / "b").read_text()
        module._clean_up(folder)
        assert (folder / "a").read_text() == (folder / "b").read_text()
    assert [path.name for path in tmp_path.glob(".set*")] == []


def test_what_a_process_at_work_has_made_stays(tmp_path):
    with replacing(tmp_path / "set") as draft:
        module._clean_up(tmp_path / "set")
        assert draft.is_dir()


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
