"""finetune/sort_lm.py as a user runs it, on what it makes on the spot."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from epbench.journals.journal import read_journal

ROOT = Path(__file__).parents[2]
SMALL = (
    "--config", ROOT / "finetune/configs/cpu.yaml", "--num_train_epochs", 2, "--limit", 8, "--n_instructions", 16,
    "--chunk_words", 400,
)  # fmt: skip


def command(out, *more):
    return [sys.executable, str(ROOT / "finetune/sort_lm.py"), *map(str, SMALL), "--out", str(out), *map(str, more)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two epochs that nobody stops."""
    folder = tmp_path_factory.mktemp("sort-lm")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command(folder / "run"), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder / "run"


def content(folder, name):
    return json.loads((folder / name).read_text())


@pytest.mark.slow
def test_a_run_leaves_everything_that_it_promises(run):
    steps, measures = read_journal(run / "training.jsonl"), read_journal(run / "measures.jsonl")
    assert list(measures) == ["0", "1", "2"] and len(steps) == max(step["step"] for step in steps.values())
    scores = content(run, "scores.json")
    perplexity = [epoch["perplexity"] for epoch in scores["epochs"]]
    for name in ("segments", "books", "instructions", "held_out"):
        assert perplexity[0][name] > perplexity[1][name] > perplexity[2][name]
    assert perplexity[2]["books"] < perplexity[2]["held_out"]
    assert [pair["runs"] for pair in scores["comparisons"]] == [
        ["epoch 0", "epoch 1"], ["epoch 0", "epoch 2"], ["epoch 1", "epoch 2"],
    ]  # fmt: skip
    for epoch in scores["epochs"]:
        assert epoch["sort"]["n"] == epoch["sort_in_context"]["n"] == 8
        assert 0 <= epoch["readout"]["accuracy"] <= 1 and -1 <= epoch["pearson"]["r"] <= 1
    for epoch in (1, 2):
        assert (run / f"checkpoints/epoch-{epoch}/model.safetensors").is_file()
    assert "<svg" in (run / "report.html").read_text() and "McNemar" in (run / "report.html").read_text()
    shown = (run.parent / "stdout").read_text()
    assert "1 (episodic)" in shown and "Perplexity" in shown and "MFU" in shown
    assert content(run, "run.json")["identity"]["instructions"] == "made by rules"


@pytest.mark.slow
def test_the_same_command_again_measures_and_trains_nothing(run, script):
    before = [(run / name).read_bytes() for name in ("training.jsonl", "measures.jsonl", "scores.json")]
    done = script("finetune/sort_lm.py", *SMALL, "--out", run)
    assert done.returncode == 0 and "1 (episodic)" in done.stdout, done.stderr
    assert before == [(run / name).read_bytes() for name in ("training.jsonl", "measures.jsonl", "scores.json")]


@pytest.mark.slow
def test_two_processes_measure_and_train_like_one(run, tmp_path):
    launched = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    done = subprocess.run([*launched, *command(tmp_path / "run")[1:]], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for mine, theirs in zip(
        content(tmp_path / "run", "scores.json")["epochs"], content(run, "scores.json")["epochs"], strict=True
    ):
        assert mine["perplexity"] == pytest.approx(theirs["perplexity"], rel=1e-2)
        assert mine["sort"]["log_ratio"] == pytest.approx(theirs["sort"]["log_ratio"], abs=2e-2)
    assert not list((tmp_path / "run").rglob("answers-*"))


@pytest.mark.slow
def test_a_control_by_lora_is_compared_with_the_books(run, process, tmp_path):
    control, more = tmp_path / "control", ("--control", "instructions", "--lora_r", 4, "--num_train_epochs", 1)
    done = subprocess.run(command(control, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert content(control, "run.json")["identity"]["control"] == "instructions"
    assert content(control, "scores.json")["method"] == "LoRA, rank 4, alpha 32"
    table = (control / "table.md").read_text()
    assert "LoRA, rank 4" in done.stdout and "LoRA, rank 4" in table and "episodic" not in table
    books, other = (content(folder, "scores.json")["epochs"][1]["perplexity"] for folder in (run, control))
    assert books["books"] < other["books"]  # the books were not trained
    done = process("eval_scripts/compare.py", run, control, "--out", tmp_path / "compared")
    assert done.returncode == 0, done.stderr
    assert len(content(tmp_path / "compared", "comparison.json")["pairs"]) == 10
    assert "run, epoch 1" in done.stdout and "control, epoch 1" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--attn_implementation", "fast"], "attn_implementation: expected sdpa or flash_attention_2, got 'fast'"),
        (["--config", "missing.yaml"], "missing.yaml: expected a YAML file that can be read"),
        (["--control", "summaries"], "--control summaries and --summaries DIR go together"),
        (["--control", "instructions", "--instructions", "none"], "--control instructions trains on instructions alone"),
        (["--row_tokens", "100"], "row_tokens: expected at least max_length"),
        (["--dataset", "SET", "--instructions", "none", "--pairs", "e9_s9"], "expected one of the configs e250_s20, got 'e9_s9'"),
        (["--dataset", "SET", "--instructions", "missing.jsonl"], "--instructions FILE, or --instructions none"),
        (["--dataset", "SET", "--instructions", "none", "--chunk_words", "3000"], "expected at most 1,024"),
        (["--held_out", os.devnull], "/dev/null: expected a text, found no words"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(script, once, tmp_path, more, message):
    def make(folder):
        done = script("finetune/sort_lm.py", "--plan", "--out", folder / "run")
        assert done.returncode == 0, done.stderr

    made = once("toy-sort-set", make) / "toy-sort/3-books"
    more = [made / "booksort" if word == "SET" else word for word in more]
    if "--dataset" in more:
        more += ["--config", ROOT / "finetune/configs/cpu.yaml"]
    done = script("finetune/sort_lm.py", "--out", tmp_path / "run", *more)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert message in done.stderr
    assert not (tmp_path / "run").exists()
