"""finetune/sort_lm.py as a user runs it, on what it makes on the spot."""

import os
import subprocess
import sys

import pytest

from epbench.journals.journal import read_journal
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import read, scores_of

SMALL = ("--config", ROOT / "finetune/configs/cpu.yaml", "--num_train_epochs", 2, "--limit", 8)
SMALL += ("--n_instructions", 16, "--chunk_words", 400)


def trained(out, *more, by=(sys.executable,), **env):
    """What the script prints in a process of its own."""
    words = [*by, ROOT / "finetune/sort_lm.py", *SMALL, "--out", out, *more]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=ROOT, env=os.environ | env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two epochs that nobody stops."""
    folder = tmp_path_factory.mktemp("sort-lm")
    (folder / "stdout").write_text(trained(folder / "run", OMP_NUM_THREADS="1"))
    return folder / "run"


@pytest.mark.slow
def test_a_run_leaves_everything_that_it_promises(run):
    steps, measures = read_journal(run / "training.jsonl"), read_journal(run / "measures.jsonl")
    assert list(measures) == ["0", "1", "2"] and len(steps) == max(step["step"] for step in steps.values())
    scores = scores_of(run)
    perplexity = [epoch["perplexity"] for epoch in scores["epochs"]]
    for name in ("segments", "books", "instructions", "held_out"):
        assert perplexity[0][name] > perplexity[1][name] > perplexity[2][name]
    assert perplexity[2]["books"] < perplexity[2]["held_out"]
    pairs = [[f"epoch {one}", f"epoch {other}"] for one, other in ((0, 1), (0, 2), (1, 2))]
    assert [pair["runs"] for pair in scores["comparisons"]] == pairs
    for epoch in scores["epochs"]:
        assert epoch["sort"]["n"] == epoch["sort_in_context"]["n"] == 8
        assert 0 <= epoch["readout"]["accuracy"] <= 1 and -1 <= epoch["pearson"]["r"] <= 1
    for epoch in (1, 2):
        assert (run / f"checkpoints/epoch-{epoch}/model.safetensors").is_file()
    assert "<svg" in (run / "report.html").read_text() and "McNemar" in (run / "report.html").read_text()
    shown = (run.parent / "stdout").read_text()
    assert "1 (episodic)" in shown and "Perplexity" in shown and "MFU" in shown
    assert read(run, "run.json")["identity"]["instructions"] == "made by rules"


@pytest.mark.slow
def test_the_same_command_again_measures_and_trains_nothing(run):
    before = [(run / name).read_bytes() for name in ("training.jsonl", "measures.jsonl", "scores.json")]
    assert "1 (episodic)" in ran("finetune/sort_lm.py", *SMALL, "--out", run)
    assert before == [(run / name).read_bytes() for name in ("training.jsonl", "measures.jsonl", "scores.json")]


@pytest.mark.slow
def test_two_processes_measure_and_train_like_one(run, tmp_path):
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    trained(tmp_path / "run", by=launcher)
    for mine, theirs in zip(scores_of(tmp_path / "run")["epochs"], scores_of(run)["epochs"], strict=True):
        assert mine["perplexity"] == pytest.approx(theirs["perplexity"], rel=1e-2)
        assert mine["sort"]["log_ratio"] == pytest.approx(theirs["sort"]["log_ratio"], abs=2e-2)
    assert not list((tmp_path / "run").rglob("answers-*"))


@pytest.mark.slow
def test_a_control_by_lora_is_compared_with_the_books(run, tmp_path):
    control, more = tmp_path / "control", ("--control", "instructions", "--lora_r", 4, "--num_train_epochs", 1)
    said = trained(control, *more)
    assert read(control, "run.json")["identity"]["control"] == "instructions"
    assert scores_of(control)["method"] == "LoRA, rank 4, alpha 32"
    table = (control / "table.md").read_text()
    assert "LoRA, rank 4" in said and "LoRA, rank 4" in table and "episodic" not in table
    books, other = (scores_of(folder)["epochs"][1]["perplexity"] for folder in (run, control))
    assert books["books"] < other["books"]  # the books were not trained
    said = ran("eval_scripts/compare.py", run, control, "--out", tmp_path / "compared")
    assert len(read(tmp_path / "compared", "comparison.json")["pairs"]) == 10
    assert "run, epoch 1" in said and "control, epoch 1" in said


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
def test_bad_input_is_one_line(once, tmp_path, more, message):
    def make(folder):
        ran("finetune/sort_lm.py", "--plan", "--out", folder / "run")

    made = once("toy-sort-set", make) / "toy-sort/3-books"
    more = [made / "booksort" if word == "SET" else word for word in more]
    if "--dataset" in more:
        more += ["--config", ROOT / "finetune/configs/cpu.yaml"]
    done = script("finetune/sort_lm.py", "--out", tmp_path / "run", *more)
    refused(done, message)
    assert not (tmp_path / "run").exists()
