"""Memory systems that are MCP servers: how tools are mapped, and a server that is really started where `mcp` is installed."""

import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.errors import CallFailed
from epbench.memfail.context.requests import LexicalReader
from epbench.memories import load, servers
from epbench.memories.contract import conversation
from epbench.memories.guard import Limits
from epbench.memories.load import load_memory
from epbench.memories.protocol import Endpoint
from epbench.memories.recall import Budget, fit, price_of
from epbench.memories.servers import PRESETS, McpMemory, Tool
from tests.loopback import wait_until
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.memories.test_isolation import needs_bwrap
from tests.memories.test_session import conversations, queries, run_system
from tests.refusals import refusal

SERVER = Path(__file__).with_name("mcp_server.py")
COMMAND = f"mcp:{sys.executable} {SERVER}"
TOOLS = {"store": "add", "retrieve": "find", "list": "notes"}
needs_mcp = pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp")


def memory(folder, target=COMMAND[4:], **settings):
    about = {**TOOLS, "target": target, "preset": "", "durable": False, "seconds": 20.0, "key": "", **settings}
    return McpMemory(folder, about)


@pytest.fixture
def opened(tmp_path):
    """Opens a memory that is closed at the end."""
    with ExitStack() as made:
        yield lambda **settings: made.enter_context(closing(memory(tmp_path, **settings)))


def test_words_in_braces_are_replaced_once():
    tool = Tool.read("store", 'add {"a": ["{text}", {"b": "at {time}"}], "n": "{k}", "other": "{nothing}", "x": 1}')
    words = {"{text}": 'a "{time}"', "{time}": "noon", "{k}": 3}
    filled = servers.filled(tool.arguments, words)
    assert tool.name == "add"
    assert filled == {"a": ['a "{time}"', {"b": "at noon"}], "n": 3, "other": "{nothing}", "x": 1}


def test_arguments_are_found_in_the_schema():
    properties = {"q": {"type": "string"}, "limit": {"type": "integer"}, "tag": {"type": "string"}}
    schema = {"properties": properties, "required": ["q"]}
    assert Tool("find", None).fitted("retrieve", schema).arguments == {"q": "{query}", "limit": "{k}"}
    assert Tool("add", None).fitted("store", schema).arguments == {"q": "{text}"}
    assert Tool("all", None).fitted("list", schema).arguments == {}
    with pytest.raises(CallFailed, match="expected one text that it requires, found q, tag of q, limit, tag"):
        Tool("add", None).fitted("store", {**schema, "required": ["q", "tag"]})


@pytest.mark.parametrize(
    ("result", "memories"),
    [
        ("a note", ["a note"]),
        ('{"open": [{"id": 1, "content": "a"}, {"id": 2, "content": "b"}]}', ["a", "b"]),
        ({"entities": [{"name": "n", "observations": ["a", "b"]}], "relations": [1]}, ["a\nb"]),
        ({"result": '{"memories": []}'}, []),
        ({"result": ["a", {"memory": {"text": "b"}}]}, ["a", "b"]),
        ({"content": "alone"}, ["alone"]),
        ({"total": 3}, []),
        ([{"odd": 1}], ['{"odd": 1}']),
    ],
)
def test_memories_are_read_off_results(result, memories):
    assert list(servers._memories(result)) == memories


def test_a_mapping_that_cannot_work_is_refused(monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"needs the package mcp: pip install .*\[mcp\]"):
        load_memory(COMMAND, settings=TOOLS)
    monkeypatch.setattr(load, "find_spec", lambda name: True)
    for name, settings, words in [
        (COMMAND, {}, "which of its tools store, retrieve and list"),
        (COMMAND, {**TOOLS, "limit": "3"}, "unknown setting 'limit'"),
        (COMMAND, {"preset": "no"}, "unknown preset 'no'; there are: server-memory, agent-logbook"),
        (COMMAND, {**TOOLS, "store": "add text=x"}, "setting store: expected TOOL"),
        ("mcp:http://127.0.0.1:1/mcp", TOOLS, "several stores share this server"),
    ]:
        assert words in refusal(load_memory, name, settings=settings)
    assert "isolation 'process'" in refusal(load_memory, COMMAND, settings=TOOLS, isolation="none")


def test_presets_go_by_the_command(monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: True)
    system = load_memory("mcp:npx -y @modelcontextprotocol/server-memory")
    assert system.durable and system.settings == {**PRESETS["server-memory"].tools, "preset": "server-memory"}
    changed = load_memory("mcp:agent-logbook", settings={"list": "memory_stats"})
    assert changed.settings["list"] == "memory_stats" and changed.settings["preset"] == "agent-logbook"
    own = load_memory(COMMAND, settings=TOOLS)
    assert not own.durable and own.identity["system_settings"] == {**TOOLS, "preset": ""}
    assert load_memory(f"{COMMAND} {{folder}}/notes", settings=TOOLS).durable


@pytest.mark.slow
@needs_mcp
def test_a_server_is_started_and_asked(opened, capfd):
    system = opened()
    for number, text in enumerate(["I drink green tea", "Ada plays chess", "My cat sleeps late"]):
        system.store_conversation(conversation(text, number))
    assert system.retrieve_memories("who plays chess", [], 1) == ["Ada plays chess"]
    assert len(system.get_all_memories()) == 3
    with pytest.raises(CallFailed, match="store_conversation, tool add: Error executing tool add"):
        system.store_conversation(conversation("raise", 9))
    assert "MCP server notes 7" in capfd.readouterr().err
    by_page = opened(list='page_of {"page": "{page}"}', retrieve='find {"query": "{word}", "limit": 1}')
    for number, text in enumerate(["a b", "tiny fact here", "big fact there"]):
        by_page.store_conversation(conversation(text, number))
    assert by_page.get_all_memories() == ["a b", "tiny fact here", "big fact there"]
    assert by_page.retrieve_memories("this fact there?", [], 2) == ["a b", "tiny fact here"]


@pytest.mark.slow
@needs_mcp
def test_what_cannot_be_started_or_called_is_told_in_one_line(opened):
    for settings, words in [
        ({"list": "no_such_tool"}, "found no tool 'no_such_tool', only: add, find"),
        ({"store": "two"}, "tool two: expected one text that it requires, found first, second"),
        ({"target": "/no/such/program"}, "/no/such/program: open: MCPError: Connection closed"),
    ]:
        with pytest.raises(CallFailed) as error:
            opened(**settings)
        assert words in str(error.value) and "\n" not in str(error.value)


@needs_mcp
@pytest.mark.slow
def test_a_run_goes_on_when_the_server_exits(tmp_path):
    given = conversations(texts=["Ada plays chess", "exit", "I drink tea"])
    recall = run_system(load_memory(COMMAND, settings=TOOLS), tmp_path, given, queries(ks=(1,)))
    assert list(recall.unstored) == [("", "u1")] and len(recall.stores[""]) == 2
    assert recall.found["1@1"] == ["Ada plays chess"] and not recall.failures


@needs_mcp
@pytest.mark.slow
def test_a_server_in_the_sandbox(tmp_path):
    needs_bwrap()
    recall = run_system(load_memory(COMMAND, settings=TOOLS, isolation="bwrap"), tmp_path)
    assert recall.found["1@1"] == ["Ada plays chess"]


@needs_mcp
@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["process", "bwrap"])
def test_a_server_with_a_model_asks_the_relay(tmp_path, isolation, monkeypatch):
    if isolation == "bwrap":
        needs_bwrap()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    tools = {"store": "distil", "retrieve": 'find {"query": "{query}", "limit": "{k}"}', "list": "distilled"}
    with ScriptedEndpoint(lambda body: "noted") as endpoint:
        asking = Endpoint("inner", endpoint.base_url, "openai:inner-embedder")
        asks = f"mcp:env NOTES={{folder}} {COMMAND[4:]}"
        system = load_memory(asks, settings=tools, isolation=isolation, endpoint=asking)
        recall = run_system(system, tmp_path)
        assert sorted(recall.stores[""])[0] == "Ada plays chess: noted" and len(recall.stores[""]) == 4
        assert {body["model"] for path, body in endpoint.requests if path.endswith("completions")} == {"inner"}
    fit(tmp_path, recall.found, queries(), Budget(LexicalReader()))
    price = price_of(tmp_path)
    assert price["tokens_storing"] > 0 == price["tokens_retrieving"]
    assert not any(b"secret-of-the-user" in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_a_model_goes_with_a_command_that_is_durable(monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: True)
    asking = Endpoint("inner", "http://127.0.0.1:1/v1")
    system = load_memory("mcp:agent-logbook", endpoint=asking)
    assert system.identity["system_model"] == "inner" == system.inner_model and system.installation.lock is None
    for name, words in [(COMMAND, "keeps everything in the folder"), ("http://127.0.0.1:1", "where its server runs")]:
        assert words in refusal(load_memory, name, settings=TOOLS, endpoint=asking)


@needs_mcp
@pytest.mark.slow
def test_a_server_dies_with_the_process_that_started_it(tmp_path):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path; from tests.memories.test_mcp_memory import memory\n"
        "system = memory(Path(sys.argv[2])); print('open', flush=True); time.sleep(60)"
    )
    started = [sys.executable, "-c", code, str(SERVER.parents[2]), str(tmp_path)]
    with subprocess.Popen(started, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"open\n"
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        servers = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
        assert servers
        process.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in servers), 10)


@needs_mcp
@pytest.mark.slow
def test_a_server_behind_an_address_holds_several_stores(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tools = {
        "store": 'add {"note": "{text}", "user": "{store}"}',
        "retrieve": 'find {"query": "{query}", "limit": "{k}", "user": "{store}"}',
        "list": 'notes {"user": "{store}"}',
    }

    def answers():
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    with subprocess.Popen([sys.executable, str(SERVER), str(port)], stderr=subprocess.DEVNULL) as server:
        try:
            wait_until(answers, 30)
            system = load_memory(f"mcp:http://127.0.0.1:{port}/mcp", settings=tools, limits=Limits(30))
            for run in ("first", "second"):
                (tmp_path / run).mkdir()
                recall = run_system(system, tmp_path / run)
                assert recall.found["1@1"] == ["Ada plays chess"] and len(recall.stores[""]) == 4
        finally:
            server.terminate()
