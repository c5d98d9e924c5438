"""What a command imports: time that every user waits before anything happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_FOR_RULES = {
    "torch", "transformers", "sentence_transformers", "accelerate", "trl", "vllm", "ray", "openai", "statsmodels",
    "sklearn", "inspect_ai", "lm_eval", "peft", "mem0", "evaluate", "datasets",
}  # fmt: skip
SCRIPTS = "builders/tulving eval_scripts/tulving eval_scripts/booksort eval_scripts/memfail finetune/sort_lm"
CODE = """
import runpy, sys
before = {*sys.modules}
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as done:
    assert not done.code, done
print("imported:", *{*sys.modules} - before)
"""


def imported(*words: str | Path, home: Path) -> set[str]:
    """The modules that a script has imported when it ends."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env = ours | {"HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", CODE, *words], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("imported:")[-1].split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names


@pytest.mark.parametrize("script", [*SCRIPTS.split(), "finetune/tulving_qa"])
def test_help_imports_nothing_of_others(script, tmp_path):
    modules = imported(f"{script}.py", "--help", home=tmp_path)
    assert packages(modules) == {"epbench"} and len(modules) < 150


@pytest.mark.slow
def test_a_run_by_rules_imports_no_model_library(short_book, tmp_path):
    modules = imported(
        "eval_scripts/tulving.py", "--dataset", short_book, "--memory", "none", "--limit", "4", "--out", tmp_path / "run",
        home=tmp_path,
    )  # fmt: skip
    assert "pyarrow" in packages(modules) and not packages(modules) & NOT_FOR_RULES and len(modules) < 2800


@pytest.mark.slow
def test_metrics_are_installed_without_any_model_library(short_book, tmp_path):
    modules = imported("builders/publish.py", short_book, "--metrics", "--to", "cache", home=tmp_path)
    assert packages(modules) & NOT_FOR_RULES <= {"datasets"} and len(modules) < 2400
    assert list((tmp_path / ".cache/huggingface/modules").rglob("episodic_f1.py"))
