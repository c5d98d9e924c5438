"""What an endpoint refuses is said in another way, or left out and told."""

import logging

from endpoint_asks import book, key, replies  # noqa: F401
from loopback_endpoint import Fault, LoopbackEndpoint

from epbench.models.protocol import Request, Sampling


def test_a_model_that_wants_another_name_for_max_tokens_gets_it():
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    def script(number, body):
        return Fault("status", 400, words=words) if "max_tokens" in body else None

    with LoopbackEndpoint(script=script) as endpoint:
        got = replies(endpoint, book(3, sampling=Sampling(max_tokens=9)), attempts=1)
    assert not any(reply.failure for reply in got.values())
    assert [call.body.get("max_completion_tokens") for call in endpoint.calls] == [None, 9, 9, 9]


def test_fields_that_a_model_does_not_take_are_left_out_and_told(caplog):
    words = (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
    )

    def picky(number, body):
        if "temperature" in body:
            return Fault("status", 400, words=words)
        if "logprobs" in body:
            return Fault("status", 400, words="logprobs is not supported with this model")
        return None

    asked = [Request(str(i), "", "", f"question {i}", labels=("A", "B")) for i in range(3)]
    with LoopbackEndpoint(script=picky) as endpoint, caplog.at_level(logging.WARNING):
        found = replies(endpoint, asked, concurrency=1)
    assert all(reply.failure is None and reply.probabilities is None for reply in found.values())
    assert len(endpoint.calls) == 5 and "temperature" not in endpoint.calls[-1].body
    assert not {"logprobs", "top_logprobs"} & endpoint.calls[-1].body.keys()
    told = [record.getMessage() for record in caplog.records if "it answers without" in record.getMessage()]
    assert len(told) == 2 and "takes no temperature" in told[0] and "takes no logprobs" in told[1]
