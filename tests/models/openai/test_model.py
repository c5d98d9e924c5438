import logging
import re
import threading
import urllib.request

import pytest

from epbench.models.openai.concurrency import Gate
from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Request, Sampling
from tests.models import loopback_endpoint as loopback
from tests.models.endpoint_asks import KEY, book, key, model_of, replies  # noqa: F401
from tests.models.loopback_endpoint import BROKEN, HANG, SLOW_DOWN, Fault, LoopbackEndpoint, first_calls
from tests.refusals import refusal

PATIENT_S = 300.0  # of a try that should not be cut however busy the machine is


def some_time(endpoint: LoopbackEndpoint) -> None:
    """As long as the endpoint takes for so many other calls."""
    for _ in range(20):
        urllib.request.urlopen(f"{endpoint.url}/models").close()


def test_questions_are_answered_and_the_request_is_as_documented():
    request = Request("q1", "You read.", "the book", "who?", Sampling(max_tokens=7, temperature=0.5, seed=3), repeat=2)
    with LoopbackEndpoint() as endpoint:
        (reply,) = model_of(endpoint).answer([request])
    assert (reply.id, reply.key, reply.text) == ("q1", request.key("openai:tiny"), "answer to who?")
    assert (reply.failure, reply.probabilities, reply.reasoning) == (None, None, "")
    (call,) = endpoint.calls
    assert call.headers["authorization"] == f"Bearer {KEY}"
    messages = [{"role": "system", "content": "You read."}, {"role": "user", "content": "the book\n\nwho?"}]
    assert call.body == {"model": "tiny", "messages": messages, "temperature": 0.5, "max_tokens": 7, "seed": 5}


def test_the_first_of_a_context_goes_alone_then_the_others_together_then_the_next_context():
    with LoopbackEndpoint() as endpoint:
        got = replies(endpoint, book(20, "book A") + book(20, "book B"), concurrency=4)
    assert len(got) == 40 and not any(reply.failure for reply in got.values())
    asked = [call.question for call in endpoint.calls]
    firsts = {name: asked.index(f"question book {name} 0") for name in "AB"}
    assert firsts["A"] == 0 and firsts["B"] >= 17  # up to three of A may be open, but none waits
    for name, first in firsts.items():
        others = [call for i, call in enumerate(endpoint.calls) if f"book {name}" in call.question and i != first]
        assert min(call.began for call in others) >= endpoint.calls[first].ended
    assert endpoint.peak <= 4


@pytest.mark.parametrize("context", ["", "chunk {}"])
def test_requests_that_share_no_context_do_not_wait(context):
    requests = [Request(str(i), "system", context.format(i), f"question {i}") for i in range(24)]
    with LoopbackEndpoint(may_answer=lambda call: endpoint.open >= min(8, 24 - endpoint.answered)) as endpoint:
        replies(endpoint, requests, concurrency=8, timeout_s=PATIENT_S)
    assert endpoint.peak == 8 and not endpoint.stuck


@pytest.mark.slow
def test_concurrency_grows_where_the_endpoint_bears_it():
    """Each answer adds a request, from 8 to 64: the endpoint gives one only when so many are open as that implies."""
    with LoopbackEndpoint() as endpoint:
        endpoint.may_answer = lambda _: endpoint.open >= min(8 + endpoint.answered, 64, 200 - endpoint.answered)
        replies(endpoint, [Request(str(i), "", f"chunk {i}", "q") for i in range(200)], timeout_s=PATIENT_S)
    assert endpoint.peak == 64 and not endpoint.stuck


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (SLOW_DOWN, "429 Rate limit reached"),
        (BROKEN, "500 Internal error"),
        (HANG, "no answer within 0.1 s"),
        (loopback.CUT, "connection failed: .*"),
        (loopback.DROP, "connection failed: .*"),
        (loopback.GARBAGE, "the answer is no JSON: <html>Bad gateway</html>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_after_the_last_attempt_the_reason_is_given(fault, words):
    with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
        (reply,) = model_of(endpoint, timeout_s=0.1 if fault is HANG else 30).answer(book(1))
    assert len(endpoint.calls) == 5
    assert (reply.text, reply.id) == ("", "the book-0")
    assert re.fullmatch(rf"{words} \(5 attempts\)", reply.failure), reply.failure
    assert "\n" not in reply.failure


def test_retry_after_pauses_all_requests(monkeypatch):
    pauses = []
    monkeypatch.setattr(Gate, "pause", lambda gate, seconds: pauses.append(seconds))
    with LoopbackEndpoint(script=first_calls(None, Fault("status", 429, {"Retry-After": "0.6"}))) as endpoint:
        got = replies(endpoint, book(9), concurrency=2, timeout_s=PATIENT_S)
    assert pauses == [0.6] and not any(reply.failure for reply in got.values())


def test_the_quota_of_a_day_ends_the_run_in_failures_that_the_next_start_asks_again():
    fault = Fault("status", 429, {"Retry-After": "86400"}, "Daily limit")
    with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
        got = replies(endpoint, book(50))
    assert len(endpoint.calls) == 1
    assert got["the book-0"].failure.startswith("429 Daily limit (the endpoint asks to wait 86")
    assert got["the book-49"].failure.startswith("the endpoint asks to wait 86")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("status", 400, words="maximum context\nlength"), "400 maximum context length"),
        (Fault("status", 400, words=f"Incorrect API key: {KEY}"), "400 Incorrect API key: ***"),
        (Fault("status", 404, body={"detail": "no such model"}), "404 no such model"),
        (Fault("status", 422, body={"message": "temperature"}), "422 temperature"),
        (Fault("status", 429, body={"error": {"message": "pay", "code": "insufficient_quota"}}), "429 pay"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_pass_is_reported_at_once(fault, words):
    with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
        got = replies(endpoint, book(3))
    assert len(endpoint.calls) == 3
    assert {reply.failure for reply in got.values()} == {words}


def test_an_endpoint_that_is_not_there_is_a_failure():
    model = EndpointModel("tiny", base_url="http://127.0.0.1:9/v1", attempts=2, backoff_base_s=0.01)
    (reply,) = model.answer(book(1))
    assert reply.failure.startswith("connection failed: ") and reply.failure.endswith("(2 attempts)")


def test_closing_early_cancels_what_is_open():
    with LoopbackEndpoint(may_answer=lambda call: endpoint.answered < 10) as endpoint:
        answers = model_of(endpoint, concurrency=4, timeout_s=PATIENT_S).answer(book(500))
        for _ in range(10):
            next(answers)
        answers.close()  # what is open would be held for a minute
        some_time(endpoint)
        assert len(endpoint.calls) <= 10 + 3  # the tenth reply was the reader's, and its slot not yet free
    assert not endpoint.stuck
    assert not [thread for thread in threading.enumerate() if thread.name == "epbench-requests"]


def test_a_reader_that_stops_reading_stops_the_spending():
    with LoopbackEndpoint() as endpoint:
        answers = model_of(endpoint, concurrency=3).answer(book(100))
        next(answers)
        some_time(endpoint)
        assert len(endpoint.calls) <= 1 + 3
        assert len(list(answers)) == 99


def test_an_error_of_ours_is_raised_where_the_replies_are_read():
    with LoopbackEndpoint() as endpoint:
        model = model_of(endpoint)
        model._call = lambda *_: 1 // 0
        with pytest.raises(ZeroDivisionError):
            list(model.answer(book(1) + book(2, "other")))


def test_the_key_is_in_no_failure_and_no_log(caplog):
    words = f"key {KEY} is wrong"
    faults = [Fault("status", status, words=words) for status in (400, 401, 429, 500)]
    faults.append(Fault("status", 200, body={"error": KEY}))
    with caplog.at_level(logging.DEBUG), LoopbackEndpoint(script=first_calls(*faults * 2)) as endpoint:
        model = model_of(endpoint, attempts=2)
        got = list(model.answer(book(8)))
        model.window()
    assert sum(reply.failure is not None for reply in got) >= 2
    assert KEY not in "".join(reply.failure or "" for reply in got)
    assert KEY not in caplog.text and KEY not in repr(model)


def test_a_key_from_a_file_with_a_newline_is_used_and_hidden(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    with LoopbackEndpoint(script=first_calls(Fault("status", 400, words=f"{'x' * 380} {KEY}"))) as endpoint:
        refused, answered = model_of(endpoint).answer(book(2))
    assert KEY[:6] not in refused.failure and answered.failure is None
    assert endpoint.calls[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_window_is_given_or_listed_or_unknown():
    listed = {"data": [{"id": "other", "max_model_len": 1}, {"id": "tiny", "max_model_len": 4096}]}
    with LoopbackEndpoint(models=listed) as endpoint:
        assert model_of(endpoint).window() == 4096
        assert model_of(endpoint, window=77).window() == 77
        assert EndpointModel("unlisted", base_url=endpoint.url).window() is None
    with LoopbackEndpoint() as endpoint:
        assert model_of(endpoint).window() is None
    with LoopbackEndpoint(models={"data": [{"id": "tiny", "max_model_len": "long"}]}) as endpoint:
        assert model_of(endpoint).window() is None
    assert EndpointModel("tiny", base_url="http://127.0.0.1:9/v1").window() is None


def test_tokens_are_estimated():
    model = EndpointModel("tiny", base_url="http://127.0.0.1:9/v1")
    assert model.count_tokens(Request("1", "1234", "x" * 400, "y" * 38)) == (111, 101)
    assert model.name == "openai:tiny"


def test_a_local_endpoint_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with LoopbackEndpoint() as endpoint:
        assert replies(endpoint, book(1))["the book-0"].failure is None
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (reply,) = EndpointModel("tiny").answer(book(1))
        assert reply.failure is None
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert "OPENAI_API_KEY" in refusal(EndpointModel, "tiny")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("", {}, "a model name"),
        ("tiny", {"concurrency": 0}, "concurrency of openai:tiny: expected at least 1, got 0"),
        ("tiny", {"timeout_s": 0}, "timeout of openai:tiny: expected a finite number of seconds above 0, got 0"),
        ("tiny", {"timeout_s": float("nan")}, "expected a finite number of seconds above 0, got nan"),
    ],
)
def test_bad_input_is_one_line(name, options, words):
    assert words in refusal(EndpointModel, name, **options)
