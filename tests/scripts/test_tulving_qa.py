"""finetune/tulving_qa.py as a user runs it: questions are learned by heart, and what is measured is what the script measures."""

import csv
import os
import shutil
import subprocess
import sys

import pytest

from epbench.journals.journal import read_journal
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import read, scores_of
from tests.tulving.finetuning.tiny_book import write_tiny_book, write_tiny_model

SCRIPT, CPU = "finetune/tulving_qa.py", ROOT / "finetune/configs/tulving-cpu.yaml"
EPOCHS, LAST = [0, 1, 20, 40], 40
ALONE = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def book(once):
    return once("tiny-book", lambda folder: write_tiny_book(folder / "tiny")) / "tiny"


def recipe(book):
    return "--config", CPU, "--dataset", book, "--batch_size", 3, "--save_every", 20


@pytest.fixture(scope="module")
def run(tmp_path_factory, book):
    """A run that nobody stops."""
    folder = tmp_path_factory.mktemp("tulving-qa")
    words = [sys.executable, ROOT / SCRIPT, *recipe(book), "--out", folder / "run"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=ALONE)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder / "run"


@pytest.mark.slow
def test_trained_questions_are_learned_by_heart(run):
    epochs = {record["epoch"]: record for record in scores_of(run)["epochs"]}
    assert list(epochs) == EPOCHS
    before, after = epochs[0]["tulving"], epochs[LAST]["tulving"]
    assert before["groups"]["trained"]["n_failed"] == 8  # a model with random weights ends no answer
    assert after["f1_by_bin"]["1"] == after["groups"]["trained"]["f1"] == 1.0
    perplexity = [record["perplexity"]["trained_answers"] for record in epochs.values()]
    assert perplexity == sorted(perplexity, reverse=True) and perplexity[-1] < 2
    assert epochs[LAST]["perplexity"]["held_out"] > 100
    assert scores_of(run)["trained_by_bin"] == {"1": 8} and scores_of(run)["n_trained"] == 12


@pytest.mark.slow
def test_a_run_leaves_everything_that_it_promises(run):
    steps = read_journal(run / "training.jsonl")
    assert len(steps) == 4 * LAST and list(read_journal(run / "measures.jsonl")) == list(map(str, EPOCHS))
    for epoch in EPOCHS[1:]:
        assert (run / f"checkpoints/epoch-{epoch}/model.safetensors").is_file()
    assert (run / f"measures/epoch-{LAST}/tulving/report.html").is_file()
    table, shown = (run / "table.md").read_text(), (run.parent / "stdout").read_text()
    for text in (table, " ".join(shown.split())):
        assert "memorised word for word" in text and "Trained questions and others" in text
    assert "<svg" in (run / "report.html").read_text()
    assert f"ask one again: python eval_scripts/tulving.py --dataset {read(run, 'run.json')['dataset']}" in shown


@pytest.mark.slow
def test_the_evaluation_script_gives_a_checkpoint_the_same_scores(run, book, tmp_path):
    model = f"--model hf:{run}/checkpoints/epoch-{LAST} --max-tokens 64 --limit 59"
    asked = [f"eval_scripts/tulving.py --dataset {book} --memory none {model} --out"]
    ran(*asked, tmp_path / "again")
    ours = run / f"measures/epoch-{LAST}/tulving"
    assert (tmp_path / "again/scores.json").read_bytes() == (ours / "scores.json").read_bytes()
    of_epoch = next(record["tulving"] for record in scores_of(run)["epochs"] if record["epoch"] == LAST)
    assert {name: of_epoch[name] for name in scores_of(ours)} == scores_of(ours)
    copy = shutil.copytree(ours, tmp_path / "copy")  # it goes on with our folder, where nothing is left to do
    ran(*asked, copy)
    assert (copy / "answers.jsonl").read_bytes() == (ours / "answers.jsonl").read_bytes()


@pytest.mark.slow
def test_another_recipe_is_refused_in_the_folder(run, book):
    before = (run / "training.jsonl").read_bytes()
    done = script(SCRIPT, *recipe(book), "--out", run, "--max_tokens", 32)
    refused(done, "this folder holds another run: its reading is")
    assert (run / "training.jsonl").read_bytes() == before


@pytest.fixture(scope="module")
def tiny(once):
    return once("tiny-book-model", write_tiny_model)


@pytest.mark.slow
def test_a_plan_says_what_it_takes_and_leaves_nothing(book, tiny, tmp_path):
    done = ran(SCRIPT, *recipe(book), "--model", tiny, "--out", tmp_path / "run", "--plan")
    assert "12 questions with their answers; " in done and "4 steps in an epoch, 40 epochs" in done
    assert "13 questions are asked before training, and after each of these epochs: 1, 20, 40" in done
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--batch_size", "0"], "batch_size: expected a whole number of at least 1, got 0"),
        (["--max_length", "100"], "config 'finetune', row 0: sample t"),
        (["--max_tokens", "40000"], "allow fewer tokens for an answer"),
        (["--judge", "nobody"], "judge: unknown model 'nobody'"),
        (["--held_out", "missing.txt"], "missing.txt: expected a file that can be read"),
        (["--max_tokens", "0"], "--max_tokens: expected at least 1, got 0"),
    ],
)
def test_bad_input_is_one_line(book, tiny, tmp_path, more, message):
    done = script(SCRIPT, *recipe(book), "--model", tiny, "--out", tmp_path / "run", *more)
    refused(done, message)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_training_stands_in_tables_with_its_epochs(run, tmp_path):
    ran("eval_scripts/tables.py", run, "--out", tmp_path)
    with next(tmp_path.glob("leaderboard*.csv")).open(newline="") as file:
        rows = {row["label"]: row for row in csv.DictReader(file)}
    assert {row["memory"] for row in rows.values()} == {"fine-tuned"}  # before training, no answer ended
    assert f"run, epoch {LAST}" in rows
    for epoch in EPOCHS:
        assert (f"run, epoch {epoch}" in rows) == (run / f"measures/epoch-{epoch}/tulving/scores.json").is_file()
