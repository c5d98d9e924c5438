"""The evaluation through the engine, as a user runs it: every memory, and a kill in between."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

from tests.models.vllm.conftest import ENGINE_ENV

ROOT = Path(__file__).parents[3]


def command(short_book, ending, memory, out, limit):
    return [
        sys.executable, str(ROOT / "eval_scripts/tulving.py"), "--dataset", str(short_book), "--memory", memory,
        "--model", f"vllm:{ending}", "--max-tokens", "8", "--limit", str(limit), "--out", str(out),
    ]  # fmt: skip


@pytest.mark.parametrize("memory", ["in-context", pytest.param("rag-chapter", marks=pytest.mark.nightly)])
def test_the_engine_answers_by_every_memory(short_book, ending, tmp_path, hf_home, memory):
    env = os.environ | ENGINE_ENV | {"HF_HOME": str(hf_home)}
    done = subprocess.run(
        command(short_book, ending, memory, tmp_path / "r", 6), env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    scores, usage = (json.loads((tmp_path / "r" / name).read_text()) for name in ("scores.json", "usage.json"))
    assert (scores["n_questions"], scores["n_failed"], usage["requests"]) == (6, 0, 6)
    assert usage["generated"] > 0
    if memory == "in-context":
        assert usage["hit_rate"] > 0.75 and "saved by sharing" in done.stdout
    assert "share of prompt tokens saved" in (tmp_path / "r/report.html").read_text()
