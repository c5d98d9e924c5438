"""What is sent for labels and schemas, and how a reply is read: probabilities, tokens, reasoning."""

import json
import math
from importlib.util import find_spec

import pytest

from epbench.models.protocol import Request, Sampling, Usage
from tests.models.endpoint_asks import book, key, model_of, replies  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="openai is not installed")


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
    "logprobs", [None, {}, {"content": None}, {"content": []}, "none", {"content": [{"token": "A"}]}]
)
def test_without_logprobs_there_are_no_probabilities(logprobs):
    reply, _ = labelled(logprobs)
    assert reply.probabilities is None and reply.failure is None and reply.text


def test_without_labels_no_logprobs_are_requested():
    with LoopbackEndpoint() as endpoint:
        replies(endpoint, book(1))
    assert not {"logprobs", "top_logprobs", "response_format"} & set(endpoint.calls[0].body)


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
    ("usage", "expected"),
    [
        (
            {"prompt_tokens": 90, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 64}},
            Usage(90, 64, 4),
        ),
        ({"prompt_tokens": 90, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(90, 0, 4)),
        ({}, Usage()),
        ({"prompt_tokens": "90", "completion_tokens": -4, "prompt_tokens_details": [64]}, Usage()),
        ({"prompt_tokens": 9.0, "completion_tokens": {"text": 4}, "prompt_tokens_details": "none"}, Usage(9, 0, 0)),
        ([90, 4], Usage()),
        (None, Usage()),
    ],
)
def test_usage_is_read(usage, expected):
    with LoopbackEndpoint(more=lambda body: {"usage": usage}) as endpoint:
        reply = replies(endpoint, book(1))["the book-0"]
    assert (reply.usage, reply.failure) == (expected, None)


@pytest.mark.parametrize(
    ("message", "reasoning", "text"),
    [
        ({"content": "<think>hm</think>\nParis"}, "hm", "Paris"),
        ({"content": "Paris", "reasoning_content": "hm"}, "hm", "Paris"),
        ({"content": "Paris", "reasoning": "hm"}, "hm", "Paris"),
        ({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Paris"}]}, "", "Paris"),
    ],
)
def test_reasoning_is_apart_from_the_answer(message, reasoning, text):
    with LoopbackEndpoint(more=lambda body: {"message": message}) as endpoint:
        reply = replies(endpoint, book(1))["the book-0"]
    assert (reply.reasoning, reply.text, reply.failure) == (reasoning, text, None)
