"""The evaluation of Book-SORT as a user runs it: the control, a tiny model, an endpoint on loopback, a kill."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow.parquet as pq
import pytest

from epbench import command
from epbench.booksort.context.requests import MEMORIES
from epbench.runs.results import QUESTIONS
from eval_scripts import booksort
from tests.booksort.sort_set import book_text, write_set
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts import in_process
from tests.tiny_model import make_tiny_model

ROOT = Path(__file__).parents[2]
EVALUATE = "eval_scripts/booksort.py"
LABELS = "Segment A: word. Segment B: word. Answer: Segment A. Answer: Segment B. " * 50  # so that " A" is one token


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-mine")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("set") / "booksort")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), LABELS + book_text(101))


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys, monkeypatch):
    """The script in this process: a process of its own takes seconds to import what scores need."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(command, "show_log", lambda: None)  # its handler would outlive the test

    def call(*arguments):
        status = 0
        try:
            command.run(booksort.main, [str(argument) for argument in arguments])
        except SystemExit as left:
            status = left.code
        return Done(status, *capsys.readouterr())

    return call


def read(folder, name):
    return json.loads((folder / name).read_text())


def lines(folder, name="answers.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@pytest.mark.parametrize(
    ("memory", "low", "high"),
    [
        ("in-context", 1, 1),
        ("full-book", 1, 1),
        pytest.param("rag", 0.6, 1, marks=pytest.mark.slow),
        pytest.param("none", 0.3, 0.7, marks=pytest.mark.slow),
    ],
)
def test_the_control_by_every_memory(run, dataset, tmp_path, memory, low, high):
    out = tmp_path / "r"
    done = run("--dataset", dataset, "--config", "all", "--memory", memory, "--model", "oracle", "--out", out)
    assert done.returncode == 0, done.stderr
    scores = read(out, "scores.json")
    assert low <= scores["accuracy"] <= high
    assert (scores["n_questions"], scores["n_failed"]) == (96, 0)
    assert {"accuracy", "share_a", "intervals", "by_group"} <= scores.keys()
    about = read(out, "run.json")
    assert about["identity"]["memory"] == memory and about["dataset"] == str(dataset)
    assert {QUESTIONS, "usage.json", "table.md", "report.html", "answers.jsonl"} <= {
        path.name for path in out.iterdir()
    }
    if memory == "rag":
        assert len(lines(out, "retrieved.jsonl")) == 96 and scores["retrieval"]["recall_at_10"] > 0.9
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["label_mass"] is None  # it tells no probabilities
    assert pq.read_metadata(out / QUESTIONS).num_rows == 96
    before = (out / "scores.json").read_bytes(), (out / "answers.jsonl").read_bytes()
    again = run("--dataset", dataset, "--config", "all", "--memory", memory, "--model", "oracle", "--out", out)
    assert again.returncode == 0, again.stderr
    assert before == ((out / "scores.json").read_bytes(), (out / "answers.jsonl").read_bytes())


def test_a_model_in_process_reads_an_excerpt_once_for_its_four_pairs(run, dataset, tiny, tmp_path):
    done = run(
        "--dataset", dataset, "--memory", "in-context", "--model", f"hf:{tiny}", "--limit", 16,
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "16 requests over 4 contexts" in done.stdout and "saved by sharing" in done.stdout
    answers = lines(tmp_path / "r")
    assert len(answers) == 16
    cached = sorted(record["usage"]["cached"] for record in answers)
    assert (
        cached[0] == 0 and cached[1] == cached[3] < cached[4] / 2
    )  # of four excerpts at most the instructions were read
    for record in answers:
        assert record["usage"]["completion"] == 1 and "answer" in record
        assert set(record["probabilities"]) == {"A", "B"} and 0 < sum(record["probabilities"].values()) <= 1
    scores, usage = read(tmp_path / "r", "scores.json"), read(tmp_path / "r", "usage.json")
    assert (scores["n_questions"], scores["n_invalid"], scores["n_failed"]) == (16, 0, 0)
    mass = sum(sum(record["probabilities"].values()) for record in answers) / 16
    assert scores["label_mass"] == pytest.approx(mass) and mass < 0.5  # nobody taught it to answer
    told = "A and B together have only"
    assert told in done.stdout and told in (tmp_path / "r/table.md").read_text()
    assert told in (tmp_path / "r/report.html").read_text() and told in scores["warnings"][0]
    neither = sum(record["answer"].strip() not in ("A", "B") for record in answers)
    assert scores["greedy_invalid"] == neither / 16
    assert usage["hit_rate"] > 0.5


@pytest.mark.parametrize("memory", ["rag", *(pytest.param(m, marks=pytest.mark.slow) for m in ("none", "full-book"))])
def test_a_model_in_process_answers_by_the_other_memories(run, dataset, tiny, tmp_path, memory):
    done = run(
        "--dataset",
        dataset,
        "--memory",
        memory,
        "--model",
        f"hf:{tiny}",
        "--limit",
        8,
        "--out",
        tmp_path / "r",
    )
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "r", "scores.json")["n_questions"] == 8


@pytest.mark.slow
def test_a_prompt_is_chosen_on_the_validation_split(run, dataset, tiny, tmp_path):
    arguments = [
        "--dataset", dataset, "--memory", "in-context", "--model", f"hf:{tiny}", "--limit", 8,
        "--select-prompt", "--out", tmp_path / "r",
    ]  # fmt: skip
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    choice = read(tmp_path / "r", "prompt_selection.json")
    assert len(choice["prompts"]) == 12 and {one["n"] for one in choice["prompts"]} == {8}
    assert f"→ {choice['prompt']} " in done.stdout and choice["reason"][:40] in done.stdout
    assert {int(record["id"].split("-")[2]) for record in lines(tmp_path / "r", "prompt_answers.jsonl")} <= {6, 7}
    assert {int(record["id"].split("-")[2]) for record in lines(tmp_path / "r")} <= set(range(6))
    direct = run(*arguments[:-3], "--prompt", choice["prompt"], "--out", tmp_path / "direct")
    assert direct.returncode == 0, direct.stderr
    told = [{r["id"]: r["probabilities"] for r in lines(tmp_path / name)} for name in ("r", "direct")]
    assert told[0] == told[1]


@pytest.mark.slow
def test_the_reading_of_passages_is_chosen_too(run, dataset, tiny, tmp_path):
    done = run(
        "--dataset", dataset, "--memory", "rag", "--model", f"hf:{tiny}", "--limit", 4, "--select-reading",
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    choice = read(tmp_path / "r", "prompt_selection.json")
    assert [one["number"] for one in choice["readings"]] == list(range(10)) and f"→ {choice['reading']} " in done.stdout
    assert len(lines(tmp_path / "r", "prompt_answers.jsonl")) == 40 and len(lines(tmp_path / "r")) == 4
    assert read(tmp_path / "r", "scores.json")["n_questions"] == 4


def endpoint_run(run, dataset, endpoint, out, *more):
    return run(
        "--dataset", dataset, "--model", "openai:tiny", "--base-url", endpoint.url, "--limit", 12,
        *more, "--out", out,
    )  # fmt: skip


@pytest.mark.slow
def test_an_endpoint_writes_its_answer(run, dataset, tmp_path):
    """It says what it finds, as words; nothing begins the answer, and 25 tokens are asked for."""

    def answer(prompt):
        segments = [re.search(rf"Segment {label}: (.*)", prompt)[1] for label in "AB"]
        first, second = (prompt.index(segment) for segment in segments)
        if min(first, second) > prompt.index("Segment A: "):
            return "I cannot tell."
        return "After reading, Segment A came first." if first < second else "**Answer: Segment B**"

    with LoopbackEndpoint(answer) as endpoint:
        done = endpoint_run(run, dataset, endpoint, tmp_path / "r", "--memory", "in-context")
        assert done.returncode == 0, done.stderr
        none = endpoint_run(run, dataset, endpoint, tmp_path / "none", "--memory", "none")
        assert none.returncode == 0, none.stderr
    for call in endpoint.calls:
        assert call.body["max_tokens"] == 25 and call.body["messages"][-1]["role"] == "user"
        assert not call.user.rstrip().endswith("Answer: Segment")
    scores = read(tmp_path / "r", "scores.json")
    assert (scores["accuracy"], scores["n_invalid"]) == (1.0, 0)
    silent = read(tmp_path / "none", "scores.json")
    assert (silent["accuracy"], silent["n_invalid"], silent["n_questions"], silent["n_failed"]) == (0.0, 12, 12, 0)
    files = [path for path in (tmp_path / "r").iterdir() if path.is_file() and path.name != QUESTIONS]
    assert not [path for path in files if "secret-of-mine" in path.read_text()]
    assert "secret-of-mine" not in pd.read_parquet(tmp_path / "r" / QUESTIONS).to_csv()


def test_first_token_probabilities_of_an_endpoint_count_where_it_begins_with_a_label(run, dataset, tmp_path):
    def told(token, *others):
        top = [{"token": t, "logprob": math.log(p)} for t, p in (token, *others)]
        return {"choice": {"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}}

    cases = {
        "B": told(("B", 0.4), ("A", 0.3), (" A", 0.2)),
        "The answer is B": told(("The", 0.6), ("A", 0.3), ("B", 0.1)),
    }
    for text, logprobs in cases.items():
        with LoopbackEndpoint(
            lambda prompt, text=text: text, more=lambda body, found=logprobs: dict(found)
        ) as endpoint:
            out = tmp_path / text.replace(" ", "")
            assert endpoint_run(run, dataset, endpoint, out, "--memory", "none").returncode == 0
    summed, parsed = lines(tmp_path / "B"), lines(tmp_path / "TheanswerisB")
    assert {record["answer"] for record in summed} == {"B"}
    assert all(record["probabilities"] == pytest.approx({"A": 0.5, "B": 0.4}) for record in summed)
    assert read(tmp_path / "B", "scores.json")["share_a"] == 1.0
    assert not any("probabilities" in record for record in parsed)
    assert read(tmp_path / "TheanswerisB", "scores.json")["share_a"] == 0.0


def test_failed_requests_are_neither_right_nor_wrong_and_are_asked_again(run, dataset, tmp_path):
    def faults(number, body):
        return Fault("status", 400, words="content policy") if "Salt and Thunder" in str(body["messages"]) else None

    with LoopbackEndpoint(lambda prompt: "A", script=faults) as endpoint:
        done = endpoint_run(run, dataset, endpoint, tmp_path / "r", "--memory", "none")
        assert done.returncode == 0, done.stderr
        first = read(tmp_path / "r", "scores.json")
        assert 0 < first["n_failed"] < 12 and first["n_questions"] + first["n_failed"] == 12
        low, high = first["incomplete"]["accuracy"]
        assert first["accuracy"] is None and high - low == pytest.approx(first["n_failed"] / 12)
        assert f"{low:.2f}–{high:.2f}" in done.stdout and "(incomplete)" in done.stdout
        assert "content policy" in done.stdout
        endpoint.script = lambda number, body: None
        assert endpoint_run(run, dataset, endpoint, tmp_path / "r", "--memory", "none").returncode == 0
    assert (read(tmp_path / "r", "scores.json")["n_questions"], len(endpoint.calls)) == (12, 12 + first["n_failed"])


@pytest.mark.parametrize(
    ("memory", "consistency"), [("in-context", 1.0), ("rag", None), pytest.param("none", None, marks=pytest.mark.slow)]
)
def test_the_oracle_is_asked_in_both_orders(run, dataset, tmp_path, memory, consistency):
    base = ("--dataset", dataset, "--memory", memory, "--model", "oracle", "--both-orders")
    done = run(*base, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    scores, answers = read(tmp_path / "r", "scores.json"), lines(tmp_path / "r")
    assert scores["n_questions"] == 96 and scores["both_orders"]["n_pairs"] == 48
    assert {record["id"].removesuffix("/swapped") for record in answers if record["id"].endswith("/swapped")} == {
        record["id"] for record in answers if not record["id"].endswith("/swapped")
    }
    if consistency is not None:
        assert scores["accuracy"] == scores["consistency"] == consistency
    elif memory == "none":
        assert 0.25 < scores["consistency"] < 0.75  # it guesses each asking for itself
    assert read(tmp_path / "r", "run.json")["identity"]["both_orders"] is True
    assert (
        "consistency" in done.stdout
        and "48 pairs, each asked in both orders" in (tmp_path / "r/report.html").read_text()
    )
    other = run(*base[:-1], "--out", tmp_path / "r")
    assert other.returncode == 2 and "its both_orders is True, expected None" in other.stderr


@pytest.mark.slow
def test_both_orders_in_parts_are_the_whole_run(run, dataset, tmp_path):
    base = ("--dataset", dataset, "--memory", "none", "--model", "oracle", "--both-orders", "--limit", 24)
    for out, more in (("whole", ()), ("1", ("--shard", "1/2")), ("2", ("--shard", "2/2"))):
        assert run(*base, *more, "--out", tmp_path / out).returncode == 0
    assert read(tmp_path / "whole", "scores.json")["both_orders"]["n_pairs"] == 24
    done = in_process.script("eval_scripts/merge.py", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "merged")
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "merged", "scores.json") == read(tmp_path / "whole", "scores.json")
    done = in_process.script("eval_scripts/merge.py", tmp_path / "1", "--out", tmp_path / "half")
    half = read(tmp_path / "half", "scores.json")
    assert done.returncode == 0 and half["both_orders"]["n_incomplete"] == half["n_failed"] / 2 > 0


@pytest.mark.slow
def test_an_endpoint_that_always_says_a_and_both_orders(run, dataset, tmp_path):
    def refuses(number, body):
        return Fault("status", 400, words="filtered") if number == 0 else None

    with LoopbackEndpoint(lambda prompt: "Segment A") as endpoint:
        arguments = ("--memory", "in-context", "--both-orders")
        assert endpoint_run(run, dataset, endpoint, tmp_path / "r", *arguments).returncode == 0
        assert len(endpoint.calls) == 24  # 12 pairs
        assert endpoint_run(run, dataset, endpoint, tmp_path / "r", *arguments).returncode == 0
        assert len(endpoint.calls) == 24  # nothing is asked twice
    scores = read(tmp_path / "r", "scores.json")
    assert (scores["accuracy"], scores["consistency"], scores["share_a"]) == (0.5, 0.0, 1.0)
    with LoopbackEndpoint(lambda prompt: "Segment A", script=refuses) as endpoint:
        assert endpoint_run(run, dataset, endpoint, tmp_path / "lost", *arguments).returncode == 0
    lost = read(tmp_path / "lost", "scores.json")
    assert lost["accuracy"] is None and lost["consistency"] == 0.0
    assert (lost["both_orders"]["n_pairs"], lost["both_orders"]["n_incomplete"]) == (11, 1)


@pytest.mark.slow
def test_a_prompt_is_chosen_one_way_for_both_orders(run, dataset, tiny, tmp_path):
    arguments = (
        "--dataset", dataset, "--memory", "in-context", "--model", f"hf:{tiny}", "--limit", 4, "--select-prompt",
        "--both-orders", "--out", tmp_path / "r",
    )  # fmt: skip
    plan = run(*arguments, "--plan")
    assert plan.returncode == 0 and "56 requests" in plan.stdout  # 12 prompts about 4 pairs, and 8 askings
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert len(lines(tmp_path / "r", "prompt_answers.jsonl")) == 48 and len(lines(tmp_path / "r")) == 8
    assert sum(record["usage"]["cached"] == 0 for record in lines(tmp_path / "r")) == 1  # one reading of the excerpt


@pytest.mark.slow
def test_a_killed_run_goes_on_and_pays_nothing_twice(dataset, tmp_path, hf_home):
    with LoopbackEndpoint(lambda prompt: "Segment A", latency_s=0.05) as endpoint:
        command = [
            sys.executable, ROOT / EVALUATE, "--dataset", dataset, "--config", "all", "--memory", "in-context", "--model",
            "openai:tiny", "--base-url", endpoint.url, "--out", tmp_path / "r",
        ]  # fmt: skip
        env = os.environ | {"HF_HOME": str(hf_home), "OPENAI_API_KEY": "k"}
        journal = tmp_path / "r/answers.jsonl"
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 10):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = len(journal.read_bytes().split(b"\n")) - 1
        paid = Counter(call.user for call in endpoint.calls if call.answered)
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        again = Counter(call.user for call in endpoint.calls if call.answered)
    assert 10 <= kept < 96 and len(again) == 96
    assert sum(again.values()) - 96 == sum(paid.values()) - kept  # what was under way when it was killed
    assert read(tmp_path / "r", "scores.json")["n_questions"] == 96


def test_what_does_not_fit_is_refused_with_what_does(run, dataset, tmp_path):
    small = make_tiny_model(tmp_path / "small", LABELS + book_text(101), window=650)
    (small / "model.safetensors").unlink()  # would fail if it were looked for
    for memory, fitting in (("in-context", "in-context with --config e120_s20, none"), ("full-book", "e120_s20, none")):
        done = run("--dataset", dataset, "--memory", memory, "--model", f"hf:{small}", "--out", tmp_path / "r")
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert "has 650" in done.stderr and fitting in done.stderr
        assert not (tmp_path / "r").exists()


def test_a_plan_asks_nothing(run, dataset, tiny, tmp_path):
    (done, chosen) = (
        run(
            "--dataset", dataset, "--memory", "in-context", "--model", f"hf:{tiny}", "--plan", *more,
            "--out", tmp_path / "r",
        )
        for more in ([], ["--select-prompt"])
    )  # fmt: skip
    assert done.returncode == chosen.returncode == 0, done.stderr
    assert "48 requests over 12 contexts" in done.stdout and "at most 48 answer tokens" in done.stdout
    assert "240 requests over 24 contexts" in chosen.stdout  # 12 prompts, 3 readings of 4 held-out excerpts
    assert not (tmp_path / "r").exists()


def test_parts_and_books(run, dataset, tmp_path):
    arguments = ("--dataset", dataset, "--memory", "in-context", "--model", "oracle", "--config", "all")
    for i in (1, 2):
        done = run(*arguments, "--books", 102, "--shard", f"{i}/2", "--out", tmp_path / str(i))
        assert done.returncode == 0, done.stderr
    ids = [{record["id"] for record in lines(tmp_path / str(i))} for i in (1, 2)]
    assert not ids[0] & ids[1] and len(ids[0] | ids[1]) == 48 and all(id_.startswith("102") for id_ in ids[0] | ids[1])


@pytest.mark.slow
def test_shards_merge_into_the_whole_run(run, dataset, tmp_path):
    base = ("--dataset", dataset, "--memory", "rag", "--model", "oracle", "--config", "all", "--books", 102)
    for out, more in (("whole", ()), ("1", ("--shard", "1/2")), ("2", ("--shard", "2/2"))):
        assert run(*base, *more, "--out", tmp_path / out).returncode == 0
    parts = [tmp_path / "1", tmp_path / "2"]
    done = in_process.script("eval_scripts/merge.py", *parts, "--out", tmp_path / "merged")
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "merged", "scores.json") == read(tmp_path / "whole", "scores.json")
    assert in_process.script("eval_scripts/merge.py", parts[0], "--out", tmp_path / "half").returncode == 0
    half = read(tmp_path / "half", "scores.json")
    assert half["accuracy"] is None and half["incomplete"]["accuracy"][0] < half["incomplete"]["accuracy"][1]
    assert half["n_failed"] == 48 - half["n_questions"] > 0  # a shard that is missing shows
    other = run(*base[:3], "none", *base[4:], "--shard", "2/2", "--out", tmp_path / "3")
    assert other.returncode == 0
    done = in_process.script("eval_scripts/merge.py", parts[0], tmp_path / "3", "--out", tmp_path / "x")
    in_process.refused(done, "its memory is 'none'")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--memory", "all"], f"unknown memory 'all'; there are: {', '.join(MEMORIES)}"),
        (["--memory", "none", "--model", "lexical"], "the offline baseline is oracle"),
        (["--memory", "none", "--model", "gpt"], "unknown model 'gpt'"),
        (["--memory", "none", "--prompt", "13"], "prompt: expected one of 1, 2"),
        (["--memory", "none", "--prompt", "1", "--select-prompt"], "neither with --prompt"),
        (["--memory", "none", "--split", "validation", "--select-prompt"], "another one must be scored"),
        (["--memory", "none", "--shard", "1/2", "--select-prompt"], "every shard would choose for itself"),
        (["--memory", "none", "--select-reading"], "expected --memory rag or a memory system, got none"),
        (["--memory", "none", "--split", "train"], "split: expected one of test, validation, got 'train'"),
        (["--memory", "none", "--config", "short"], "got 'short'"),
        (["--memory", "none", "--books", "7"], "books: expected one of 101, 102, got 7"),
        (["--memory", "none", "--max-tokens", "0"], "--max-tokens: expected at least 1, got 0"),
        (["--memory", "rag", "--query", "10"], "--query: expected a number from 0 to 9, got 10"),
        (["--memory", "rag", "--reading", "-1"], "reading: expected a number from 0 to 9, got -1"),
        (["--memory", "rag", "--top-k", "0"], "top_k: expected at least 1, got 0"),
        (["--memory", "rag", "--retriever", "google"], "unknown retriever 'google'"),
        (["--memory", "none", "--prompts", "no.toml"], "no.toml: expected a prompt pack"),
        (["--memory", "none", "--limit", "0"], "limit: expected at least 1, got 0"),
    ],
)
def test_bad_arguments_are_one_line(run, dataset, tmp_path, arguments, match):
    given = [*([] if "--model" in arguments else ["--model", "oracle"]), *arguments]
    done = run("--dataset", dataset, *given, "--out", tmp_path / "r")
    assert done.returncode == 2 and match in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "r").exists()


def test_another_run_in_the_folder_is_refused(run, dataset, tmp_path):
    start = ("--dataset", dataset, "--model", "oracle", "--out", tmp_path / "r", "--memory")
    assert run(*start, "none").returncode == 0
    done = run(*start, "none", "--prompt", 4)
    assert done.returncode == 2 and "its prompt is 3, expected 4" in done.stderr
