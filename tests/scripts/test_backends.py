"""The evaluation through real backends: a tiny model in process, and an endpoint on loopback that misbehaves."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.models.loopback_endpoint import BROKEN, CUT, DROP, GARBAGE, SLOW_DOWN, Fault, LoopbackEndpoint, some_calls
from tests.scripts import in_process
from tests.tiny_model import make_tiny_model

ROOT = Path(__file__).parents[2]
EVALUATE = "eval_scripts/tulving.py"


@pytest.fixture(scope="module")
def book_text(short_book):
    from datasets import load_dataset

    return load_dataset(str(short_book), "book", split="test")[0]["text"]


@pytest.fixture(scope="module")
def tiny(book_text, tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), book_text, window=65536, ends=True)


def scores_of(folder):
    return json.loads((folder / "scores.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["in-context", "rag-paragraph"])
def test_a_model_in_process_answers_by_every_memory(short_book, tiny, tmp_path, memory):
    done = in_process.script(
        EVALUATE, "--dataset", short_book, "--memory", memory, "--model", f"hf:{tiny}", "--limit", 6, "--max-tokens", 8,
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "6 requests over" in done.stdout
    scores, usage = scores_of(tmp_path / "r"), json.loads((tmp_path / "r/usage.json").read_text())
    silent = usage["failed"].pop("the reply says nothing", 0)  # a model of random weights may write a sign alone
    assert (scores["n_questions"], scores["n_failed"], usage["requests"], usage["failed"]) == (6, silent, 6, {})
    assert usage["generated"] > 0 and usage["prefilled"] > 0
    if memory == "in-context":
        assert usage["hit_rate"] > 0.75
    page = (tmp_path / "r/report.html").read_text()
    assert "share of prompt tokens saved" in page and ("No request failed" in page) == (silent == 0)


def test_a_book_that_does_not_fit_is_refused_before_weights_are_loaded_as_is_a_missing_model(
    script, short_book, book_text, tmp_path
):
    small = make_tiny_model(tmp_path / "small", book_text, window=4096)
    (small / "model.safetensors").unlink()  # would fail if it were looked for
    base = [EVALUATE, "--dataset", short_book, "--out", tmp_path / "r", "--memory"]
    done = script(*base, "in-context", "--model", f"hf:{small}", "--max-tokens", 8)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert "has 4,096" in done.stderr and "these memories fit" in done.stderr and "none" in done.stderr
    assert not (tmp_path / "r").exists()
    done = script(*base, "none", "--model", "hf:no/such-model")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert "no/such-model" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_killed_run_of_a_model_goes_on(short_book, tiny, tmp_path, hf_home):
    command = [EVALUATE, "--dataset", short_book, "--memory", "none", "--model", f"hf:{tiny}"]
    command += ["--max-tokens", "24", "--limit", "60", "--out"]
    env = os.environ | {"HF_HOME": str(hf_home)}
    journal = tmp_path / "r/answers.jsonl"
    started = [sys.executable, *map(str, command), tmp_path / "r"]
    process = subprocess.Popen(started, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 5):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = journal.read_bytes().splitlines()
    assert len(kept) >= 5
    for out in (tmp_path / "r", tmp_path / "whole"):
        done = in_process.script(*command, out)
        assert done.returncode == 0, done.stderr
    keys = Counter(json.loads(line)["key"] for line in journal.read_bytes().splitlines())
    assert len(keys) == 60 and set(keys.values()) == {1}
    assert scores_of(tmp_path / "r") == scores_of(tmp_path / "whole")


def endpoint_run(script, short_book, endpoint, out, *more, **env):
    return script(
        EVALUATE, "--dataset", short_book, "--model", "openai:tiny", "--base-url", endpoint.url, "--max-tokens", 8,
        *more, "--out", out, OPENAI_API_KEY="secret-of-mine", **env,
    )  # fmt: skip


@pytest.mark.parametrize("memory", ["in-context", "rag-paragraph"])
def test_an_endpoint_answers_by_every_memory(script, short_book, tmp_path, memory):
    usage = {"usage": {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 60}}}
    with LoopbackEndpoint(lambda prompt: "I do not know.", more=lambda body: usage) as endpoint:
        done = endpoint_run(script, short_book, endpoint, tmp_path / "r", "--memory", memory, "--limit", 12)
    assert done.returncode == 0, done.stderr
    assert "the window of openai:tiny is unknown" in done.stdout and "not checked that prompts fit" in done.stdout
    assert len(endpoint.calls) == 12
    usage = json.loads((tmp_path / "r/usage.json").read_text())
    assert (usage["requests"], usage["saved"], usage["generated"]) == (12, 720, 36)
    assert not [p for p in (tmp_path / "r").iterdir() if p.is_file() and b"secret-of-mine" in p.read_bytes()]


@pytest.mark.slow
def test_a_bad_line_ends_with_every_question_answered_or_failed(script, short_book, tmp_path):
    def faults(number, body):
        if "Karaoke" in str(body["messages"]):
            return Fault("status", 400, words="content policy")
        return some_calls(0.3, 5, (SLOW_DOWN, BROKEN, CUT, DROP, GARBAGE))(number, body)

    with LoopbackEndpoint(lambda prompt: "I do not know.", script=faults) as endpoint:
        done = endpoint_run(script, short_book, endpoint, tmp_path / "r", "--memory", "none", "--limit", 120)
        assert done.returncode == 0, done.stderr
        first = scores_of(tmp_path / "r")
        answered = Counter(call.user for call in endpoint.calls if call.answered)
        assert set(answered.values()) == {1} and first["n_questions"] == 120
        assert first["n_failed"] == 120 - len(answered)
        before = len(endpoint.calls)
        endpoint.script = lambda number, body: None
        again = endpoint_run(script, short_book, endpoint, tmp_path / "r", "--memory", "none", "--limit", 120)
        assert again.returncode == 0
    assert len(endpoint.calls) - before == first["n_failed"]
    assert scores_of(tmp_path / "r")["n_failed"] == 0
    if first["n_failed"]:
        reasons = {json.loads(line).get("failure") for line in (tmp_path / "r/answers.jsonl").read_text().splitlines()}
        assert reasons != {None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"message": {"content": ""}}, "the reply is empty"),
        ({"choice": {"finish_reason": "content_filter"}}, "the endpoint's content filter stopped the answer"),
        (
            {"message": {"content": None, "reasoning": "Hm"}, "choice": {"finish_reason": "length"}},
            "the model used all 2 tokens for thinking and gave no answer",
        ),
    ],
)
def test_answers_that_are_lost_are_no_abstentions(short_book, tmp_path, parts, reason):
    """To say nothing is right where nothing is true; to lose the answer is neither right nor wrong."""

    lost_of = [40]  # all are lost at first, and some of them in the next start

    def lost(body):
        lose = lost_of[0] == 40 or len(str(body["messages"])) % 2
        return {name: dict(part) for name, part in parts.items()} if lose else {}

    command = [
        EVALUATE, "--dataset", short_book, "--model", "openai:tiny", "--memory", "none", "--limit", 40,
        "--max-tokens", 2, "--out", tmp_path / "r",
    ]  # fmt: skip
    with LoopbackEndpoint(lambda prompt: "I don't know.", more=lost) as endpoint:
        done = in_process.script(*command, "--base-url", endpoint.url)
        assert done.returncode == 1 and "nothing to score: all 40 questions failed" in done.stderr, done.stderr
        records = [json.loads(line) for line in (tmp_path / "r/answers.jsonl").read_text().splitlines()]
        assert [record["failure"] for record in records] == [reason] * 40 and len(endpoint.calls) == 40
        lost_of[0] = 20
        done = in_process.script(*command, "--base-url", endpoint.url)
        assert done.returncode == 0, done.stderr
    n = sum(len(str(call.body["messages"])) % 2 for call in endpoint.calls[40:])
    assert len(endpoint.calls) == 80 and 0 < n < 40 and scores_of(tmp_path / "r")["n_failed"] == n
    assert f"failed {n} times: {reason}" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_checkpoint_that_is_swapped_in_place_is_another_run(short_book, book_text, tmp_path):
    tiny = make_tiny_model(tmp_path / "tiny", book_text, ends=True)
    command = [
        EVALUATE, "--dataset", short_book, "--memory", "none", "--model", f"hf:{tiny}", "--max-tokens", 8, "--limit", 6,
    ]  # fmt: skip
    assert in_process.script(*command, "--out", tmp_path / "r").returncode == 0
    before = (tmp_path / "r/answers.jsonl").read_bytes()
    make_tiny_model(tmp_path / "tiny", book_text, ends=True, seed=1)
    in_process.refused(in_process.script(*command, "--out", tmp_path / "r"), "holds another run: its weights is")
    assert (tmp_path / "r/answers.jsonl").read_bytes() == before
    assert in_process.script(*command, "--out", tmp_path / "other").returncode == 0
    first, second = (
        {json.loads(line)["key"]: json.loads(line)["answer"] for line in (tmp_path / name / "answers.jsonl").open()}
        for name in ("r", "other")
    )
    assert not first.keys() & second.keys() and sorted(first.values()) != sorted(second.values())


def test_a_window_that_is_given_is_checked(script, short_book, tmp_path):
    with LoopbackEndpoint() as endpoint:
        done = endpoint_run(script, short_book, endpoint, tmp_path / "r", "--memory", "in-context", "--window", "2000")
    assert done.returncode == 2 and "the window of openai:tiny has 2,000" in done.stderr and not endpoint.calls


@pytest.mark.slow
def test_a_killed_run_at_an_endpoint_pays_no_journaled_answer_twice(short_book, tmp_path, hf_home):
    killed = threading.Event()
    with LoopbackEndpoint(
        lambda prompt: "I do not know.", may_answer=lambda call: endpoint.answered < 40 or killed.is_set()
    ) as endpoint:
        command = [
            sys.executable, ROOT / EVALUATE, "--dataset", short_book, "--memory", "none", "--model", "openai:tiny",
            "--base-url", endpoint.url, "--max-tokens", "8", "--out", tmp_path / "r",
        ]  # fmt: skip
        env = os.environ | {"HF_HOME": str(hf_home), "OPENAI_API_KEY": "k"}
        journal = tmp_path / "r/answers.jsonl"
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 20):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = {json.loads(line)["id"] for line in journal.read_bytes().split(b"\n")[:-1]}
        paid_before = Counter(call.user for call in endpoint.calls if call.answered)
        killed.set()
        endpoint.recheck()
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        paid = Counter(call.user for call in endpoint.calls if call.answered)
    assert 20 <= len(kept) <= 40 and not endpoint.stuck
    assert len(paid) == 450 and scores_of(tmp_path / "r")["n_failed"] == 0
    assert sum(paid.values()) - 450 == sum(paid_before.values()) - len(kept) <= 64  # those in flight when it was killed
