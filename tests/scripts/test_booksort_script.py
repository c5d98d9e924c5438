"""The evaluation of Book-SORT as a user runs it: the control, a tiny model, an endpoint on loopback, a kill."""

import json
import math
import re
from functools import partial

import pandas as pd
import pyarrow.parquet as pq
import pytest

from epbench.booksort.context.requests import MEMORIES
from epbench.runs.results import QUESTIONS
from tests.booksort.sort_set import book_text, write_set
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts import in_process
from tests.tiny_model import make_tiny_model

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


@pytest.fixture
def run(script):
    return partial(script, EVALUATE)


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


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "what", "n"), [("in-context", "prompt", 12), ("rag", "reading", 10)])
def test_a_prompt_or_reading_is_chosen_on_the_validation_split(run, dataset, tiny, tmp_path, memory, what, n):
    arguments = ["--dataset", dataset, "--memory", memory, "--model", f"hf:{tiny}", "--limit", 4, "--both-orders"]
    plan = run(*arguments, f"--select-{what}", "--plan", "--out", tmp_path / "r")
    assert plan.returncode == 0 and f"{4 * n + 8} requests" in plan.stdout  # all about 4 pairs, and 8 askings
    done = run(*arguments, f"--select-{what}", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    choice = read(tmp_path / "r", "prompt_selection.json")
    assert len(choice[f"{what}s"]) == n and {one["n"] for one in choice[f"{what}s"]} == {4}
    assert f"→ {choice[what]} " in done.stdout and choice["reason"][:40] in done.stdout
    assert {int(record["id"].split("-")[2]) for record in lines(tmp_path / "r", "prompt_answers.jsonl")} <= {6, 7}
    assert {int(record["id"].split("-")[2]) for record in lines(tmp_path / "r")} <= set(range(6))
    direct = run(*arguments, f"--{what}", choice[what], "--out", tmp_path / "direct")
    assert direct.returncode == 0, direct.stderr
    told = [{r["id"]: r["probabilities"] for r in lines(tmp_path / name)} for name in ("r", "direct")]
    assert told[0] == told[1] and len(told[0]) == 8


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


@pytest.mark.slow
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


def test_the_oracle_is_asked_in_both_orders(run, dataset, tmp_path):
    base = ("--dataset", dataset, "--memory", "rag", "--model", "oracle", "--both-orders")
    done = run(*base, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    scores, answers = read(tmp_path / "r", "scores.json"), lines(tmp_path / "r")
    assert scores["n_questions"] == 96 and scores["both_orders"]["n_pairs"] == 48
    assert sum(record["id"].endswith("/swapped") for record in answers) == 48 and "consistency" in done.stdout
    assert "48 pairs, each asked in both orders" in (tmp_path / "r/report.html").read_text()
    in_process.refused(run(*base[:-1], "--out", tmp_path / "r"), "its both_orders is True, expected None")


def test_what_does_not_fit_is_refused_with_what_does(run, dataset, tmp_path):
    small = make_tiny_model(tmp_path / "small", LABELS + book_text(101), window=650)
    (small / "model.safetensors").unlink()  # would fail if it were looked for
    for memory, fitting in (("in-context", "in-context with --config e120_s20, none"), ("full-book", "e120_s20, none")):
        done = run("--dataset", dataset, "--memory", memory, "--model", f"hf:{small}", "--out", tmp_path / "r")
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert "has 650" in done.stderr and fitting in done.stderr
        assert not (tmp_path / "r").exists()


def test_a_plan_asks_nothing(run, dataset, tiny, tmp_path):
    arguments = ("--dataset", dataset, "--memory", "in-context", "--model", f"hf:{tiny}", "--out", tmp_path / "r")
    done, chosen = (run(*arguments, "--plan", *more) for more in ([], ["--select-prompt"]))
    assert done.returncode == chosen.returncode == 0, done.stderr
    assert "48 requests over 12 contexts" in done.stdout and "at most 48 answer tokens" in done.stdout
    assert "240 requests over 24 contexts" in chosen.stdout  # 12 prompts, 3 readings of 4 held-out excerpts
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_shards_merge_into_the_whole_run(run, dataset, tmp_path):
    base = ("--dataset", dataset, "--memory", "rag", "--model", "oracle", "--books", 102, "--both-orders")
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
    assert half["both_orders"]["n_incomplete"] == half["n_failed"] / 2
    other = run(*base[:3], "none", *base[4:], "--shard", "2/2", "--out", tmp_path / "3")
    assert other.returncode == 0
    done = in_process.script("eval_scripts/merge.py", parts[0], tmp_path / "3", "--out", tmp_path / "x")
    in_process.refused(done, "its memory is 'none'")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--memory", "all"], f"unknown memory 'all'; there are: {', '.join(MEMORIES)}"),
        (["--memory", "none", "--model", "lexical"], "the offline baseline is oracle"),
        (["--memory", "none", "--prompt", "1", "--select-prompt"], "neither with --prompt"),
        (["--memory", "none", "--shard", "1/2", "--select-prompt"], "every shard would choose for itself"),
        (["--memory", "none", "--max-tokens", "0"], "--max-tokens: expected at least 1, got 0"),
        (["--memory", "rag", "--query", "10"], "--query: expected a number from 0 to 9, got 10"),
        (["--memory", "rag", "--top-k", "0"], "top_k: expected at least 1, got 0"),
        (["--memory", "rag", "--retriever", "google"], "unknown retriever 'google'"),
    ],
)
def test_bad_arguments_are_one_line(run, dataset, tmp_path, arguments, match):
    given = [*([] if "--model" in arguments else ["--model", "oracle"]), *arguments]
    done = run("--dataset", dataset, *given, "--out", tmp_path / "r")
    assert done.returncode == 2 and match in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "r").exists()
