import re
import subprocess
import sys
from pathlib import Path

import pytest

import epbench
from epbench import BadInput, metric_path

ROOT = Path(__file__).parents[1]


def test_public_names_are_sorted_and_there():
    assert epbench.__all__ == sorted(epbench.__all__)
    assert all(hasattr(epbench, name) for name in epbench.__all__)


def test_import_is_light():
    """It takes no more than a few modules of Python's own, whatever the machine makes of that in seconds."""
    code = "import sys; before = {*sys.modules}; import epbench; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = done.stdout.split()
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"epbench"}, done.stderr
    assert len(imported) < 80


def test_unknown_metric_is_refused_with_the_names():
    with pytest.raises(BadInput, match="episodic_f1, episodic_kendall_tau"):
        metric_path("f1")


def test_every_script_has_help_with_examples():
    for script in [*ROOT.glob("builders/*.py"), *ROOT.glob("eval_scripts/*.py")]:
        shown = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, cwd=ROOT)
        assert shown.returncode == 0, shown.stderr
        assert re.search(rf"python \w+/{script.name} ", shown.stdout), script


def test_library_never_imports_scripts_and_benchmarks_stay_apart():
    """The arrows of the house: see CONTRIBUTING.md."""
    parts = ("tulving", "booksort", "memfail")
    for path in (ROOT / "src/epbench").rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"^\s*(?:from|import) (builders|eval_scripts|finetune)\b", text, re.MULTILINE), path
        part = path.relative_to(ROOT / "src/epbench").parts[0]
        known_to = [p for p in parts if re.search(rf"^\s*from epbench\.{p}\b", text, re.MULTILINE)]
        assert known_to in ([], [part]), f"{path} imports {known_to}"
    for path in ROOT.glob("metrics/*/*.py"):
        assert "epbench." not in "".join(re.findall(r"^\s*(?:from|import) .*", path.read_text("utf-8"), re.MULTILINE))
