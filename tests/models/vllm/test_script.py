"""The evaluation through the engine, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

from tests.models.vllm.conftest import ENGINE_ENV

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("memory", ["in-context", pytest.param("rag-chapter", marks=pytest.mark.nightly)])
def test_the_engine_answers_by_every_memory(short_book, ending, tmp_path, hf_home, memory):
    env = os.environ | ENGINE_ENV | {"HF_HOME": str(hf_home)}
    words = [
        "--dataset",
        short_book,
        "--memory",
        memory,
        "--model",
        f"vllm:{ending}",
        "--max-tokens",
        "8",
        "--limit",
        "6",
    ]
    command = [sys.executable, ROOT / "eval_scripts/tulving.py", *words, "--out", tmp_path / "r"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    scores, usage = (json.loads((tmp_path / "r" / name).read_text()) for name in ("scores.json", "usage.json"))
    assert (scores["n_questions"], scores["n_failed"], usage["requests"]) == (6, 0, 6)
    assert usage["generated"] > 0
    if memory == "in-context":
        assert usage["hit_rate"] > 0.75 and "saved by sharing" in done.stdout
    assert "share of prompt tokens saved" in (tmp_path / "r/report.html").read_text()
