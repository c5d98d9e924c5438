"""The relay between a memory system and its models, over real HTTP on loopback."""

import gzip
import http.client
import json

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput, RunFailed
from epbench.memories.guard import RETRIEVE, STORE
from epbench.memories.protocol import Endpoint, Operation
from epbench.memories.recall import calls_usage
from epbench.memories.relay import CALLS, Relay, holds_json, streamed, text_of, tokens_of
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.retrieval.conftest import tiny_model  # noqa: F401  a fixture

NAMES = st.sampled_from(["content", "tool_calls", "message", "choices", "text", "usage", "prompt_tokens", "delta"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(lambda body: "a reply") as endpoint:
        yield endpoint


@pytest.fixture
def relay(tmp_path, endpoint):
    relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path)
    yield relay
    relay.close()


def post(relay, path="chat/completions", **options):
    """As a store's process does it, with its token."""
    headers = {"Authorization": f"Bearer {relay.admit()}", "Content-Type": "application/json"}
    return httpx2.post(f"{relay.base_url}/{path}", **{**options, "headers": headers | options.get("headers", {})})


def chat(relay, text="hello", **more):
    return post(relay, json={"model": "other", "messages": [{"role": "user", "content": text}], **more})


def records(folder):
    return [json.loads(line) for line in (folder / CALLS).read_text().splitlines()][1:]  # the first measures vectors


def test_a_request_is_passed_on_under_the_chosen_model_and_noted(relay, endpoint, tmp_path):
    relay.begin(Operation(STORE, "s", "c1"))
    assert chat(relay).json()["choices"][0]["message"]["content"] == "a reply"
    assert endpoint.requests[-1][1]["model"] == "inner"
    (record,) = records(tmp_path)
    assert (record["method"], record["store"], record["item"], record["reply"]) == (STORE, "s", "c1", "a reply")
    assert record["tokens_in"] > 0 and record["tokens_out"] == 2 and record["status"] == 200


def test_errors_and_requests_that_are_sent_again_are_counted(tmp_path):
    replies = iter([500, "not JSON", '{"fine": 1}', "again", "no JSON", "talk"])
    with ScriptedEndpoint(lambda body: next(replies)) as endpoint:
        relay = Relay(Endpoint("inner", endpoint.base_url, "openai:vectors"), tmp_path)
        relay.begin(Operation(RETRIEVE, "", "q"))
        wanted = {"response_format": {"type": "json_object"}}
        assert [chat(relay, **wanted).status_code for _ in range(3)] == [500, 200, 200]
        relay.begin(Operation(STORE, "", "c"))  # the same request in another operation is not a repetition
        chat(relay, **wanted)
        chat(relay, "Answer with JSON of this schema.")
        chat(relay, "Say something.")
        relay.close()
    usage = calls_usage(tmp_path)
    found = {name: usage["retrieving"][name] for name in ("calls", "retries", "errors", "unparsable")}
    assert found == {"calls": 3, "retries": 2, "errors": 1, "unparsable": 1}
    assert (usage["storing"]["calls"], usage["storing"]["retries"], usage["storing"]["unparsable"]) == (3, 0, 2)


def test_a_stream_is_answered_with_events(relay):
    response = chat(relay, stream=True, stream_options={"include_usage": True})
    first, second = [line for line in response.text.split("\n\n") if line]
    assert json.loads(first.removeprefix("data: "))["choices"][0]["delta"]["content"] == "a reply"
    assert second == "data: [DONE]" and response.headers["content-type"] == "text/event-stream"


NO_ANSWER = "requests to its models got no answer; the last, HTTP {0}: scripted error {0}"


@pytest.mark.parametrize(
    ("asked", "unanswered"),
    [
        ([("hello", 200)], None),
        ([("hello", 500), ("hello", 200)], None),  # a second try of the same request
        ([("hello", 500)] * 2, f"1 of 2 {NO_ANSWER.format(500)}"),
        ([("hello", 400)], f"1 of 2 {NO_ANSWER.format(400)}"),
        ([("hello", 400), ("another", 200)], None),  # a prompt that was too long is the system's own error
        ([("hello", 429), ("another", 200)], f"1 of 3 {NO_ANSWER.format(429)}"),
    ],
)
def test_requests_without_an_answer_are_known_for_each_operation(relay, endpoint, asked, unanswered):
    relay.begin(Operation(STORE, "s", "c1"))
    for text, status in asked:
        endpoint.reply = lambda body, status=status: "a reply" if status == 200 else status
        assert chat(relay, text).status_code == status
    post(relay, "embeddings", json={"input": ["a text"]})  # vectors are no answer of the model
    assert relay.unanswered() == unanswered
    relay.begin(Operation(STORE, "s", "c2"))
    assert relay.unanswered() is None


def test_endpoints_that_are_not_there(tmp_path, endpoint):
    nowhere = "http://127.0.0.1:9"
    relay = Relay(Endpoint("inner", nowhere, "openai:vectors", endpoint.base_url), tmp_path)
    response = chat(relay)
    relay.close()
    assert response.status_code == 502 and "127.0.0.1:9" in response.json()["error"]["message"]
    with pytest.raises(RunFailed, match="embedder openai:vectors: HTTP 502"):
        Relay(Endpoint("inner", nowhere, "openai:vectors"), tmp_path)
    with pytest.raises(BadInput, match="cannot load the model"):
        Relay(Endpoint("inner", endpoint.base_url, str(tmp_path / "none")), tmp_path)


def test_a_model_on_this_machine_embeds(tmp_path, endpoint, tiny_model):  # noqa: F811
    relay = Relay(Endpoint("inner", endpoint.base_url, str(tiny_model)), tmp_path)
    answer = post(relay, "embeddings", json={"model": "x", "input": ["one text", "two texts"]}).json()
    assert [len(item["embedding"]) for item in answer["data"]] == [relay.dimensions] * 2
    assert post(relay, "embeddings", json={"model": "x", "input": [[1, 2, 3]]}).status_code == 400
    relay.close()
    assert not any(path.endswith("embeddings") for path, _ in endpoint.requests)


def test_what_is_not_a_json_object_is_refused(relay):
    for data in (b"", b"[1]", b"{", b"\xff", b'{"x": NaN}', b'{"x":' + b"[" * 100_000):
        assert post(relay, content=data).status_code == 400


FORGED = {
    "no token": {"Authorization": ""},
    "another token": {"Authorization": "Bearer no-key-needed"},
    "half a character": {"Authorization": b"Bearer \xff"},
}


def test_only_the_process_of_the_store_is_answered(relay, endpoint):
    before = len(endpoint.requests)
    for about, headers in FORGED.items():
        assert post(relay, content=b"{}", headers=headers).status_code == 401, about
    first, second = relay.admit(), relay.admit()  # of stores before: `post` asks for a third
    assert first != second
    for token in (first, second):
        assert post(relay, json={}, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert len(endpoint.requests) == before


OTHER_PATHS = [
    "/v1/../../admin/keys", "/v1/files", "/v1/fine_tuning/jobs", "/v1/%2e%2e/admin/keys", "/v1/chat/completions/../../files",
    "/v1/chat/completions%2f..%2f..%2ffiles", "/v1//files", "/", "http://example.org/v1/chat/completions",
    "example.org:443", "/v1/chat/completionsx", "/v2/chat/completions", "/v1/..%252f..%252fadmin",
]  # fmt: skip


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "CONNECT"])
def test_other_paths_are_noted_and_never_passed_on(relay, endpoint, tmp_path, method):
    before = len(endpoint.requests)
    assert {raw(relay, method, path) for path in OTHER_PATHS} == {404}
    assert len(endpoint.requests) == before
    assert [record["path"] for record in records(tmp_path)] == [f"{method} {path}" for path in OTHER_PATHS]
    usage = calls_usage(tmp_path)["storing"]
    # One measured the vectors.
    assert (usage["calls"], usage["embeddings"], usage["errors"]) == (0, 1, len(OTHER_PATHS))


@pytest.mark.parametrize("path", ["/v1//chat/completions", "/v1/chat/./completions?x=1", "/v1/chat%2fcompletions#x"])
def test_a_path_is_passed_on_in_its_plain_form(relay, endpoint, path):
    assert raw(relay, "POST", path) == 200
    assert endpoint.requests[-1][0] == "/v1/chat/completions"


def raw(relay, method, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", relay.port)
    headers = {"Authorization": f"Bearer {relay.admit()}", "Content-Type": "application/json", **headers}
    connection.request(method, path, body=b"{}", headers=headers)
    return connection.getresponse().status


def test_a_request_without_end_is_refused_before_it_is_read(relay, endpoint, tmp_path):
    before = len(endpoint.requests)
    assert raw(relay, "POST", "/v1/completions", **{"Content-Length": str(600 << 20)}) == 413
    assert raw(relay, "POST", "/v1/completions", **{"Content-Length": "-1"}) == 411
    assert post(relay, content=iter([b"{}"])).status_code == 411  # in chunks
    assert len(endpoint.requests) == before and "more than 16 MB" in records(tmp_path)[0]["path"]


@pytest.fixture
def answering(tmp_path, endpoint):
    """A relay, and a list with the bytes and the headers that its model sends."""
    said = [b"", {}]
    with LoopbackEndpoint(script=lambda number, body: Fault("status", 200, said[1], raw=said[0])) as model:
        relay = Relay(Endpoint("inner", model.url, "openai:vectors", endpoint.base_url), tmp_path)
        yield relay, said
        relay.close()


@pytest.mark.parametrize("zipped", [False, True])
def test_a_reply_that_is_too_large_is_cut_off_and_journaled_as_a_failure(answering, tmp_path, zipped):
    relay, said = answering
    said[:] = (gzip.compress(bytes(100 << 20), 1), {"Content-Encoding": "gzip"}) if zipped else (bytes(17 << 20), {})
    answer = chat(relay)
    assert answer.status_code == 502 and "more than 16 MB" in answer.text
    (record,) = records(tmp_path)
    assert record["status"] == 502 and "more than 16 MB" in record["reply"]


ODD = [
    '{"choices": null}', '{"choices": {}}', '{"choices": [null, 7, []]}', '{"choices": [{"message": null}]}',
    '{"choices": [{"message": {"content": [{"type": "text", "text": "in "}, {"text": "parts"}, {"text": 3}, null]}}]}',
    '{"choices": [{"message": {"content": {"a": 1}}}]}', '{"choices": [{"message": {"content": NaN}}]}',
    '{"choices": [{"message": {"content": "\\ud83d"}}]}', '{"choices": [{"message": {"content": 1e400}}]}',
    '{"choices": [{"message": {"tool_calls": {"a": [1]}}}]}', '{"choices": [{"message": {"tool_calls": [null, 3]}}]}',
    '{"usage": {"prompt_tokens": NaN, "completion_tokens": true}}', '{"usage": [], "choices": [{}]}',
    '{"choices": [{"message": {"tool_calls": ' + "[" * 900 + "]" * 900 + "}}]}",
    "[" * 100_000, '{"choices": ' + "[" * 100_000, '{"usage": {"prompt_tokens": ' + "9" * 5000 + "}}",
    " ", "null", "7", "[]", "NaN", '"text"', "<html>", "\x00\xff", "data: {}",
]  # fmt: skip


def test_every_paid_reply_is_journaled_whatever_its_form(answering, tmp_path, capfd):
    relay, said = answering
    for odd in ODD:
        said[0] = odd.encode("latin-1")
        for stream in (False, True):
            assert chat(relay, "Answer with JSON.", stream=stream).status_code == 200, odd
    found = records(tmp_path)
    assert len(found) == 2 * len(ODD) and {record["status"] for record in found} == {200}
    assert {"in parts", "<html>"} <= {record["reply"] for record in found}
    assert "Traceback" not in capfd.readouterr().err


@given(json_values, st.booleans())
@settings(max_examples=100, deadline=None)
def test_any_json_is_read_without_an_error(value, in_choices):
    response = json.dumps({"choices": [{"message": value}], "usage": value} if in_choices else value)
    assert isinstance(text_of(response), str) and isinstance(holds_json(response), bool)
    assert all(n >= 0 for n in tokens_of(response)) and streamed(response).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("message", "usage", "text", "is_json", "tokens"),
    [
        ({"content": "{}"}, {"prompt_tokens": 3}, "{}", True, (3, 0)),
        ({"content": "```json\n[1]\n```"}, {}, "```json\n[1]\n```", True, (0, 0)),
        ({"content": 'So: {"a": 1} is it'}, {}, 'So: {"a": 1} is it', True, (0, 0)),
        ({"content": "no"}, {"output_tokens": 2}, "no", False, (0, 2)),
        ({"content": None, "tool_calls": [{"id": "1"}]}, {}, '[{"id": "1"}]', True, (0, 0)),
    ],
)
def test_what_is_read_from_a_response(message, usage, text, is_json, tokens):
    response = json.dumps({"choices": [{"message": message}], "usage": usage})
    assert (text_of(response), holds_json(response), tokens_of(response)) == (text, is_json, tokens)
