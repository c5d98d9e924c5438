"""The command `epbench`: the scripts by other names, with the same exit status, from any folder."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import epbench
from epbench import cli
from epbench.command import commands
from tests.scripts.in_process import ROOT, called, refused


def run(*words, cwd=ROOT, code=None):
    start = ["-c", code] if code else ["-m", "epbench"]
    environment = os.environ | {"COLUMNS": "1000", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, *start, *map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True
    )


def test_the_help_lists_every_command_with_a_line(tmp_path):
    done = run("--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for name in commands():
        assert re.search(rf"^  {' '.join(name)}  +[A-Z].*[.?]$", done.stdout, re.M), name
    assert "\n    epbench eval tulving --dataset" in done.stdout
    assert run("build", "--help").stdout.count("\n  build ") == 4
    assert run("path", "-h").stdout.startswith("usage: epbench path FILE")


def test_the_help_imports_nothing_heavy():
    code = "import sys; before = {*sys.modules}\nfrom epbench import cli\ntry: cli.main(['--help'])\n"
    code += "finally: print('\\n', *{n.partition('.')[0] for n in {*sys.modules} - before})"
    imported = run(code=code).stdout.splitlines()[-1].split()
    assert {*imported} - sys.stdlib_module_names == {"epbench"}


@pytest.mark.parametrize("name", sorted(commands()), ids=" ".join)
def test_the_help_of_a_command_speaks_of_commands(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    done = called(cli.main, "epbench", *name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: epbench {' '.join(name)} [-h]")
    assert re.search(rf"^    epbench {' '.join(name)} ", done.stdout, re.M)
    assert not re.search(r"python \S|(?:builders|eval_scripts)/\w+\.py", done.stdout)


def test_the_version():
    assert run("--version").stdout == f"epbench {epbench.__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected a command; epbench --help lists them"),
        (["evaluate"], "unknown command 'evaluate'; expected one of build, compare, doctor, eval, "),
        (["eval"], "epbench eval: expected one of booksort, memfail, tulving, got nothing"),
        (["build", "books"], "epbench build: expected one of booksort, memfail, tulving, universe, got 'books'"),
        (["path"], "epbench path: expected the name of one file"),
        (["path", "finetune/sort.py"], "'finetune/sort.py': found no such script"),
        (["merge", "runs/none", "--out", "x"], "runs/none: no run.json in it"),
        (["eval", "tulving", "--no-such-flag"], "see --help"),
    ],
)
def test_what_is_wrong_is_one_line(words, message):
    refused(called(cli.main, "epbench", *words), message)


def test_a_path_is_printed_for_other_programs(tmp_path):
    done = run("path", "finetune/sort_lm.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{ROOT / 'finetune/sort_lm.py'}\n")


@pytest.mark.slow
def test_a_run_notes_the_command_that_repeats_it(short_book, tmp_path, monkeypatch):
    out = tmp_path / "run"
    (tmp_path / "a.yaml").write_text(f"dataset: {short_book}\nmemory: none\nlimit: 3\n")
    monkeypatch.chdir(tmp_path)
    first = called(cli.main, "epbench", "eval", "tulving", "--config", "a.yaml", "--limit", 4, "--out", out)
    assert first.returncode == 0, first.stderr
    (tmp_path / "a.yaml").unlink()
    noted = shlex.split(json.loads((out / "run.json").read_text())["command"])
    assert noted[:3] == ["epbench", "eval", "tulving"]
    again = called(cli.main, *noted)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert len((out / "answers.jsonl").read_text().splitlines()) == 4


@pytest.mark.slow
def test_a_card_names_the_command_that_makes_the_dataset_again(short_book, tmp_path):
    done = called(cli.main, "epbench", "build", "tulving", "--book", "short", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "short/README.md").read_text("utf-8")
    assert "epbench build tulving --book short" in card and "builders/" not in card
    other = (short_book / "README.md").read_text("utf-8").replace("python builders/tulving.py", "epbench build tulving")
    assert other.replace("eval_scripts/tulving.py", "epbench eval tulving") == card


PROBE = """
import json, multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from epbench import command
from epbench.errors import BadInput

@dataclass(frozen=True)
class Number:
    value: int

def squared(number):
    return Number(number.value ** 2), os.getpid()

def main(argv=None):
    word = sys.argv[1]
    if word == "pool":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(squared, [Number(2), Number(3)]))
        assert os.getpid() not in [pid for _, pid in found]
        print(json.dumps([[number.value for number, _ in found], command.command_words()]))
    elif word != "ok":
        raise {"bad": BadInput, "bug": ZeroDivisionError}[word]("x")

if __name__ == "__main__":
    command.run(main)
"""
START = """
import sys
from pathlib import Path
from epbench.cli import run_script
if __name__ == "__main__":
    run_script(Path(sys.argv[1]), ["epbench", "probe"], sys.argv[2:])
"""


@pytest.fixture
def start(tmp_path):
    """Start a script as the console script of the package does, which has a file of its own as its main module."""
    (tmp_path / "script.py").write_text(PROBE)
    (tmp_path / "epbench").write_text(START)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}

    def started(word):
        words = [sys.executable, tmp_path / "epbench", tmp_path / "script.py", word]
        return subprocess.run(words, env=environment, capture_output=True, text=True, cwd=tmp_path)

    return started


def test_functions_of_a_script_can_be_sent_to_processes_that_are_spawned(start):
    done = start("pool")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[4, 9], ["epbench", "probe", "pool"]]


@pytest.mark.parametrize(("word", "status"), [("ok", 0), ("bad", 2), ("bug", 1)])
def test_the_exit_status_is_that_of_the_script(start, word, status):
    done = start(word)
    assert done.returncode == status
    assert ("Traceback" in done.stderr) == (word == "bug")


def test_a_script_leaves_no_trace_in_this_process(tmp_path, capsys):
    (tmp_path / "script.py").write_text(PROBE)
    before, main_module = sys.argv, sys.modules["__main__"]
    cli.run_script(tmp_path / "script.py", ["epbench", "probe"], ["ok"])
    assert sys.argv is before and sys.modules["__main__"] is main_module
