"""The engine as a writer: random weights write no chapter, but every candidate is asked for once and kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

from epbench.progress import no_progress
from epbench.tulving.chapters.chapter import Candidate
from epbench.tulving.chapters.loop import first_tasks
from epbench.tulving.chapters.model_writer import ModelWriter
from epbench.tulving.dataset.build import Recipe, draw_outline
from tests.models.vllm.conftest import ENGINE_ENV, WINDOW

ROOT = Path(__file__).parents[3]


def test_the_engine_writes_candidates_in_rounds(tiny, tmp_path, hf_home):
    command = [
        sys.executable, str(ROOT / "builders/tulving.py"), "--book", "short", "--events", "3",
        "--writer", f"vllm:{tiny}", "--window", str(WINDOW), "--max-tokens", "12", "--out", str(tmp_path),
    ]  # fmt: skip
    env = os.environ | ENGINE_ENV | {"HF_HOME": str(hf_home)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr[-3000:]
    assert "no chapter for any of 3 events in 2 rounds" in done.stderr
    journal = next(tmp_path.glob("written-by-vllm-*/chapters.jsonl"))
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(records) == 6 and len({record["answer"] for record in records}) > 3


def test_a_verdict_follows_the_schema(model, tmp_path):
    """Random weights answer four questions in the form that is asked for, for the engine keeps them to it."""
    outline = draw_outline(Recipe("short", events=4))
    writer = ModelWriter(model, outline.universe, tmp_path, max_tokens=200)
    candidates = [Candidate(task, "(1) Nothing happened.") for task in first_tasks(outline.events, outline.layouts)]
    doubts = writer.doubts(candidates, no_progress)
    assert len(doubts) == 4  # a check without a verdict would have been an error
