"""The evaluation scripts on replicas: the scores are those of the run in one process, also if a replica is killed."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.booksort.sort_set import book_text, write_set
from tests.conftest import ROOT
from tests.loopback import wait_until
from tests.tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def sort_set(tmp_path_factory):
    base = tmp_path_factory.mktemp("ray-sort")
    return write_set(base / "booksort"), make_tiny_model(base / "tiny", book_text(101))


def evaluate(sort_set, out, *options):
    dataset, model = sort_set
    words = ["--dataset", dataset, "--config", "e120_s20", "--memory", "in-context", "--model", f"hf:{model}"]
    return [sys.executable, ROOT / "eval_scripts/booksort.py", *words, "--out", out, *options]


def of(folder, file):
    return json.loads((folder / file).read_text())


def same_scores(one, two):
    """The same but for rounding: contexts that are computed together, and how many threads compute, change the last digits."""
    rounded = {"parse_float": lambda digits: pytest.approx(float(digits), abs=1e-6)}
    return of(one, "scores.json") == json.loads((two / "scores.json").read_text(), **rounded)


@pytest.fixture(scope="module")
def one(script, sort_set, tmp_path_factory):
    """The run in one process."""
    out = tmp_path_factory.mktemp("one") / "run"
    done = script(*[str(word) for word in evaluate(sort_set, out)[1:]])
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_two_replicas_on_this_machine_score_as_one_process(sort_set, one, tmp_path):
    command = evaluate(sort_set, two := tmp_path / "two", "--data-parallel", "2")
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert same_scores(one, two)
    assert of(two, "run.json")["identity"] == of(one, "run.json")["identity"]
    assert of(two, "run.json")["engine"]["replicas"] == 2 and "engine" not in of(one, "run.json")


@pytest.mark.slow
@pytest.mark.nightly
def test_killed_replicas_change_nothing(sort_set, one, tmp_path):
    """Replicas die while the run goes on, and then the run itself is killed and given again."""
    command = evaluate(sort_set, tmp_path / "two", "--data-parallel", "2")
    answers = tmp_path / "two" / "answers.jsonl"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: answers.is_file() and answers.stat().st_size, 120)
        replicas = replicas_of(process.pid)
        for replica in replicas:
            os.kill(replica, signal.SIGKILL)
        process.wait(300)
    assert len(replicas) == 2
    again = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert again.returncode == 0, again.stderr
    keys = [json.loads(line)["key"] for line in answers.read_text().splitlines()]
    assert len(keys) == len(set(keys))
    assert same_scores(one, tmp_path / "two")


def replicas_of(driver):
    """The processes of replicas that descend from a process."""
    import psutil

    return [
        child.pid for child in psutil.Process(driver).children(recursive=True) if "Replica" in " ".join(child.cmdline())
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--replicas", "2"), "--replicas and --gpus-per-replica need --engine ray"),
        (("--engine", "ray", "--data-parallel", "2"), "--data-parallel is for this machine alone"),
        (("--data-parallel", "0"), "replicas: expected at least 1"),
    ],
)
def test_contradictions_are_refused(options, said, sort_set, script, tmp_path):
    done = script(*[str(word) for word in evaluate(sort_set, tmp_path / "out", *options)[1:]])
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
