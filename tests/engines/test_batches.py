"""An endpoint's batch API: nothing is submitted twice, whatever is killed; what expired is asked again."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

from epbench.engines.batches import BatchModel
from epbench.errors import RunFailed
from epbench.files.json_files import read_json
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.models.estimate import Bounds, Price, Prices, held
from epbench.models.load import Options, load_model
from epbench.models.protocol import Request, Sampling
from tests.engines.batch_endpoint import BatchEndpoint
from tests.models.endpoint_asks import KEY, key  # noqa: F401
from tests.scripts.in_process import ROOT

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="openai is not installed")

ASKED = [Request(f"q{n}", "You read.", "the book", f"question {n}", Sampling(20)) for n in range(12)]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(BatchModel, "waits", (0.01, 0.02))


def asked(tmp_path, endpoint, requests=ASKED):
    ask(tmp_path / "answers.jsonl", requests, load_model("openai:tiny", Options(endpoint.url, endpoint=BatchModel)))
    return {record["id"]: record for record in read_journal(tmp_path / "answers.jsonl").values()}


def test_all_requests_are_one_batch_and_every_step_is_journaled(tmp_path):
    with BatchEndpoint(looks=3) as endpoint:
        found = asked(tmp_path, endpoint)
        assert asked(tmp_path, endpoint) == found  # nothing is left to ask
    at_once = load_model("openai:tiny", Options(endpoint.url))
    assert {record["key"] for record in found.values()} == {request.key(at_once.identity) for request in ASKED}
    assert {id_: record["answer"] for id_, record in found.items()} == {
        request.id: f"answer to {request.user[-20:]}" for request in ASKED
    }
    assert len(endpoint.batches) == 1 and sorted(endpoint.submitted) == sorted({*endpoint.submitted})
    (noted,) = read_journal(tmp_path / "batches.jsonl").values()
    assert (noted["file"], noted["batch"], noted["collected"]) == ("file-0", "batch_0", True)
    assert KEY not in "".join(endpoint.files.values())


def test_what_one_batch_does_not_hold_is_several(tmp_path, monkeypatch):
    monkeypatch.setattr("epbench.engines.batches._MOST_REQUESTS", 5)
    with BatchEndpoint() as endpoint:
        found = asked(tmp_path, endpoint)
    assert all("answer" in record for record in found.values()) and len(endpoint.batches) == 3


def test_a_batch_is_bounded_at_its_own_price(tmp_path):
    prices = Prices("USD", {"tiny": Price(1e6 / 100, 1e6 / 10)})  # at most 2.1 for a question, half of it as a batch
    with BatchEndpoint() as endpoint, held(Bounds(cost=13.0, prices=prices)):
        assert all("answer" in record for record in asked(tmp_path, endpoint).values())
    assert len(endpoint.batches) == 1


def test_what_expired_is_asked_again_and_no_more_than_that(tmp_path):
    late = [request.question for request in ASKED[:4]]
    with BatchEndpoint(lambda question, n: None if n == 0 and question.endswith(tuple(late)) else {}) as endpoint:
        found = asked(tmp_path, endpoint)
    # "question 1" is the end of no other question that is asked
    assert all("answer" in record for record in found.values())
    assert [len(noted["requests"]) for noted in read_journal(tmp_path / "batches.jsonl").values()] == [12, 4]


@pytest.mark.slow
def test_what_never_comes_has_failed(tmp_path):
    with BatchEndpoint(lambda question, n: None if question.endswith("question 3") else {}) as endpoint:
        found = asked(tmp_path, endpoint)
    assert found["q3"]["failure"] == "no answer in 4 batches" and len(endpoint.batches) == 4
    assert sum("answer" in record for record in found.values()) == 11


def test_a_field_that_is_refused_is_left_out_in_the_next_batch(tmp_path):
    words = "Unsupported parameter: 'max_tokens' is not supported; use 'max_completion_tokens' instead."
    with BatchEndpoint(lambda question, n: {"status": 400, "words": words} if n == 0 else {}) as endpoint:
        found = asked(tmp_path, endpoint)
    assert all("answer" in record for record in found.values()) and len(endpoint.batches) == 2
    assert '"max_completion_tokens": 20' in endpoint.files[endpoint.batches["batch_1"]["input_file_id"]]


def test_another_refusal_fails_that_question_alone(tmp_path):
    def outcome(question, n):
        return {"status": 400, "words": "this is forbidden text"} if question.endswith("question 5") else {}

    with BatchEndpoint(outcome) as endpoint:
        found = asked(tmp_path, endpoint)
    assert found["q5"]["failure"] == "400 this is forbidden text" and len(endpoint.batches) == 1


def test_a_batch_that_fails_ends_the_run_and_the_next_start_makes_another(tmp_path):
    with BatchEndpoint(status=lambda n: "completed" if n else "failed") as endpoint:
        with pytest.raises(RunFailed, match=r"batch batch_0 failed: the quota is used up; start the run again"):
            asked(tmp_path, endpoint)
        assert all("answer" in record for record in asked(tmp_path, endpoint).values())
    assert len(endpoint.batches) == 2


@pytest.mark.slow
@pytest.mark.parametrize("at", ["batch", "file", "results"])
def test_a_kill_at_any_step_submits_nothing_twice(short_book, tmp_path, at):
    """The process is killed while the endpoint answers that step, and started again."""
    came, out = [], tmp_path / "run"
    process = None

    def step(name):
        came.append(name)
        if name == at and process is not None and came.count(name) == 1:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    code = "from epbench.engines.batches import BatchModel; BatchModel.waits = (0.05, 0.05); from epbench.cli import main; main()"
    with BatchEndpoint(looks=2, step=step) as endpoint:
        words = ["eval", "tulving", "--dataset", short_book, "--memory", "none", "--limit", "10", "--out", out]
        words += ["--model", "openai:tiny", "--base-url", endpoint.url, "--batch"]
        command = [sys.executable, "-c", code, *map(str, words)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.wait(60) == -signal.SIGKILL, process.communicate()
        process = None
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert len(endpoint.batches) == 1 and len(endpoint.submitted) == len({*endpoint.submitted}) == 10
    assert read_json(out / "scores.json")["n_failed"] == 0
