"""A run against an endpoint that cannot answer ends soon, with one line, and goes on by the same command."""

from pathlib import Path

import pytest

from epbench.errors import RunFailed
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import read_journal
from epbench.models.load import Options, load_model
from tests.models.endpoint_asks import KEY, book, key, model_of  # noqa: F401
from tests.models.loopback_endpoint import BROKEN, HANG, Fault, LoopbackEndpoint


def kept(folder: Path) -> list[bool]:
    return [record.get("failure") is None for record in read_journal(folder / ANSWERS).values()]


def test_eight_requests_in_a_row_without_an_answer_end_the_run_and_the_same_command_goes_on(tmp_path):
    with LoopbackEndpoint(script=lambda number, body: BROKEN if number >= 5 else None) as endpoint:
        with pytest.raises(RunFailed, match="8 requests in a row .*longer timeout of requests") as error:
            ask(tmp_path / ANSWERS, book(30), model_of(endpoint, attempts=2, concurrency=1))
        assert "\n" not in str(error.value)
        assert kept(tmp_path) == [True] * 5 + [False] * 8
        assert len(endpoint.calls) < 5 + 8 * 2 + 16  # others begin while the eight wait for their second try
        endpoint.script = lambda number, body: None
        ask(tmp_path / ANSWERS, book(30), model_of(endpoint))
    assert kept(tmp_path) == [True] * 30 and set(endpoint.paid().values()) == {1}


def test_an_answer_in_between_breaks_the_row():
    with LoopbackEndpoint(script=lambda number, body: None if number % 8 == 7 else BROKEN) as endpoint:
        replies = list(model_of(endpoint, attempts=1, concurrency=1).answer(book(64)))
    assert sum(reply.failure is None for reply in replies) == 8


@pytest.mark.parametrize(
    ("status", "headers"), [(403, {}), (307, {"Location": f"http://elsewhere.example/v1?key={KEY}"})]
)
def test_the_same_refusal_three_times_in_a_row_ends_the_run_at_once(tmp_path, status, headers):
    fault = Fault("status", status, headers, f"Incorrect API key: {KEY}")
    with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
        with pytest.raises(RunFailed, match=f"3 requests in a row: {status} .*OPENAI_API_KEY") as error:
            ask(tmp_path / ANSWERS, book(100), model_of(endpoint, concurrency=1))
        assert len(endpoint.calls) <= 4
    assert kept(tmp_path) == [False] * 3
    assert KEY not in str(error.value) + (tmp_path / ANSWERS).read_text()


def test_refusals_of_different_words_are_the_questions_own():
    with LoopbackEndpoint(script=lambda number, body: Fault("status", 403, words=f"flagged: {number}")) as endpoint:
        assert len(list(model_of(endpoint).answer(book(20)))) == 20


def test_no_redirect_is_followed_anywhere():
    with LoopbackEndpoint() as other:
        target = f"{other.url}/chat/completions"
        fault = Fault("status", 307, {"Location": f"{target}?token=abc"})
        with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
            (reply,) = model_of(endpoint).answer(book(1))
            assert len(endpoint.calls) == 1
    assert other.calls == []
    assert reply.failure == f"307 redirects to {target}; no redirect is followed"


def test_the_timeout_of_a_try_is_an_option():
    with LoopbackEndpoint(script=lambda number, body: HANG) as endpoint:
        model = load_model("openai:tiny", Options(endpoint.url, request_timeout=0.1))
        model._attempts = 1
        (reply,) = model.answer(book(1))
    assert reply.failure == "no answer within 0.1 s (1 attempts)"
