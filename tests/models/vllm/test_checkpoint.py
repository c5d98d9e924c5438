"""The checkpoints of fine-tuning, asked through the engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

from tests.models.vllm.conftest import ENGINE_ENV

ROOT = Path(__file__).parents[3]
TRAINER = ROOT / ".venv/bin/python"


@pytest.mark.skipif(not TRAINER.is_file(), reason="training needs the environment of `make test`")
def test_every_epoch_leaves_a_model_that_the_engine_loads(tmp_path, hf_home):
    out = tmp_path / "run"
    env = os.environ | ENGINE_ENV | {"HF_HOME": str(hf_home)}
    trained = subprocess.run(
        [TRAINER, ROOT / "finetune/sort_lm.py", "--config", ROOT / "finetune/configs/cpu.yaml", "--num_train_epochs", "2",
         "--limit", "16", "--n_instructions", "8", "--out", out],
        env=env, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr[-3000:]
    accuracy = {}
    for backend in ("hf", "vllm"):
        done = subprocess.run(
            [sys.executable, ROOT / "eval_scripts/booksort.py", "--dataset", tmp_path / "toy-sort/3-books/booksort", "--memory", "none",
             "--model", f"{backend}:{out / 'checkpoints/epoch-2'}", "--limit", "16", "--out", tmp_path / backend],
            env=env, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        scores = json.loads((tmp_path / backend / "scores.json").read_text())
        assert (scores["n_questions"], scores["n_failed"]) == (16, 0)
        accuracy[backend] = scores["accuracy"]
    measured = json.loads((out / "measures/epoch-2/sort/scores.json").read_text())
    assert accuracy["hf"] == measured["accuracy"]
    assert accuracy["vllm"] == pytest.approx(accuracy["hf"], abs=0.13)  # bfloat16 and another order of sums
