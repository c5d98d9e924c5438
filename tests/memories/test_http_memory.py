"""A memory system behind an address: the example server, the protocol's file, and servers that misbehave."""

import json
from contextlib import ExitStack
from http.server import ThreadingHTTPServer

import pytest
import yaml

from epbench import BadInput
from epbench.errors import CallFailed
from epbench.files.packaged import packaged
from epbench.memories import example_server
from epbench.memories.contract import conversation, try_system
from epbench.memories.guard import Limits
from epbench.memories.load import load_memory
from epbench.memories.servers import HttpMemory, Server
from tests.loopback import Handler, Loopback
from tests.memories.test_session import run_system
from tests.refusals import refusal


@pytest.fixture
def serve():
    """Serves on loopback until the test ends; returns the address."""
    with ExitStack() as served:
        yield lambda server: served.enter_context(Loopback(server)).url


def memory(url, folder, **settings):
    folder.mkdir(exist_ok=True)
    return HttpMemory(folder, {"target": url, "durable": False, "seconds": 5.0, "key": "", **settings})


def replying(status, body=b"{}", headers=None, seen=None):
    """A server that gives one reply to everything."""

    class Replying(Handler):
        def do_GET(self):
            if seen is not None:
                seen.append((self.command, self.path, self.headers.get("Authorization")))
            self.reply(status, body, headers)

        do_PUT = do_POST = do_DELETE = do_GET

    return ThreadingHTTPServer(("127.0.0.1", 0), Replying)


def test_the_file_of_the_protocol_has_the_calls_of_the_example_server(serve):
    content = yaml.safe_load(packaged("epbench.memories", "memory_server.openapi.yaml").read_text("utf-8"))
    url = serve(example_server.server())
    store = f"epbench-{'0' * 32}"
    body = {"query": "q", "k": 1, "conversation": conversation("I like tea.", 0)}
    calls = [(path, method) for path, about in content["paths"].items() for method in about if method != "parameters"]
    assert len(calls) == 7
    server = Server(url, 5.0)
    server.call("open", "PUT", f"/stores/{store}")
    for path, method in sorted(calls, key=lambda call: call[1] == "delete"):
        reply = server.call(path, method.upper(), path.format(store=store), body, optional=True)
        documented = content["paths"][path][method]["responses"]
        assert str(reply["status"]) in documented, path
        assert ("memories" in reply) == (path.endswith(("/retrieve", "/memories")))
    server.close()


def test_a_run_uses_a_server_by_its_address(serve, tmp_path):
    system = load_memory(serve(example_server.server()))
    assert (system.version, system.durable, system.identity["system_version"]) == ("keyword 1", False, "keyword 1")
    recall = run_system(system, tmp_path)
    assert recall.found["1@1"] == ["Ada plays chess"] and len(recall.stores[""]) == 4 and not recall.warnings
    assert load_memory(f"http:{system.name}").name == system.name


@pytest.mark.slow
def test_the_example_server_keeps_every_promise(serve, tmp_path):
    system = load_memory(serve(example_server.server()))
    outcomes = dict(try_system(system, tmp_path, Limits(60), 20))
    assert {outcome.result for outcome in outcomes.values()} == {"passed"}, outcomes


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (replying(500, b"no\nspace left"), "HTTP 500: no space left"),
        (replying(302, headers={"Location": "http://example.com/"}), "HTTP 302: redirects are not followed"),
        (replying(200, b"[1]"), "expected a JSON object, got '[1]'"),
        (replying(200, b"<html>"), "expected a JSON object, got '<html>'"),
    ],
)
def test_an_error_names_address_call_and_status(server, words, serve):
    url = serve(server)
    with pytest.raises(CallFailed) as error:
        Server(url, 5.0).call("retrieve_memories", "POST", "/stores/s/retrieve", {})
    assert str(error.value).startswith(f"{url}: retrieve_memories: ") and words in str(error.value)
    assert "\n" not in str(error.value)
    assert "health" in refusal(load_memory, url)


def test_a_reply_that_is_too_large_or_late_fails(serve, monkeypatch):
    monkeypatch.setattr("epbench.memories.servers.MOST_BYTES", 100)
    with pytest.raises(CallFailed, match="ReplyTooLarge: the reply has more than"):
        Server(serve(replying(200, json.dumps({"memories": ["x" * 500]}).encode())), 5.0).call("list", "GET", "/")
    silent = ThreadingHTTPServer(("127.0.0.1", 0), Handler)  # accepts, and is never served
    with pytest.raises(CallFailed, match=r"list: no answer within 0\.2 s"):
        Server(Loopback(silent).url, 0.2).call("list", "GET", "/")
    silent.server_close()
    with pytest.raises(CallFailed, match="list: ConnectError"):
        Server(Loopback(silent).url, 5.0).call("list", "GET", "/")


def test_the_key_comes_from_the_environment_alone(serve, monkeypatch):
    seen = []
    monkeypatch.setenv("MEMORY_KEY", "sk-of-the-server")
    url = serve(replying(200, b'{"durable": true}', seen=seen))
    system = load_memory(url, variables=["MEMORY_KEY"])
    assert system.durable and seen == [("GET", "/health", "Bearer sk-of-the-server")]
    assert "sk-of-the-server" not in repr(system)
    for name, variables, words in [
        (url, ["NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
        ("http://me:word@127.0.0.1", [], "without login and query"),
        ("http://127.0.0.1?key=x", [], "without login and query"),
        ("http://127.0.0.1:no", [], "expected an address"),
        ("http:", [], "expected an address"),
    ]:
        assert words in refusal(load_memory, name, variables=variables)
    for options in ({"isolation": "none"}, {"settings": {"k": "1"}}):
        with pytest.raises(BadInput):
            load_memory(url, **options)


def test_a_durable_store_is_found_again_or_missed_and_another_is_dropped(serve, tmp_path):
    server = example_server.server()
    url = serve(server)
    memory(url, tmp_path / "killed").store_conversation(conversation("I drink tea.", 0))
    other = memory(url, tmp_path / "killed")  # after a kill
    assert other.get_all_memories() == [] and len(server.RequestHandlerClass.stores) == 1
    other.close()
    assert not server.RequestHandlerClass.stores
    first = memory(url, tmp_path, durable=True)
    first.store_conversation(conversation("I drink tea.", 0))
    first.close()
    again = memory(url, tmp_path, durable=True)
    assert again.get_all_memories() == ["I drink tea."]
    server.RequestHandlerClass.stores.clear()
    with pytest.raises(CallFailed, match="it no longer has store epbench-"):
        memory(url, tmp_path, durable=True)
    assert not server.RequestHandlerClass.stores
    again.close()
