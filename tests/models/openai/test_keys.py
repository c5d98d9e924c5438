"""No key reaches a file, a message or a log: not the environment's, and none of an address."""

import json
from base64 import b64encode

import pytest

from epbench.journals.answers import ANSWERS, ask
from epbench.models.openai.model import EndpointModel
from tests.models.endpoint_asks import KEY, book, key, model_of  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.refusals import refusal

WORD = "aSecretWordInTheAddress"


def test_a_reply_that_quotes_keys_is_kept_without_them(tmp_path):
    login = b64encode(f"me:{WORD}".encode()).decode()
    quoted = f"May 07; your header was Basic {login}, {KEY} and {b64encode(KEY.encode()).decode()}; see http://a.b/?c=d"
    with LoopbackEndpoint(lambda prompt: quoted, more=lambda body: {"message": {"content": quoted, "reasoning": quoted}}) as endpoint:  # fmt: skip
        url = endpoint.url.replace("http://", f"http://me:{WORD}@")
        ask(tmp_path / ANSWERS, book(2), EndpointModel("tiny", base_url=url))
    text = (tmp_path / ANSWERS).read_text()
    assert not [secret for secret in (login, KEY, WORD, b64encode(KEY.encode()).decode()) if secret in text]
    for record in map(json.loads, text.splitlines()):
        hidden = "May 07; your header was Basic ***, *** and ***; see http://a.b/?c=d"
        assert record["answer"] == record["reasoning"] == hidden


def test_a_query_is_sent_with_every_request_and_shown_nowhere():
    refusal = Fault("status", 400, words=f"no: {WORD}")
    with LoopbackEndpoint(script=lambda number, body: refusal if number else None) as endpoint:
        model = EndpointModel("tiny", base_url=f"{endpoint.url}?api_key={WORD}&api-version=2024-02-01")
        answered, refused = model.answer(book(2))
    assert [call.query for call in endpoint.calls] == [f"api_key={WORD}&api-version=2024-02-01"] * 2
    assert answered.failure is None and refused.failure == "400 no: ***"
    assert WORD not in repr(vars(model)) and WORD not in model.name


@pytest.mark.parametrize(
    "url", ["me:{}@host/v1", "host/v1?api_key={}", "ftp://me:{}@host/v1?k={}#{}", "http://me:{}@[::1"]
)
def test_a_wrong_url_is_refused_without_what_it_hides(url):
    said = refusal(EndpointModel, "tiny", base_url=url.replace("{}", WORD))
    assert "http:// or https://" in said and WORD not in said
