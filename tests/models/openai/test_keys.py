"""No key reaches a file, a message or a log: not the environment's, and none of an address."""

import json
from base64 import b64encode
from importlib.util import find_spec

import pytest

from epbench.errors import BadInput
from epbench.journals.answers import ANSWERS, ask
from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Reply
from epbench.tulving.reader.lexical import LexicalReader
from tests.models.endpoint_asks import KEY, book, key, model_of  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="openai is not installed")

WORD = "aSecretWordInTheAddress"


@pytest.mark.parametrize("odd", ["sk-abc\ndef", "sk-abc\x00def", "sk-abcé", "sk-abc\r\nX: y"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_quoted(monkeypatch, odd):
    if "\x00" in odd:
        monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": odd})
    else:
        monkeypatch.setenv("OPENAI_API_KEY", odd)
    with pytest.raises(BadInput, match="OPENAI_API_KEY: expected printable ASCII") as error:
        EndpointModel("tiny", base_url="http://127.0.0.1:9/v1")
    assert "abc" not in str(error.value)


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


def test_a_short_password_is_no_reason_to_change_an_answer():
    with LoopbackEndpoint(lambda prompt: "a book") as endpoint:
        (reply,) = EndpointModel("tiny", base_url=endpoint.url.replace("//", "//me:book@")).answer(book(1))
    assert reply.text == "a book"


def test_a_query_is_sent_with_every_request_and_shown_nowhere():
    refusal = Fault("status", 400, words=f"no: {WORD}")
    with LoopbackEndpoint(script=lambda number, body: refusal if number else None) as endpoint:
        model = EndpointModel("tiny", base_url=f"{endpoint.url}?api_key={WORD}&api-version=2024-02-01")
        answered, refused = model.answer(book(2))
    assert [call.query for call in endpoint.calls] == [f"api_key={WORD}&api-version=2024-02-01"] * 2
    assert answered.failure is None and refused.failure == "400 no: ***"
    assert WORD not in repr(vars(model)) and WORD not in model.name


def test_a_public_parameter_of_an_address_is_no_secret():
    with LoopbackEndpoint(lambda prompt: "on 2024-02-01") as endpoint:
        (reply,) = EndpointModel("tiny", base_url=f"{endpoint.url}?api-version=2024-02-01").answer(book(1))
    assert reply.text == "on 2024-02-01"


@pytest.mark.parametrize(
    "url", ["me:{}@host/v1", "host/v1?api_key={}", "ftp://me:{}@host/v1?k={}#{}", "http://me:{}@[::1"]
)
def test_a_wrong_url_is_refused_without_what_it_hides(url):
    with pytest.raises(BadInput, match="http:// or https://") as error:
        EndpointModel("tiny", base_url=url.replace("{}", WORD))
    assert WORD not in str(error.value)


def test_the_key_is_in_no_record_of_any_model(tmp_path):
    class Quoting(LexicalReader):
        def answer(self, requests):
            for request in requests:
                yield Reply(request.key(self.identity), request.id, KEY, KEY)

    ask(tmp_path / ANSWERS, book(1), Quoting())
    assert KEY not in (tmp_path / ANSWERS).read_text()
