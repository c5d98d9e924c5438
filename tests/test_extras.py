"""The line that says how to install what is missing: from where this package came."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from epbench.errors import EXTRAS, extra_with, hint_by_origin, install_hint
from tests.scripts.in_process import ROOT, refused


def test_the_table_is_that_of_the_project():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in ("dev", "docs", "evaluate"):
        del declared[extra]  # nothing of the package imports what they install

    def module(requirement):
        return re.match(r"[\w-]+", requirement)[0].replace("-", "_").replace("scikit_learn", "sklearn")

    assert {extra: tuple(map(module, needs)) for extra, needs in declared.items()} == EXTRAS


def test_the_extra_of_a_module():
    assert extra_with("torch.nn.functional") == "models" and extra_with("sklearn") == "finetune"
    assert extra_with("torch", "finetune") == "finetune" and extra_with("openai", "finetune") == "models"
    assert extra_with("lm_eval") == "lm-eval" and extra_with("numpy") is None and extra_with(None) is None


def test_a_checkout_is_installed_from_its_folder():
    assert shlex.split(install_hint("lm-eval")) == ["pip", "install", "-e", f"{ROOT}[lm-eval]"]


@pytest.mark.parametrize("name", ["epbench-0.1.0-py3-none-any.whl", "my wheels/e.whl"])
def test_a_wheel_is_installed_from_its_file_while_it_is_there(tmp_path, name):
    wheel = tmp_path / name
    origin = {"url": wheel.as_uri(), "archive_info": {}}
    gone = "pip install '.[models]' in a checkout of epbench"
    assert hint_by_origin(origin, "models") == gone
    wheel.parent.mkdir(exist_ok=True)
    wheel.touch()
    assert shlex.split(hint_by_origin(origin, "models")) == ["pip", "install", f"{wheel}[models]"]


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "epbench[ray]"),
        ({"url": "https://h/e.whl", "archive_info": {}}, "epbench[ray] @ https://h/e.whl"),
        ({"url": "https://h/e", "vcs_info": {"vcs": "git", "commit_id": "ab1"}}, "epbench[ray] @ git+https://h/e@ab1"),
    ],
)
def test_other_origins(origin, wanted):
    assert shlex.split(hint_by_origin(origin, "ray")) == ["pip", "install", wanted]


@pytest.mark.parametrize(
    ("script", "args", "module", "extra"),
    [
        pytest.param("finetune/sort_lm.py", [], "accelerate", "finetune", marks=pytest.mark.slow),
        ("eval_scripts/tulving.py", ["--model", "hf:x", "--memory", "in-context"], "torch", "models"),
        ("eval_scripts/tulving.py", ["--judge", "minilm", "--memory", "in-context"], "sentence_transformers", "models"),
    ],
)
def test_scripts_without_a_library(short_book, tmp_path, script, args, module, extra):
    """Python takes a module whose place is None for one that is not installed."""
    if script.startswith("eval"):
        args = [*args, "--dataset", str(short_book), "--limit", "2", "--out", str(tmp_path / "run")]
    code = f"import runpy, sys; sys.modules[{module!r}] = None; sys.argv = {[script, *args]!r}; "
    code += f"runpy.run_path({str(ROOT / script)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    refused(done, install_hint(extra))
