"""Servers on this machine: no key is sent, and the window is the one that they have allocated."""

import pytest

from epbench.errors import BadInput
from epbench.models.load import MODELS, Options, load_model
from epbench.models.openai.address import LOCAL_SERVERS
from epbench.models.openai.model import EndpointModel
from tests.models.endpoint_asks import KEY, book, key  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint

TOLD = {
    "ollama": {"/api/generate": {"done": True}, "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]}},
    "llamacpp": {"/props": {"default_generation_settings": {"n_ctx": 4096}}},
    "lmstudio": {
        "/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]}
    },
    "vllm-server": {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}},
}


@pytest.mark.parametrize("kind", LOCAL_SERVERS)
def test_the_allocated_window_is_asked_for_and_no_key_is_sent(kind):
    with LoopbackEndpoint(paths=TOLD[kind]) as endpoint:
        model = load_model(f"{kind}:m", Options(endpoint.url))
        assert (model.name, model.window()) == (f"{kind}:m", 4096)
    assert [path for _, path, *_ in endpoint.asked] == list(TOLD[kind]) and KEY not in repr(endpoint.asked)
    if kind == "ollama":
        assert endpoint.asked[0][:3] == ("POST", "/api/generate", b'{"model":"m"}')


@pytest.mark.parametrize("kind", LOCAL_SERVERS)
def test_a_server_that_cuts_prompts_off_must_tell_its_window(kind):
    with LoopbackEndpoint() as endpoint:
        model = load_model(f"{kind}:m", Options(endpoint.url))
        if LOCAL_SERVERS[kind].larger:
            with pytest.raises(BadInput, match=r"does not say what window it has allocated.* give the window"):
                model.window()
        else:
            assert model.window() is None
        assert load_model(f"{kind}:m", Options(endpoint.url, window=99)).window() == 99


def test_they_listen_where_they_usually_do_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
    assert load_model("ollama:m").address == "http://127.0.0.1:11434/v1"
    assert load_model("openai:m").address == "https://elsewhere.example/v1"
    assert {form.partition(":")[0] for form in MODELS} == {"hf", "vllm", "openai", "inspect", *LOCAL_SERVERS}


def test_they_answer_as_any_endpoint_does():
    with LoopbackEndpoint() as endpoint:
        (reply,) = EndpointModel("tiny", server="llamacpp", base_url=endpoint.url).answer(book(1))
    assert reply.text and reply.failure is None
    assert KEY not in repr(endpoint.calls[0].headers)
