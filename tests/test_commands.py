"""Which commands there are, where their scripts lie, and how texts name them."""

import re
import tomllib

import pytest

from epbench import command
from epbench.command import PACKAGE, carried, commands, translated
from epbench.errors import BadInput
from tests.scripts.in_process import ROOT

DOCUMENTED = {
    ("build", "tulving"), ("build", "booksort"), ("build", "memfail"), ("build", "universe"), ("publish",), ("eval", "tulving"),
    ("eval", "booksort"), ("eval", "memfail"), ("judge-check",), ("compare",), ("tables",), ("report",), ("merge",),
    ("verify",), ("system-check",), ("export",), ("submit",), ("view",), ("profile",), ("people",),
}  # fmt: skip


@pytest.fixture
def by_epbench():
    command.note_command(["epbench", "compare"])
    yield
    command.note_command([])


def test_every_script_is_a_command_and_every_command_a_script():
    found = commands()
    assert {*found} >= DOCUMENTED
    there = {path for folder in ("builders", "eval_scripts") for path in ROOT.glob(f"{folder}/*.py")}
    assert {*found.values()} == there - {ROOT / f"builders/{name}.py" for name in ("cards", "leaderboard")}
    assert found["judge-check",] == ROOT / "eval_scripts/judge_check.py"
    assert found["build", "memfail"] == ROOT / "builders/memfail.py"


def test_the_wheel_carries_the_scripts_to_where_they_are_looked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    carries = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    folders = {path.parent.name for path in commands().values()} | {"finetune"}
    for folder in folders:
        assert carries[folder] == f"epbench/{(command._IN_WHEEL / folder).relative_to(PACKAGE).as_posix()}"
    sources = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {*carries, "src"} <= {*sources}, "a wheel is also built from the source distribution"
    assert project["project"]["scripts"]["epbench"] == "epbench.cli:main"


def test_files_that_come_with_the_package_are_found():
    assert carried("finetune/sort_lm.py") == ROOT / "finetune/sort_lm.py"
    assert carried("finetune/configs/fsdp2.yaml") == ROOT / "finetune/configs/fsdp2.yaml"
    assert carried("tulving/data/prompts.toml") == PACKAGE / "tulving/data/prompts.toml"
    for other in ("finetune/none.py", "finetune", "../pyproject.toml", "/etc/hostname"):
        with pytest.raises(BadInput, match="for training there are finetune/configs/.*, finetune/sort_lm.py"):
            carried(other)


TEXT = "python eval_scripts/judge_check.py --judge x; a folder made by builders/tulving.py; eval_scripts/merge.py joins"


def test_a_script_is_named_as_it_was_started(by_epbench):
    expected = "epbench judge-check --judge x; a folder made by epbench build tulving; epbench merge joins"
    assert translated(TEXT) == expected
    assert translated("launch finetune/sort_lm.py") == 'launch "$(epbench path finetune/sort_lm.py)"'
    for own in ("my/eval_scripts/tulving.py", "./builders/x.py", "file.py:Class", "src/epbench/tulving/data"):
        assert translated(own) == own
    command.note_command([])
    assert translated(TEXT) == TEXT


def test_from_a_wheel_everything_is_named_as_it_lies_there(monkeypatch):
    monkeypatch.setattr(command, "_IN_WHEEL", ROOT)
    assert translated("as in src/epbench/tulving/data") == f"as in {PACKAGE.as_posix()}/tulving/data"
    assert translated("python eval_scripts/verify.py") == "epbench verify"


def test_no_text_names_a_script_by_its_bare_file(by_epbench):
    """Each would stay as it is for whoever started a command."""
    names = "|".join(path.stem for path in commands().values())
    for path in commands().values():
        left = re.search(rf"\b({names})\.py\b", translated(path.read_text("utf-8").split('"""')[1]))
        assert not left, f"{path}: {left}"
