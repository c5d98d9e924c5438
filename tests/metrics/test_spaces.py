"""The Spaces of the metrics: a static page each, whose code runs as it stands and gives what the page says."""

from __future__ import annotations

import ast
import html
import re
import shutil
import subprocess
import sys
import venv

import pytest

from epbench.metric_folders import metric_names, metric_path


def page_of(name: str) -> str:
    return (metric_path(name) / "index.html").read_text("utf-8")


def code_of(name: str, kind: str) -> str:
    found = re.search(rf'<code class="{kind}">(.*?)</code>', page_of(name), re.DOTALL)
    assert found, kind
    return html.unescape(found[1])


@pytest.mark.parametrize("name", metric_names())
def test_the_code_of_the_page_gives_what_it_says(name, monkeypatch):
    # Where `evaluate.load(name)` finds the folder, as it finds the Space on the Hub.
    monkeypatch.chdir(metric_path(name).parent)
    *lines, last = code_of(name, "python").replace('"epbench/', '"').splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    assert eval(last, names) == ast.literal_eval(code_of(name, "result"))


@pytest.mark.parametrize("name", metric_names())
def test_the_page_loads_nothing(name):
    page = page_of(name)
    assert not re.search(r"<script|<link|<img|@import|url\(|\bsrc=", page)
    assert f"<title>{name}</title>" in page


@pytest.mark.parametrize("name", metric_names())
def test_the_requirements_are_what_the_metric_imports(name):
    needed = set()
    code = "\n".join((metric_path(name) / file).read_text("utf-8") for file in (f"{name}.py", "formulas.py"))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            needed |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            needed.add(str(node.module).split(".")[0])
    lines = (metric_path(name) / "requirements.txt").read_text().split()
    assert needed - sys.stdlib_module_names == {re.split(r"[<>=]", line)[0] for line in lines}
    assert code_of(name, "shell") == " ".join(["pip install", *(f'"{line}"' for line in lines)])


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", metric_names())
def test_a_copy_of_the_folder_computes_with_its_requirements_alone(name, tmp_path):
    """As for somebody who follows the page: an environment with the file's requirements, and nothing of ours."""
    space = shutil.copytree(metric_path(name), tmp_path / name)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", space / "requirements.txt"], check=True)
    *lines, last = code_of(name, "python").replace('"epbench/', '"').splitlines()
    env = {"HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    code = "\n".join([*lines, f"print(repr({last}))"])
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == ast.literal_eval(code_of(name, "result"))
