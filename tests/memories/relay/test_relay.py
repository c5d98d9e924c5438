"""The relay between a memory system and its models, over real HTTP on loopback."""

import http.client
import json

import httpx
import pytest

from epbench import BadInput, RunFailed
from epbench.memories.addresses import LOG, refused_addresses
from epbench.memories.guard import RETRIEVE, STORE
from epbench.memories.relay.calls import CALLS, Operation, calls_usage
from epbench.memories.relay.replies import holds_json, streamed, text_of, tokens_of
from epbench.memories.relay.server import Relay
from epbench.memories.spec import Endpoint
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.retrieval.conftest import tiny_model  # noqa: F401  a fixture


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(lambda body: "a reply") as endpoint:
        yield endpoint


@pytest.fixture
def relay(tmp_path, endpoint):
    relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path, tmp_path / LOG)
    yield relay
    relay.close()


def chat(relay, text="hello", **more):
    body = {"model": "other", "messages": [{"role": "user", "content": text}], **more}
    return httpx.post(f"{relay.base_url}/chat/completions", json=body)


def records(folder):
    return [json.loads(line) for line in (folder / CALLS).read_text().splitlines()][1:]  # the first measures vectors


def test_a_request_is_passed_on_under_the_chosen_model_and_noted(relay, endpoint, tmp_path):
    relay.begin(Operation(STORE, "s", "c1"))
    assert chat(relay).json()["choices"][0]["message"]["content"] == "a reply"
    assert endpoint.requests[-1][1]["model"] == "inner"
    (record,) = records(tmp_path)
    assert (record["method"], record["store"], record["item"], record["reply"]) == (STORE, "s", "c1", "a reply")
    assert record["tokens_in"] > 0 and record["tokens_out"] == 2 and record["status"] == 200


def test_the_key_goes_to_the_endpoint_and_nowhere_else(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-key")
    with ScriptedEndpoint(lambda body: 401) as endpoint:
        relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path, tmp_path / LOG)
        assert chat(relay).status_code == 401
        relay.close()
    assert "sk-a-secret-key" not in (tmp_path / CALLS).read_text()


def test_errors_and_requests_that_are_sent_again_are_counted(tmp_path):
    replies = iter([500, "not JSON", '{"fine": 1}', "again"])
    with ScriptedEndpoint(lambda body: next(replies)) as endpoint:
        relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path, tmp_path / LOG)
        relay.begin(Operation(RETRIEVE, "", "q"))
        wanted = {"response_format": {"type": "json_object"}}
        assert [chat(relay, **wanted).status_code for _ in range(3)] == [500, 200, 200]
        relay.begin(Operation(STORE, "", "c"))  # the same request in another operation is not a repetition
        chat(relay, **wanted)
        relay.close()
    usage = calls_usage(tmp_path)
    found = {name: usage["retrieving"][name] for name in ("calls", "retries", "errors", "unparsable")}
    assert found == {"calls": 3, "retries": 2, "errors": 1, "unparsable": 1}
    assert (usage["storing"]["calls"], usage["storing"]["retries"], usage["storing"]["unparsable"]) == (1, 0, 1)


def test_a_stream_is_answered_with_events(relay):
    response = chat(relay, stream=True, stream_options={"include_usage": True})
    first, second = [line for line in response.text.split("\n\n") if line]
    assert json.loads(first.removeprefix("data: "))["choices"][0]["delta"]["content"] == "a reply"
    assert second == "data: [DONE]" and response.headers["content-type"] == "text/event-stream"


def test_an_endpoint_that_is_not_there_is_an_error_of_the_request(tmp_path, endpoint):
    chosen = Endpoint("inner", "http://127.0.0.1:9", "openai:vectors", endpoint.base_url)
    relay = Relay(chosen, tmp_path, tmp_path / LOG)
    response = chat(relay)
    relay.close()
    assert response.status_code == 502 and "127.0.0.1:9" in response.json()["error"]["message"]


def test_an_embedder_that_does_not_answer_ends_the_run(tmp_path):
    with pytest.raises(RunFailed, match="embedder openai:vectors: HTTP 502"):
        Relay(Endpoint("inner", "http://127.0.0.1:9", "openai:vectors"), tmp_path, tmp_path / LOG)


def test_an_embedder_that_is_not_on_this_machine_is_refused(tmp_path, endpoint):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(BadInput, match="cannot load the model"):
        Relay(Endpoint("inner", endpoint.base_url, str(tmp_path / "none")), tmp_path, tmp_path / LOG)


def test_a_model_on_this_machine_embeds(tmp_path, endpoint, tiny_model):  # noqa: F811
    pytest.importorskip("sentence_transformers")
    relay = Relay(Endpoint("inner", endpoint.base_url, str(tiny_model)), tmp_path, tmp_path / LOG)
    url = f"{relay.base_url}/embeddings"
    answer = httpx.post(url, json={"model": "x", "input": ["one text", "two texts"]}).json()
    assert [len(item["embedding"]) for item in answer["data"]] == [relay.dimensions] * 2
    assert httpx.post(url, json={"model": "x", "input": [[1, 2, 3]]}).status_code == 400
    relay.close()
    assert not any(path.endswith("embeddings") for path, _ in endpoint.requests)


@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT"])
def test_as_a_proxy_it_refuses_and_notes_the_address(relay, tmp_path, method):
    connection = http.client.HTTPConnection(*relay.address)
    connection.request(method, "example.org:443" if method == "CONNECT" else "http://example.org/x?key=1")
    assert connection.getresponse().status == 403
    assert len(refused_addresses(tmp_path)) == 1 and "example.org" in refused_addresses(tmp_path)[0]


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b"\xff"])
def test_what_is_not_a_json_object_is_refused(relay, data):
    assert httpx.post(f"{relay.base_url}/chat/completions", content=data).status_code == 400


@pytest.mark.parametrize(
    ("response", "text", "is_json", "tokens"),
    [
        ('{"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 3}}', "{}", True, (3, 0)),
        ('{"choices": [{"message": {"content": "```json\\n[1]\\n```"}}]}', "```json\n[1]\n```", True, (0, 0)),
        ('{"choices": [{"message": {"content": "So: {\\"a\\": 1} is it"}}]}', 'So: {"a": 1} is it', True, (0, 0)),
        ('{"choices": [{"message": {"content": "no"}}], "usage": {"output_tokens": 2}}', "no", False, (0, 2)),
        ('{"choices": [{"message": {"content": null, "tool_calls": [{"id": "1"}]}}]}', '[{"id": "1"}]', True, (0, 0)),
        (
            '{"choices": [], "usage": {"prompt_tokens": -3}}',
            '{"choices": [], "usage": {"prompt_tokens": -3}}',
            False,
            (0, 0),
        ),
        ("<html>", "<html>", False, (0, 0)),
    ],
)
def test_what_is_read_from_a_response(response, text, is_json, tokens):
    assert (text_of(response), holds_json(response), tokens_of(response)) == (text, is_json, tokens)
    assert streamed(response).endswith(b"data: [DONE]\n\n")


def test_json_may_be_asked_for_in_words(tmp_path):
    with ScriptedEndpoint(lambda body: "I would rather talk.") as endpoint:
        relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path, tmp_path / LOG)
        relay.begin(Operation(STORE, "", "c"))
        chat(relay, "Answer with JSON of this schema.")
        chat(relay, "Say something.")
        relay.close()
    assert calls_usage(tmp_path)["storing"]["unparsable"] == 1
