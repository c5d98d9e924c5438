"""Fine-tuning by OpenAI's API: files in its documented format, the paper's settings, no key, and the name that comes back."""

import json
from collections import Counter

import pytest

from epbench import load_book
from epbench.models.load import load_model
from epbench.models.openai.wire import chat_body
from epbench.tulving.context.requests import Reading, load_prompts
from epbench.tulving.finetuning.material import (
    EXAMPLES,
    LEAST,
    SETTINGS,
    training_questions,
    training_requests,
    tuned_model,
    write_job,
)
from tests.refusals import refusal
from tests.scripts.in_process import refused
from tests.tulving.finetuning.tiny_book import N_TRAINED

SCRIPT, BASE, TUNED = "finetune/tulving_qa.py", "gpt-4o-mini-2024-07-18", "ft:gpt-4o-mini-2024-07-18:me:book:a1b2"
KEY = "sk-proj-0123456789abcdefghijklmnop"


def problems_in(path):
    """What OpenAI's guide has its users check in a file of chats before they upload it; empty if nothing is wrong."""
    found = Counter()
    lines = path.read_text("utf-8").splitlines()
    for line in lines:
        example = json.loads(line)
        messages = example.get("messages")
        found["other fields"] += set(example) != {"messages"}
        found["no list"] += not isinstance(messages, list) or not messages
        for message in messages:
            found["message keys"] += set(message) != {"role", "content"}
            found["role"] += message["role"] not in ("system", "user", "assistant")
            found["content"] += not isinstance(message["content"], str) or not message["content"].strip()
        found["no answer"] += messages[-1]["role"] != "assistant"
    found["too few"] += len(lines) < 10
    return +found


@pytest.fixture
def job(script, book, tmp_path, monkeypatch):
    """What the script writes while a key is at hand."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = script(SCRIPT, "--dataset", book, "--model", f"openai:{BASE}", "--out", tmp_path / "job")
    assert done.returncode == 0 and f"{N_TRAINED} questions" in done.stdout, done.stderr
    return tmp_path / "job"


def test_the_files_are_what_the_api_takes_and_hold_no_key(job):
    assert {path.name for path in job.iterdir()} == {EXAMPLES, SETTINGS}
    assert problems_in(job / EXAMPLES) == {}
    assert not any(KEY in path.read_text("utf-8") for path in job.iterdir())
    settings = json.loads((job / SETTINGS).read_text())
    hyperparameters = {"n_epochs": 30, "batch_size": 64, "learning_rate_multiplier": 1.8}  # paper: Section 5.1
    method = {"type": "supervised", "supervised": {"hyperparameters": hyperparameters}}
    assert settings == {"model": BASE, "seed": 1, "method": method}


def test_each_question_is_trained_once_in_the_messages_that_ask_it(job, book):
    data, reading = load_book(str(book)), Reading(memory="none", prompts=load_prompts(None))
    questions = training_questions(str(book))
    asked = {question.id: question.answer for question in questions}
    expected = [
        [*chat_body(request, BASE)["messages"], {"role": "assistant", "content": asked[request.id]}]
        for request in training_requests(questions, data, reading)
    ]
    found = [json.loads(line)["messages"] for line in (job / EXAMPLES).read_text("utf-8").splitlines()]
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, expected)) and found != expected
    trained = {row["question"]: row for row in data.rows if row["question"] in {one.question for one in questions}}
    requests = reading.requests(data, list(trained.values()), "none")
    prompts = [chat["messages"] for chat in (chat_body(request, BASE) for request in requests)]
    assert len(prompts) == 8 and all(prompt in [chat[:-1] for chat in found] for prompt in prompts)


def test_other_settings_are_written_and_the_order_follows_the_seed(script, book, tmp_path, job):
    more = ("--num_train_epochs", 3, "--batch_size", 8, "--seed", 5)
    for name in ("a", "b"):
        done = script(SCRIPT, "--dataset", book, "--model", f"openai:{BASE}", *more, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "a" / SETTINGS).read_text())
    assert settings["seed"] == 5 and settings["method"]["supervised"]["hyperparameters"]["n_epochs"] == 3
    a, b, other = ((folder / EXAMPLES).read_bytes() for folder in (tmp_path / "a", tmp_path / "b", job))
    assert a == b != other and sorted(a.splitlines()) == sorted(other.splitlines())


def test_too_few_examples_are_refused(book, tmp_path):
    questions = training_questions(str(book))[: LEAST - 1]
    requests = training_requests(questions, load_book(str(book)), Reading(memory="none"))
    pairs = [(request, question.answer) for request, question in zip(requests, questions, strict=True)]
    few = refusal(write_job, tmp_path / "job", BASE, pairs, epochs=30, batch_size=64, seed=1)
    assert "at least 10 examples, found 9" in few and not (tmp_path / "job").exists()


def written(path, **fields):
    path.write_text(json.dumps({"object": "fine_tuning.job", "id": "ftjob-1", "error": None, **fields}))
    return path


def test_the_name_of_the_model_is_read_back(script, book, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    saved = written(tmp_path / "job.json", status="succeeded", fine_tuned_model=TUNED)
    assert tuned_model(str(saved)) == tuned_model(TUNED) == tuned_model(f"openai:{TUNED}") == f"openai:{TUNED}"
    assert load_model(tuned_model(TUNED)).name == f"openai:{TUNED}"
    done = script(SCRIPT, "--dataset", book, "--model", f"openai:{BASE}", "--job", saved, "--out", tmp_path / "job")
    assert done.returncode == 0 and not (tmp_path / "job").exists()
    assert f"--dataset {book} --memory none --model openai:{TUNED}" in done.stdout


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"status": "running", "fine_tuned_model": None}, "found status 'running'"),
        ({"status": "succeeded"}, "fine_tuned_model"),
        ({"status": "succeeded", "fine_tuned_model": "gpt-4o"}, "expected a job that succeeded"),
    ],
)
def test_a_job_that_did_not_succeed_is_refused(tmp_path, fields, problem):
    assert problem in refusal(tuned_model, str(written(tmp_path / "job.json", **fields)))
    assert "gpt-4o" in refusal(tuned_model, "gpt-4o")


def test_a_book_is_needed_and_a_job_belongs_to_openai(script, book, tmp_path):
    refused(script(SCRIPT, "--model", f"openai:{BASE}", "--out", tmp_path), "give --dataset")
    refused(script(SCRIPT, "--dataset", book, "--model", "smollm2", "--job", TUNED, "--out", tmp_path), "--job")
