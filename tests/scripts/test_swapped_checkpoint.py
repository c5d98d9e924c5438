"""A checkpoint that is swapped under the same path: every script refuses the folder that the other one filled."""

import pytest

from tests.booksort.sort_set import write_set
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import lines_of, read
from tests.tiny_model import make_tiny_model

TEXT = "Segment A: the ferry. Segment B: the lamp. Answer: Segment A. Answer: Segment B. " * 60


def weights_in(folder):
    return read(folder, "run.json")["identity"].get("weights")


def refuses_the_other(tmp_path, command, folder):
    """Run the command, swap the model under it, and run it again."""
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert before and len(weights_in(folder)) == 12
    make_tiny_model(tmp_path / "tiny", TEXT, ends=True, seed=1)
    refused(script(*command), "this folder holds another run: its weights is")
    assert {path: path.read_bytes() for path in folder.rglob("*.jsonl")} == before
    make_tiny_model(tmp_path / "tiny", TEXT, ends=True)
    return script(*command)


@pytest.fixture
def tiny(tmp_path):
    return make_tiny_model(tmp_path / "tiny", TEXT, ends=True)


def booksort(tmp_path, tiny):
    dataset = write_set(tmp_path / "booksort")
    return "eval_scripts/booksort.py", "--dataset", dataset, "--memory", "none", "--model", f"hf:{tiny}", "--limit", 4


@pytest.mark.slow
def test_another_dtype_is_another_run(tmp_path):
    command = booksort(tmp_path, make_tiny_model(tmp_path / "tiny", TEXT))
    ran(*command, "--out", tmp_path / "r", "--dtype", "bfloat16")
    ran(*command, "--out", tmp_path / "auto")
    assert weights_in(tmp_path / "r") == f"{weights_in(tmp_path / 'auto')}-bfloat16"
    refused(script(*command, "--out", tmp_path / "r"), "this folder holds another run: its weights is")
    answers = lines_of(tmp_path / "r/answers.jsonl")
    exact = {answer["id"]: answer for answer in lines_of(tmp_path / "auto/answers.jsonl")}
    assert len(answers) == 4 and len({answer["key"] for answer in [*answers, *exact.values()]}) == 8
    for answer in answers:
        assert answer["probabilities"] != exact[answer["id"]]["probabilities"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        "memfail.py --dataset {}/memfail --config long_hop --system oracle",
        "tulving.py --dataset {}/short --memory none",
    ],
)
def test_a_reader(tiny, small_sets, tmp_path, asked):
    how = ["--model", f"hf:{tiny}", "--max-tokens", 8, "--limit", 3, "--out", tmp_path / "r"]
    command = [f"eval_scripts/{asked.format(small_sets)}", *how]
    ran(*command)
    assert refuses_the_other(tmp_path, command, tmp_path / "r").returncode == 0


def test_a_book_by_a_model(tiny, tmp_path):
    """These weights write no chapter, but what they wrote is kept for them alone."""
    command = [f"builders/tulving.py --book short --events 1 --writer hf:{tiny} --max-tokens 4 --out {tmp_path}"]
    assert script(*command).returncode == 2
    (folder,) = tmp_path.glob("written-by-hf-*")
    done = refuses_the_other(tmp_path, command, folder)
    assert done.returncode == 2 and "no chapter for any of 1 events" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_verify_tells_that_the_weights_are_others(tiny, tmp_path):
    run = tmp_path / "r"
    ran(*booksort(tmp_path, tiny), "--dtype", "bfloat16", "--out", run)
    ran("eval_scripts/verify.py", run)
    make_tiny_model(tiny, TEXT, ends=True, seed=1)
    other = script("eval_scripts/verify.py", run)
    assert other.returncode == 1 and f"{run}: weights: found fingerprint" in other.stdout
    make_tiny_model(tiny, TEXT, ends=True).rename(tmp_path / "elsewhere")
    gone = script("eval_scripts/verify.py", run)
    assert gone.returncode == 0 and "is not here" in " ".join(gone.stdout.split())
