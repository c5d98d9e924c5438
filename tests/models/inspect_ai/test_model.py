"""A model behind a provider of inspect_ai: replies, third outcomes, and our own commands with it as reader and judge."""

from __future__ import annotations

import json
import logging

import pytest
from inspect_ai.model import ChatCompletionChoice, Logprob, Logprobs, ModelOutput, TopLogprob

from epbench.errors import BadInput, RunFailed
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import read_journal
from epbench.models.inspect_ai import MOST_GIVEN_UP, InspectModel
from epbench.models.load import Options, load_model
from epbench.models.protocol import KeepsReplies, Request, Sampling, Usage
from tests.models.inspect_ai.scripted_provider import saying
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.tulving.scripted_judge import honest


def output(text: str, stop_reason: str = "stop") -> ModelOutput:
    return ModelOutput.from_content("name", text, stop_reason=stop_reason)  # type: ignore[arg-type]


def requests(n: int, **fields) -> list[Request]:
    return [Request(f"q{i}", "Be brief.", "The book.", f"Question {i}?", **fields) for i in range(n)]


@pytest.fixture
def model() -> InspectModel:
    found = load_model("inspect:scripted/name")
    assert isinstance(found, InspectModel) and isinstance(found, KeepsReplies)
    return found


def test_replies_to_what_was_asked(model):
    sampling = Sampling(max_tokens=33, temperature=0.5, seed=4)
    with saying(lambda prompt: f"Answer to {prompt.split()[-1]}") as calls:
        replies = {reply.id: reply for reply in model.answer(requests(20, sampling=sampling, repeat=2))}
    assert {id_: reply.text for id_, reply in replies.items()} == {f"q{i}": f"Answer to {i}?" for i in range(20)}
    assert {reply.usage for reply in replies.values()} == {Usage(10, 3, 5)}
    assert {reply.served for reply in replies.values()} == {""}
    for messages, config in calls:
        assert [message.role for message in messages] == ["system", "user"] and messages[0].text == "Be brief."
        assert messages[1].text.startswith("The book.\n\nQuestion ")
        assert (config.max_tokens, config.temperature, config.seed) == (33, 0.5, 6)
    assert calls[0][0][1].text.endswith("Question 0?")  # alone, before the others of its context


def test_a_batch_has_all_requests_at_one_time():
    with saying(lambda prompt: "Yes.") as calls:
        replies = list(load_model("inspect:scripted/name", Options(batch=True)).answer(requests(100)))
    assert len(replies) == 100 and all(reply.failure is None for reply in replies)
    assert all(config.batch is True and config.attempt_timeout is None for _, config in calls)


@pytest.mark.parametrize(
    ("said", "why", "ended"),
    [
        (output("I cannot", "content_filter"), "refused", "content_filter"),
        (output("It was on", "max_tokens"), "the answer was cut off", "length"),
        (ModelOutput(model="name", choices=[]), "the reply is empty", "empty"),
        (ModelOutput(model="name", choices=[ChatCompletionChoice.model_validate(output("x").choices[0].model_dump())], error="overloaded"), "overloaded", "stop"),
        (ValueError("No such deployment"), "No such deployment", "stop"),
    ],
)  # fmt: skip
def test_no_answer_is_a_third_outcome(said, why, ended, model):
    with saying(lambda prompt: said):
        (reply,) = model.answer(requests(1))
    assert reply.failure and why in reply.failure and reply.ended == ended


def test_keys_stay_out_of_the_journal(model, tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPTED_API_KEY", "sk-very-secret-1234")
    says = {"0": ValueError("401: the key sk-very-secret-1234 is wrong"), "1": "It is sk-very-secret-1234."}
    with saying(lambda prompt: says[prompt[-2]]):
        ask(tmp_path / ANSWERS, requests(2), model)
    assert "sk-very-secret" not in (tmp_path / ANSWERS).read_text()
    assert {r["id"]: r.get("answer") for r in read_journal(tmp_path / ANSWERS).values()} == {
        "q0": None,
        "q1": "It is ***.",
    }


def test_a_provider_that_is_gone_ends_the_run(model, tmp_path):
    with saying(lambda prompt: ConnectionError("nobody there")), pytest.raises(RunFailed, match="nobody there"):
        ask(tmp_path / ANSWERS, requests(500), model)
    assert MOST_GIVEN_UP <= len(read_journal(tmp_path / ANSWERS)) < 200


SCHEMA = {"type": "object", "properties": {"choice": {"type": "string"}}, "required": ["choice"]}


def test_a_schema_is_enforced_where_the_provider_can(model, caplog):
    with saying(lambda prompt: '{"choice": "A"}') as calls:
        (reply,) = model.answer(requests(1, schema=SCHEMA))
    assert json.loads(reply.text) == {"choice": "A"}
    schema = calls[0][1].response_schema
    assert schema.strict and schema.json_schema.required == ["choice"] and "JSON" in calls[0][0][1].text
    with (
        caplog.at_level(logging.WARNING, "epbench"),
        saying(lambda prompt: '{"choice": "A"}', lambda config: config.response_schema is not None) as calls,
    ):
        replies = list(model.answer(requests(5, schema=SCHEMA)))
    assert [reply.failure for reply in replies] == [None] * 5
    assert len(calls) == 6  # what was refused once is not asked for again
    assert [record.message for record in caplog.records if "takes no schema" in record.message]


def test_labels_have_probabilities_where_the_provider_gives_them(model):
    likely = output("A")
    tokens = [TopLogprob(token="A", logprob=-1.0), TopLogprob(token="B", logprob=-2.0)]
    likely.choices[0].logprobs = Logprobs(content=[Logprob(token="A", logprob=-1.0, top_logprobs=tokens)])
    with saying(lambda prompt: likely) as calls:
        (reply,) = model.answer(requests(1, labels=("A", "B")))
    assert calls[0][1].logprobs and calls[0][1].top_logprobs == 20
    assert reply.probabilities == pytest.approx({"A": 0.36788, "B": 0.13534}, abs=1e-4)
    with saying(lambda prompt: "Segment B", lambda config: bool(config.logprobs)):
        (reply,) = model.answer(requests(1, labels=("A", "B")))
    assert reply.text == "Segment B" and reply.probabilities is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("inspect:openai/gpt-4o", "OPENAI_API_KEY"),
        ("inspect:no-such-provider/x", "no-such-provider"),
        ("inspect:openai", "expected a provider and a model"),
    ],
)
def test_what_cannot_answer_is_refused_in_one_line(name, why, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInput, match=why) as error:
        load_model(name)
    assert "\n" not in str(error.value) and "[" not in str(error.value).replace("epbench[", "")


def test_a_window_and_an_address_are_given_or_those_of_the_provider(model, monkeypatch):
    assert model.window() is None and model.address == ""
    assert load_model("inspect:scripted/name", Options(window=900)).window() == 900
    monkeypatch.setenv("SCRIPTED_BASE_URL", "http://a/v1/")
    assert load_model("inspect:scripted/name").address == "http://a/v1"
    assert load_model("inspect:scripted/name", Options("http://me:word@b/v1")).address == "http://b/v1"


def test_reader_and_judge_give_the_scores_that_an_endpoint_gives(script, short_book, tmp_path):
    def says(prompt: str) -> str:
        return honest(prompt) if "True items:" in prompt else f"{prompt[3000:3400]} I do not know more."

    common = ("--dataset", short_book, "--memory", "in-context", "--limit", 16)
    with saying(says):
        done = script("eval_scripts/tulving.py", *common, "--model", "inspect:scripted/some", "--judge", "inspect:scripted/some", "--out", tmp_path / "a")  # fmt: skip
        assert done.returncode == 0, done.stderr
    with LoopbackEndpoint(says) as endpoint:
        done = script("eval_scripts/tulving.py", *common, "--model", "openai:some", "--judge", "openai:some", "--base-url", endpoint.url, "--out", tmp_path / "b")  # fmt: skip
        assert done.returncode == 0, done.stderr
    ours, theirs = (json.loads((tmp_path / name / "scores.json").read_text()) for name in "ab")
    for name in ("simple_recall_score", "f1_by_bin", "n_questions", "n_failed"):
        assert ours[name] == theirs[name]
    assert ours["n_failed"] == 0 and ours["simple_recall_score"] > 0
    run = json.loads((tmp_path / "a" / "run.json").read_text())
    assert run["identity"]["model"] == run["judge"]["name"] == "inspect:scripted/some"
