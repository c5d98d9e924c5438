"""A model of 1.8 billion weights from the package index: what it answers, and how much memory that takes."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from epbench.models.packages import PACKAGES, n_installed

ROOT = Path(__file__).parents[3]
QWEN = PACKAGES["qwen2.5-coder-1.5b"]
WEIGHTS = 2 * 1_777_088_000  # bytes in bfloat16
pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly,
    pytest.mark.skipif(
        n_installed(QWEN) < QWEN.parts, reason="the packages of qwen2.5-coder-1.5b are not installed (epbench models)"
    ),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_a_question_takes_the_weights_and_little_more(start, cache, small_sort, tmp_path):
    """The first start joins the parts and converts them; the second finds the checkpoint."""
    done = subprocess.run(
        [
            sys.executable, "eval_scripts/booksort.py", "--dataset", small_sort, "--memory", "in-context", "--limit", "1",
            "--model", "hf:qwen2.5-coder-1.5b", "--dtype", "bfloat16", "--out", tmp_path / "run",
        ],
        cwd=ROOT, env=os.environ | {"EPBENCH_CACHE": str(cache)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run/scores.json").read_text())["label_mass"] > 0.9
    assert ("converting it" in done.stderr) == (start == "cold")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024  # the largest of all children so far
    assert peak < WEIGHTS + 1.5e9, f"{peak / 1e9:.2f} GB"


@pytest.fixture(scope="module")
def small_sort(tmp_path_factory):
    out = tmp_path_factory.mktemp("sort")
    words = "--template-books 1 --excerpt-words 250 --segment-words 20 --excerpts 2 --out".split()
    subprocess.run(
        [sys.executable, "builders/booksort.py", *words, str(out)], cwd=ROOT, check=True, capture_output=True
    )
    return out / "booksort"
