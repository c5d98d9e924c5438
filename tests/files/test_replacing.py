"""Nobody reads half a folder, whenever the process that replaces it is killed."""

import random
import subprocess
import sys

import pytest

from epbench.files.replacing import recover, replacing

_REPLACES = """
import sys
from pathlib import Path
from epbench.files.replacing import replacing
for number in range(100_000):
    with replacing(Path(sys.argv[1])) as draft:
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
def test_a_kill_leaves_a_whole_folder_or_none_and_the_next_start_finds_it(tmp_path):
    folder, chance = tmp_path / "set", random.Random("kills")
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", _REPLACES, folder], stdout=subprocess.PIPE) as process:
            for _ in range(chance.randrange(1, 20)):
                process.stdout.readline()
            process.kill()
        if folder.exists():
            assert (folder / "a").read_text() == (folder / "b").read_text()
        recover(folder)
        assert (folder / "a").read_text() == (folder / "b").read_text()
    assert [path.name for path in tmp_path.glob(".set*/lock")] == []


def test_a_folder_that_a_killed_process_had_moved_aside_is_put_back(tmp_path):
    for with_new in (False, True):
        old = tmp_path / f".set-{with_new}.scratch" / "old"
        old.mkdir(parents=True)
        (old / "a").write_text("old")
        (old.parent / "lock").touch()
        if with_new:
            _replace(tmp_path / "set", "new")
        recover(tmp_path / "set")
        assert (tmp_path / "set/a").read_text() == ("new" if with_new else "old")
        assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_two_processes_may_replace_it_at_the_same_time(tmp_path):
    folder = tmp_path / "set"
    with replacing(folder) as one:
        (one / "a").write_text("one")
        _replace(folder, "two")
        assert (folder / "a").read_text() == "two"
    assert (folder / "a").read_text() == "one" and [path.name for path in tmp_path.iterdir()] == ["set"]


def test_what_a_process_at_work_has_made_stays(tmp_path):
    with replacing(tmp_path / "set") as draft:
        recover(tmp_path / "set")
        assert draft.is_dir()
