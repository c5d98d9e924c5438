"""Servers on this machine: no key is sent, and the window is the one that they have allocated."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest

from epbench.errors import BadInput
from epbench.models.load import MODELS, Options, load_model
from epbench.models.openai.address import LOCAL_SERVERS
from epbench.models.openai.model import EndpointModel
from tests.models.endpoint_asks import KEY, book, key  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="openai is not installed")

TOLD = {
    "ollama": {"/api/generate": {"done": True}, "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]}},
    "llamacpp": {"/props": {"default_generation_settings": {"n_ctx": 4096}}},
    "lmstudio": {
        "/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]}
    },
    "vllm-server": {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}},
}


@contextmanager
def server_of(paths):
    """A server with these answers by path; it notes what it is asked, with the key."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked.append((self.command, self.path, body, self.headers.get("authorization")))
            found = paths.get(self.path)
            self.send_response(200 if found else 404)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(found or {"error": "no such path"}).encode())

        do_POST = do_GET

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("kind", LOCAL_SERVERS)
def test_the_allocated_window_is_asked_for_and_no_key_is_sent(kind):
    with server_of(TOLD[kind]) as (url, asked):
        model = load_model(f"{kind}:m", Options(url))
        assert (model.name, model.window()) == (f"{kind}:m", 4096)
    assert [path for _, path, _, _ in asked] == list(TOLD[kind])
    assert KEY not in repr(asked)
    if kind == "ollama":
        assert asked[0][:3] == ("POST", "/api/generate", b'{"model":"m"}')


@pytest.mark.parametrize("kind", LOCAL_SERVERS)
def test_a_server_that_cuts_prompts_off_must_tell_its_window(kind):
    with server_of({}) as (url, _):
        model = load_model(f"{kind}:m", Options(url))
        if LOCAL_SERVERS[kind].larger:
            with pytest.raises(BadInput, match=r"does not say what window it has allocated.* give the window"):
                model.window()
        else:
            assert model.window() is None
        assert load_model(f"{kind}:m", Options(url, window=99)).window() == 99


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
