"""A Tulving book in inspect_ai: the scores of our own evaluation, one text of the book in a log, lost answers as errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval_task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import read_eval_log

from epbench.interop.inspect import tulving
from epbench.tulving.dataset.load import load_book
from tests.interop.inspect.runs import content_of, metrics_of, output, ran
from tests.interop.scripted_answers import scored_by_script, scripted_answers
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def test_questions_and_scores_are_those_of_our_own_evaluation_and_the_book_is_in_the_log_once(
    script, short_book, tmp_path
):
    """The model finds its question in the prompt, behind the whole book."""
    data = load_book(str(short_book))
    book, answers = data.book.text, scripted_answers(data.rows)
    said = {row["question"]: answers[row["id"]] for row in data.rows}
    assert len(said) == len(data.rows)

    def answer(prompt: str) -> str:
        _, after = prompt.split(book)
        (found,) = [question for question in said if question in after]
        return said[found]

    log = ran(tulving(dataset=str(short_book)), answer, tmp_path / "logs")
    scores, questions = scored_by_script(script, short_book, answers, tmp_path / "run")
    assert log.status == "success"
    f1 = {sample.metadata["id"]: sample.scores["episodic_f1"].value for sample in log.samples}
    assert f1 == pytest.approx(dict(questions["f1"]), abs=1e-9)
    assert len(set(questions["f1"].round(2))) > 3  # the answers are right, wrong and in between
    found = metrics_of(log)
    assert found["simple_recall"] == pytest.approx(scores["simple_recall_score"], abs=1e-9)
    assert found["latest"] == pytest.approx(scores["latest"], abs=1e-9)
    by_bin = {name.removeprefix("f1_bin_"): value for name, value in found.items() if name.startswith("f1_bin_")}
    assert by_bin == pytest.approx(scores["f1_by_bin"], abs=1e-9)
    assert 0 < found["stderr"] < 0.2 and 0 < found["mean"] < 1
    assert log.eval.metadata["fingerprint"] == data.fingerprint
    assert content_of(Path(log.location)).count(json.dumps(book, ensure_ascii=False)[1:-1]) == 1
    first = read_eval_log(log.location, resolve_attachments=True).samples[0]
    (noted,) = [event.data["text"] for event in first.events if event.event == "info"]
    assert noted.count(book) == 1


@pytest.mark.parametrize("fault", [None, Fault("status", 401)])
def test_a_provider_that_notes_its_request_before_it_is_answered_leaves_the_book_in_the_log_once(
    fault, short_book, tmp_path, monkeypatch
):
    """As those of real endpoints do, and a mock model does not."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test-1234")
    book = load_book(str(short_book)).book.text
    with LoopbackEndpoint(lambda prompt: "The book does not say.", script=lambda number, body: fault) as endpoint:
        (log,) = inspect_eval_task(
            tulving(dataset=str(short_book)), model="openai/some", model_base_url=endpoint.url, limit=5,
            model_args={"responses_api": False}, log_dir=str(tmp_path), display="none",
        )  # fmt: skip
    assert [call.user.count(book) for call in endpoint.calls] == [1] * 5
    everything = content_of(Path(log.location))
    assert everything.count(json.dumps(book, ensure_ascii=False)[1:-1]) == 1 and "sk-of-this-test" not in everything
    assert [bool(sample.error) for sample in log.samples] == [fault is not None] * 5
    if fault is None:
        first = read_eval_log(log.location, resolve_attachments=True).samples[0]
        (call,) = [event.call for event in first.events if event.event == "model"]
        assert "⟦epbench: context" in call.request["messages"][-1]["content"] and call.response


def test_no_answer_is_an_error_and_no_abstention(short_book, tmp_path):
    rows = load_book(str(short_book)).rows
    numbers = [number for number, row in enumerate(rows, 1) if not row["answer"]][:4]  # abstaining is right there
    lost = [output("  \n"), output("I cannot", "content_filter"), output("It was", "max_tokens")]
    said = {rows[number - 1]["question"]: one for number, one in zip(numbers, lost, strict=False)}
    log = ran(
        tulving(dataset=str(short_book), memory="none"),
        lambda prompt: next((one for question, one in said.items() if question in prompt), "The book does not say."),
        tmp_path,
        sample_id=numbers,
    )
    *failed, answered = log.samples
    assert log.status == "success" and log.results.completed_samples == 1
    for sample, why in zip(failed, ("the reply is empty", "refused to answer", "the answer was cut off"), strict=True):
        assert why in sample.error.message and not sample.scores
    assert answered.scores["episodic_f1"].value == metrics_of(log)["mean"] == 1


def test_a_sample_that_is_asked_again_leaves_the_book_in_the_log(short_book, tmp_path):
    said = iter([output(""), output("The book does not say.")])
    log = ran(tulving(dataset=str(short_book)), lambda prompt: next(said), tmp_path, sample_id=[1], retry_on_error=1)
    sample = read_eval_log(log.location, resolve_attachments=True).samples[0]
    assert sample.error is None and sample.scores
    text = load_book(str(short_book)).book.text
    assert [event.data["text"].count(text) for event in sample.events if event.event == "info"] == [1]


def test_questions_asked_twice_with_another_memory(short_book, tmp_path):
    task = tulving(dataset=str(short_book), memory="rag-chapter")
    log = ran(task, lambda prompt: "Nobody knows.", tmp_path, limit=6, epochs=2)
    assert log.status == "success" and len(log.samples) == 12
    assert 0 <= metrics_of(log)["simple_recall"] <= 1
    assert "Chapter " in log.samples[0].messages[-2].text


def test_what_does_not_exist_is_one_line(tmp_path):
    with pytest.raises(PrerequisiteError, match=r"nowhere\\\[b\]' \(config 'qa'\) is neither a folder nor on the Hub"):
        tulving(dataset=str(tmp_path / "nowhere[b]"))  # brackets would be markup


def test_the_command_of_inspect_finds_the_task_by_the_entry_point_of_the_package(short_book, tmp_path):
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "epbench/tulving", "--model", "mockllm/model"]
    command += ["-T", f"dataset={short_book}", "--limit", "5", "--log-dir", "logs", "--display", "plain"]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(file))
    assert log.status == "success" and log.eval.task == "epbench/tulving"
    assert [sample.id for sample in log.samples] == [1, 2, 3, 4, 5]
