"""The evaluation of Book-SORT as a user runs it: the control, a tiny model, an endpoint on loopback, a kill."""

import math
import re

import pandas as pd
import pyarrow.parquet as pq
import pytest

from epbench.runs.results import QUESTIONS
from tests.booksort.sort_set import book_text
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import files_in, lines_of, read, scores_of
from tests.tiny_model import make_tiny_model

EVALUATE = "eval_scripts/booksort.py"
LABELS = "Segment A: word. Segment B: word. Answer: Segment A. Answer: Segment B. " * 50  # so that " A" is one token


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-mine")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), LABELS + book_text(101))


def answers_of(run):
    return lines_of(run / "answers.jsonl")


@pytest.mark.parametrize(
    ("memory", "low", "high"),
    [
        ("in-context", 1, 1),
        ("full-book", 1, 1),
        pytest.param("rag", 0.6, 1, marks=pytest.mark.slow),
        pytest.param("none", 0.3, 0.7, marks=pytest.mark.slow),
    ],
)
def test_the_control_by_every_memory(sort_set, tmp_path, memory, low, high):
    out = tmp_path / "r"
    command = f"{EVALUATE} --dataset {sort_set} --config all --memory {memory} --model oracle --out {out}"
    ran(command)
    scores, before = scores_of(out), files_in(out)
    assert low <= scores["accuracy"] <= high
    assert (scores["n_questions"], scores["n_failed"]) == (96, 0)
    assert {"accuracy", "share_a", "intervals", "by_group"} <= scores.keys()
    about = read(out, "run.json")
    assert about["identity"]["memory"] == memory and about["dataset"] == str(sort_set)
    assert {QUESTIONS, "usage.json", "table.md", "report.html", "answers.jsonl"} <= before.keys()
    if memory == "rag":
        assert len(lines_of(out / "retrieved.jsonl")) == 96 and scores["retrieval"]["recall_at_10"] > 0.9
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["label_mass"] is None  # it tells no probabilities
    assert pq.read_metadata(out / QUESTIONS).num_rows == 96
    ran(command)
    assert files_in(out) == before


def test_a_model_in_process_reads_an_excerpt_once_for_its_four_pairs(sort_set, tiny, tmp_path):
    how = f"--memory in-context --model hf:{tiny} --limit 16"
    said = ran(f"{EVALUATE} --dataset {sort_set} {how} --out {tmp_path / 'r'}")
    assert "16 requests over 4 contexts" in said and "saved by sharing" in said
    answers = answers_of(tmp_path / "r")
    assert len(answers) == 16
    cached = sorted(record["usage"]["cached"] for record in answers)
    # Of four excerpts at most the instructions were read.
    assert cached[0] == 0 and cached[1] == cached[3] < cached[4] / 2
    for record in answers:
        assert record["usage"]["completion"] == 1 and "answer" in record
        assert set(record["probabilities"]) == {"A", "B"} and 0 < sum(record["probabilities"].values()) <= 1
    scores, usage = scores_of(tmp_path / "r"), read(tmp_path / "r", "usage.json")
    assert (scores["n_questions"], scores["n_invalid"], scores["n_failed"]) == (16, 0, 0)
    mass = sum(sum(record["probabilities"].values()) for record in answers) / 16
    assert scores["label_mass"] == pytest.approx(mass) and mass < 0.5  # nobody taught it to answer
    told = "A and B together have only"
    assert told in " ".join(said.split()) and told in (tmp_path / "r/table.md").read_text()
    assert told in (tmp_path / "r/report.html").read_text() and told in scores["warnings"][0]
    neither = sum(record["answer"].strip() not in ("A", "B") for record in answers)
    assert scores["greedy_invalid"] == neither / 16
    assert usage["hit_rate"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "what", "n"), [("in-context", "prompt", 12), ("rag", "reading", 10)])
def test_a_prompt_or_reading_is_chosen_on_the_validation_split(sort_set, tiny, tmp_path, memory, what, n):
    arguments = ["--dataset", sort_set, "--memory", memory, "--model", f"hf:{tiny}", "--limit", 4, "--both-orders"]
    select = [EVALUATE, *arguments, f"--select-{what}", "--out", tmp_path / "r"]
    assert f"{4 * n + 8} requests" in ran(*select, "--plan")  # all about 4 pairs, and 8 askings
    said = ran(*select)
    choice = read(tmp_path / "r", "prompt_selection.json")
    assert len(choice[f"{what}s"]) == n and {one["n"] for one in choice[f"{what}s"]} == {4}
    assert f"→ {choice[what]} " in said and choice["reason"][:40] in said
    assert {int(record["id"].split("-")[2]) for record in lines_of(tmp_path / "r/prompt_answers.jsonl")} <= {6, 7}
    assert {int(record["id"].split("-")[2]) for record in answers_of(tmp_path / "r")} <= set(range(6))
    ran(EVALUATE, *arguments, f"--{what}", choice[what], "--out", tmp_path / "direct")
    told = [{r["id"]: r["probabilities"] for r in answers_of(tmp_path / name)} for name in ("r", "direct")]
    assert told[0] == told[1] and len(told[0]) == 8


def asked(sort_set, endpoint, out, memory):
    """What a command prints that asks a model at an endpoint."""
    model = f"--model openai:tiny --base-url {endpoint.url}"
    return ran(f"{EVALUATE} --dataset {sort_set} --memory {memory} {model} --limit 12 --out {out}")


@pytest.mark.slow
def test_an_endpoint_writes_its_answer(sort_set, tmp_path):
    """It says what it finds, as words; nothing begins the answer, and 25 tokens are asked for."""

    def answer(prompt):
        segments = [re.search(rf"Segment {label}: (.*)", prompt)[1] for label in "AB"]
        first, second = (prompt.index(segment) for segment in segments)
        if min(first, second) > prompt.index("Segment A: "):
            return "I cannot tell."
        return "After reading, Segment A came first." if first < second else "**Answer: Segment B**"

    with LoopbackEndpoint(answer) as endpoint:
        asked(sort_set, endpoint, tmp_path / "r", "in-context")
        asked(sort_set, endpoint, tmp_path / "none", "none")
    for call in endpoint.calls:
        assert call.body["max_tokens"] == 25 and call.body["messages"][-1]["role"] == "user"
        assert not call.user.rstrip().endswith("Answer: Segment")
    scores = scores_of(tmp_path / "r")
    assert (scores["accuracy"], scores["n_invalid"]) == (1.0, 0)
    silent = scores_of(tmp_path / "none")
    assert (silent["accuracy"], silent["n_invalid"], silent["n_questions"], silent["n_failed"]) == (0.0, 12, 12, 0)
    files = [path for path in (tmp_path / "r").iterdir() if path.is_file() and path.name != QUESTIONS]
    assert not [path for path in files if "secret-of-mine" in path.read_text()]
    assert "secret-of-mine" not in pd.read_parquet(tmp_path / "r" / QUESTIONS).to_csv()


@pytest.mark.slow
def test_first_token_probabilities_of_an_endpoint_count_where_it_begins_with_a_label(sort_set, tmp_path):
    def told(token, *others):
        top = [{"token": t, "logprob": math.log(p)} for t, p in (token, *others)]
        return {"choice": {"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}}

    for out, text, logprobs in (
        ("summed", "B", told(("B", 0.4), ("A", 0.3), (" A", 0.2))),
        ("parsed", "The answer is B", told(("The", 0.6), ("A", 0.3), ("B", 0.1))),
    ):
        with LoopbackEndpoint(
            lambda prompt, text=text: text, more=lambda body, found=logprobs: dict(found)
        ) as endpoint:
            asked(sort_set, endpoint, tmp_path / out, "none")
    summed, parsed = answers_of(tmp_path / "summed"), answers_of(tmp_path / "parsed")
    assert {record["answer"] for record in summed} == {"B"}
    assert all(record["probabilities"] == pytest.approx({"A": 0.5, "B": 0.4}) for record in summed)
    assert scores_of(tmp_path / "summed")["share_a"] == 1.0
    assert not any("probabilities" in record for record in parsed)
    assert scores_of(tmp_path / "parsed")["share_a"] == 0.0


def test_failed_requests_are_neither_right_nor_wrong_and_are_asked_again(sort_set, tmp_path):
    def faults(number, body):
        return Fault("status", 400, words="content policy") if "Salt and Thunder" in str(body["messages"]) else None

    with LoopbackEndpoint(lambda prompt: "A", script=faults) as endpoint:
        said = asked(sort_set, endpoint, tmp_path / "r", "none")
        first = scores_of(tmp_path / "r")
        assert 0 < first["n_failed"] < 12 and first["n_questions"] + first["n_failed"] == 12
        low, high = first["incomplete"]["accuracy"]
        assert first["accuracy"] is None and high - low == pytest.approx(first["n_failed"] / 12)
        assert f"{low:.2f}–{high:.2f}" in said and "(incomplete)" in said and "content policy" in said
        endpoint.script = lambda number, body: None
        asked(sort_set, endpoint, tmp_path / "r", "none")
    assert (scores_of(tmp_path / "r")["n_questions"], len(endpoint.calls)) == (12, 12 + first["n_failed"])


def test_the_oracle_is_asked_in_both_orders(sort_set, tmp_path):
    base = f"{EVALUATE} --dataset {sort_set} --memory rag --model oracle --out {tmp_path / 'r'}"
    said = ran(base, "--both-orders")
    scores, answers = scores_of(tmp_path / "r"), answers_of(tmp_path / "r")
    assert scores["n_questions"] == 96 and scores["both_orders"]["n_pairs"] == 48
    assert sum(record["id"].endswith("/swapped") for record in answers) == 48 and "consistency" in said
    assert "48 pairs, each asked in both orders" in (tmp_path / "r/report.html").read_text()
    refused(script(base), "its both_orders is True, expected None")


def test_what_does_not_fit_is_refused_with_what_does(sort_set, tmp_path):
    small = make_tiny_model(tmp_path / "small", LABELS + book_text(101), window=650)
    (small / "model.safetensors").unlink()  # would fail if it were looked for
    for memory, fitting in (("in-context", "in-context with --config e120_s20, none"), ("full-book", "e120_s20, none")):
        done = script(f"{EVALUATE} --dataset {sort_set} --memory {memory} --model hf:{small} --out {tmp_path / 'r'}")
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert "has 650" in done.stderr and fitting in done.stderr
        assert not (tmp_path / "r").exists()


def test_a_plan_asks_nothing(sort_set, tiny, tmp_path):
    plan = f"{EVALUATE} --dataset {sort_set} --memory in-context --model hf:{tiny} --plan --out {tmp_path / 'r'}"
    said = ran(plan)
    assert "48 requests over 12 contexts" in said and "at most 48 answer tokens" in said
    # 12 prompts, 3 readings of 4 held-out excerpts
    assert "240 requests over 24 contexts" in ran(plan, "--select-prompt")
    assert not (tmp_path / "r").exists()
