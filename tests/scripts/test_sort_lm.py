"""finetune/sort_lm.py as a user runs it, on what it makes on the spot."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

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


def close(mine, theirs):
    """Equal but for the last digits of numbers, which depend on how many questions were answered at one time."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(close(mine[name], theirs[name]) for name in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(close, mine, theirs))
    number = isinstance(mine, float) or isinstance(theirs, float)
    return mine == (pytest.approx(theirs, rel=1e-3, abs=1e-5) if number and theirs is not None else theirs)


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
def test_another_recipe_is_refused_in_the_folder(run, script):
    before = (run / "training.jsonl").read_bytes()
    done = script("finetune/sort_lm.py", *SMALL, "--out", run, "--learning_rate", "1e-4")
    assert done.returncode == 2 and "this folder holds another run: its learning_rate is 0.002" in done.stderr
    assert (run / "training.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_checkpoint_scores_in_the_evaluation_script_what_was_measured(run, script, tmp_path):
    done = script(
        "eval_scripts/booksort.py", "--dataset", run.parent / "toy-sort/3-books/booksort", "--memory", "none", "--limit", 8,
        "--model", f"hf:{run / 'checkpoints/epoch-2'}", "--out", tmp_path / "asked",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "asked", "scores.json") == content(run / "measures/epoch-2/sort", "scores.json")
    mine, theirs = (
        {record["id"]: record["probabilities"] for record in read_journal(folder / "answers.jsonl").values()}
        for folder in (tmp_path / "asked", run / "measures/epoch-2/sort")
    )
    for id_, probabilities in theirs.items():
        assert mine[id_] == pytest.approx(probabilities, rel=1e-4)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_killed_run_goes_on_to_the_same_weights_and_asks_nothing_twice(run, tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command(tmp_path / "run"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    answers = tmp_path / "run/measures/epoch-1/sort/answers.jsonl"
    while process.poll() is None and not (answers.exists() and answers.read_bytes().count(b"\n") >= 2):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(read_journal(tmp_path / "run/measures.jsonl")) == ["0"]
    done = subprocess.run(command(tmp_path / "run"), env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for epoch in (1, 2):
        one, other = (
            load_file(folder / f"checkpoints/epoch-{epoch}/model.safetensors") for folder in (run, tmp_path / "run")
        )
        assert all(one[name].equal(other[name]) for name in one)
    for epoch in (0, 1, 2):
        for kind in ("sort", "sort-in-context"):
            lines = (tmp_path / f"run/measures/epoch-{epoch}/{kind}/answers.jsonl").read_bytes().splitlines()
            assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 8
    mine, theirs = (content(folder, "scores.json") for folder in (tmp_path / "run", run))
    for scores in (mine, theirs):
        del scores["training"]["seconds"], scores["training"]["tokens_per_second"]
        for epoch in scores["epochs"]:
            del epoch["seconds"]
    assert close(mine, theirs)


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
