"""What is sent for labels and schemas, and how a reply is read: probabilities, tokens, reasoning."""

import json
import logging
import math
import threading

import pytest

from epbench.models.openai.wire import Dialect, chat_body
from epbench.models.protocol import Request, Sampling
from epbench.tulving.judging.load import load_judge_prompts
from epbench.tulving.judging.verdicts import JudgeInput
from tests.models.endpoint_asks import book, key, model_of, replies  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint


def labelled(logprobs, **options):
    request = Request("1", "", "book", "A or B?", labels=("A", "B", "C"), **options)
    with LoopbackEndpoint(more=lambda body: {"choice": {"logprobs": logprobs}}) as endpoint:
        (reply,) = model_of(endpoint).answer([request])
    return reply, endpoint.calls[0].body


def test_probabilities_of_labels_sum_their_spellings():
    spelled = {"A": 0.5, " A": 0.2, "\nA": 0.05, "a": 0.01, "B": 0.1, "Because": 0.05}
    top = [{"token": token, "logprob": math.log(p)} for token, p in spelled.items()]
    logprobs = {"content": [top[0] | {"top_logprobs": top}, {"token": "B", "logprob": 0.0, "top_logprobs": []}]}
    reply, body = labelled(logprobs, sampling=Sampling(max_tokens=3))
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 3)
    assert reply.probabilities == pytest.approx({"A": 0.75, "B": 0.1, "C": 0.0})


@pytest.mark.parametrize(
    "logprobs", [None, {"content": []}, {"content": [{"token": "A"}]}, {"content": [{"token": "The", "logprob": -0.1}]}]
)
def test_without_logprobs_or_behind_another_word_there_are_no_probabilities(logprobs):
    reply, _ = labelled(logprobs)
    assert reply.probabilities is None and reply.failure is None and reply.text


def test_a_schema_is_passed_on():
    schema = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}
    with LoopbackEndpoint(lambda prompt: '{"items": []}') as endpoint:
        got = replies(endpoint, book(1, schema=schema))
    assert json.loads(got["the book-0"].text) == {"items": []}
    assert endpoint.calls[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True},
    }


@pytest.mark.parametrize(
    ("message", "reasoning", "text"),
    [
        ({"content": "<think>hm</think>\nParis"}, "hm", "Paris"),
        ({"content": "Paris", "reasoning_content": "hm"}, "hm", "Paris"),
        ({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Paris"}]}, "", "Paris"),
    ],
)
def test_reasoning_is_apart_from_the_answer(message, reasoning, text):
    with LoopbackEndpoint(more=lambda body: {"message": message}) as endpoint:
        reply = replies(endpoint, book(1))["the book-0"]
    assert (reply.reasoning, reply.text, reply.failure) == (reasoning, text, None)


def test_a_model_that_wants_another_name_for_max_tokens_gets_it():
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    fault = Fault("status", 400, words=words)
    with LoopbackEndpoint(script=lambda number, body: fault if "max_tokens" in body else None) as endpoint:
        got = replies(endpoint, book(3, sampling=Sampling(max_tokens=9)), attempts=1)
    assert not any(reply.failure for reply in got.values())
    assert [call.body.get("max_completion_tokens") for call in endpoint.calls] == [None, 9, 9, 9]


def test_fields_that_a_model_does_not_take_are_left_out_with_a_warning(caplog):
    words = "Unsupported value: '{}' does not support 0 with this model. Only the default (1) value is supported."

    def picky(number, body):
        refused = next((name for name in ("temperature", "logprobs") if name in body), None)
        return refused and Fault("status", 400, words=words.format(refused))

    asked = [Request(str(i), "", "", f"question {i}", labels=("A", "B")) for i in range(3)]
    with LoopbackEndpoint(script=picky) as endpoint, caplog.at_level(logging.WARNING):
        found = replies(endpoint, asked, concurrency=1)
    assert all(reply.failure is None and reply.probabilities is None for reply in found.values())
    assert len(endpoint.calls) == 5 and "temperature" not in endpoint.calls[-1].body
    assert not {"logprobs", "top_logprobs"} & endpoint.calls[-1].body.keys()
    warnings = [record.getMessage() for record in caplog.records if "it answers without" in record.getMessage()]
    assert len(warnings) == 2 and "takes no temperature" in warnings[0] and "takes no logprobs" in warnings[1]


def refusing(fault, *forms):
    """An endpoint's script with a fault for requests with these types of response_format."""
    return lambda number, body: fault if body.get("response_format", {}).get("type") in forms else None


NO_SCHEMAS = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
EXTRA = {"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}
ONE_OF = {"loc": ["body", "response_format", "type"], "msg": "Input should be 'text' or 'json_object'"}


@pytest.mark.parametrize(
    ("forms", "fault"),
    [
        (["json_schema"], Fault("status", 400, words=NO_SCHEMAS)),
        (["json_schema"], Fault("status", 422, body={"detail": [ONE_OF]})),
        (["json_schema"], Fault("status", 400, words="Failed to parse grammar")),
        (["json_schema", "json_object"], Fault("status", 422, body={"detail": [EXTRA]})),
    ],
)
def test_an_endpoint_without_schemas_is_asked_for_any_json_object_or_by_the_prompt_alone(forms, fault, caplog):
    with (
        LoopbackEndpoint(lambda prompt: "{}", script=refusing(fault, *forms)) as endpoint,
        caplog.at_level(logging.WARNING),
    ):
        got = replies(endpoint, book(40, schema={"type": "object"}), concurrency=8)
    assert len(got) == 40 and not any(reply.failure for reply in got.values())
    sent = [call.body.get("response_format", {}).get("type") for call in endpoint.calls]
    assert sent == [*forms, *["json_object" if len(forms) == 1 else None] * 40]
    warnings = [record.getMessage() for record in caplog.records if "JSON" in record.getMessage()]
    assert len(warnings) == len(forms)
    assert warnings[0].startswith("openai:tiny takes no JSON schema; it is asked for any JSON object instead (4")


def test_refusals_of_requests_that_were_open_at_once_count_once():
    """Eight are refused together; the form that the endpoint does take is not given up with the one that it does not."""
    schemas, together = refusing(Fault("status", 400, words=NO_SCHEMAS), "json_schema"), threading.Barrier(8)
    requests = [Request(str(i), "", "", f"question {i}", schema={}) for i in range(40)]

    def refused_together(number, sent):
        if fault := schemas(number, sent):
            together.wait(60)
        return fault

    with LoopbackEndpoint(lambda prompt: "{}", script=refused_together) as endpoint:
        got = replies(endpoint, requests, concurrency=8, timeout_s=300)
    assert not any(reply.failure for reply in got.values())
    forms = [call.body["response_format"]["type"] for call in endpoint.calls]
    assert forms.count("json_object") == 40 and forms.count("json_schema") == 8


def test_several_refused_fields_are_learned_one_after_another():
    """A strict gateway names all that it does not know, or only the first."""

    def strict(number, sent):
        field = next((field for field in ("seed", "temperature", "response_format") if field in sent), None)
        return field and Fault("status", 422, body={"detail": [EXTRA | {"loc": ["body", field]}]})

    with LoopbackEndpoint(lambda prompt: "{}", script=strict) as endpoint:
        got = replies(endpoint, book(5, schema={}))
    assert not any(reply.failure for reply in got.values()) and len(endpoint.calls) == 5 + 4
    assert not {"seed", "temperature", "response_format"} & endpoint.calls[-1].body.keys()


def test_a_prompt_that_is_too_long_is_not_blamed_on_the_schema():
    words = (
        "maximum context length is 8192 tokens, yours has 9000 (40 in the response_format schemas): reduce the length"
    )
    with LoopbackEndpoint(script=refusing(Fault("status", 400, words=words), "json_schema")) as endpoint:
        got = replies(endpoint, book(3, schema={}))
    assert all(reply.failure.startswith("400 maximum context") for reply in got.values()) and len(endpoint.calls) == 3


def test_the_word_json_is_in_every_prompt_that_is_not_held_to_a_schema():
    """OpenAI refuses `json_object` without it."""
    bare, spoken = (Request("1", "You judge.", "", question, schema={}) for question in ("right?", "right? In JSON."))
    for form in ("json_object", "prompt"):
        bodies = [chat_body(asked, "m", Dialect(answer_format=form)) for asked in (bare, spoken)]
        prompts = [body["messages"][-1]["content"] for body in bodies]
        assert prompts == ["right?\n\nAnswer with one JSON object.", "right? In JSON."]
    assert chat_body(bare, "m")["messages"][-1]["content"] == "right?"
    case = JudgeInput("1", "who?", "entities", "all", ("Zoe", "Ann"), "Zoe and Ann")
    ours = load_judge_prompts()
    for asked in (ours.verdict_request(case, "k", 9), ours.order_request(case, "k", 9)):
        assert "JSON" in asked.user + asked.system
