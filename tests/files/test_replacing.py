"""A folder that is replaced is there, whole, whenever the process is killed."""

import random
import subprocess
import sys

import pytest

from epbench.files import writing as module
from epbench.files.writing import replacing

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
    if how == "exchanges" and not module._exchange(*_two_folders(tmp_path)):
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


def _two_folders(tmp_path):
    folders = tmp_path / "one", tmp_path / "other"
    for folder in folders:
        folder.mkdir()
    return folders


def test_what_a_process_at_work_has_made_stays(tmp_path):
    with replacing(tmp_path / "set") as draft:
        module._clean_up(tmp_path / "set")
        assert draft.is_dir()
