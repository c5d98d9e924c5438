"""StructMem's adapter around a made-up checkout, and around a real one if $EPBENCH_LIGHTMEM names its folder."""

import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.memories.systems.conftest import ROOT, Raised
from tests.memories.systems.scripted_endpoint import DIMENSIONS, ScriptedEndpoint

pytestmark = pytest.mark.slow
CHECKOUT = "EPBENCH_LIGHTMEM"


def turn(role, content, minute):
    return {"role": role, "content": content, "timestamp": f"2024-03-01T10:{minute:02}:00"}


def fact(text, minute):
    return [turn("user", text, minute)]


def script(body):
    """Answer extractions with what the user said, updates with no change, and summaries with a text."""
    task, prompt = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "Target memory:" in prompt:
        return json.dumps({"action": "ignore"})
    if "response_format" not in body:
        return "Somebody said something."
    if "relation" in task.lower() and "fact" not in task.lower().split("relation")[0]:
        return json.dumps({"data": []})
    said = re.findall(r"(\d+)\.user: (.+)", prompt)
    return json.dumps({"data": [{"source_id": int(i), "fact": text} for i, text in said]})


def made_up_checkout(folder, segments=True):
    package = folder / "src" / "lightmem" / "memory"
    package.mkdir(parents=True)
    for where in (package, package.parent):
        (where / "__init__.py").touch()
    source = Path(__file__).with_name("made_up_lightmem.py").read_text()
    (package / "lightmem.py").write_text(source.replace("SEGMENTS = True", f"SEGMENTS = {segments}"))
    return folder


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(script) as endpoint:
        yield endpoint


@pytest.fixture
def open_at(adapter_process, endpoint, tmp_path):
    def open_(checkout, name="store", **settings):
        folder = tmp_path / name
        settings = {"source": str(checkout), **settings}
        environ = {"OPENROUTER_API_KEY": "not for a memory system"}
        return adapter_process("structmem", "structmem:StructMem", folder, endpoint.base_url, environ, **settings)

    return open_


@pytest.fixture
def open_store(open_at, tmp_path):
    checkout = made_up_checkout(tmp_path / "checkout")
    return lambda name="store", **settings: open_at(checkout, name, **settings)


FACTS = ["Mira plays the cello on Sundays.", "Ravi keeps bees behind the barn.", "Jörg trinkt nur grünen Tee 🍵."]


def listed(text, minute):
    return f"2024-03-01T10:{minute:02}:00.000 Fri {text}"


LISTED = [listed(text, minute) for minute, text in enumerate(FACTS)]


@pytest.mark.parametrize("segments", [True, False])
def test_stores_retrieves_and_lists(open_at, endpoint, tmp_path, segments):
    store = open_at(made_up_checkout(tmp_path / "checkout", segments))
    assert store.get_all_memories() == [] and store.retrieve_memories("anything?", [], 3) == []
    for minute, text in enumerate(FACTS):
        store.store_conversation(fact(text, minute))
    assert sorted(store.get_all_memories()) == LISTED
    assert store.retrieve_memories("Who keeps bees behind the barn?", [], 1) == [LISTED[1]]
    assert sorted(store.retrieve_memories("Tee", [], 10)) == LISTED
    assert sorted(store.get_all_memories()) == LISTED
    assert store.usage() == {"swallowed": 0, "unparsable": 0}
    port = urlsplit(endpoint.base_url).port
    assert {tuple(address) for address in store.addresses()} == {("127.0.0.1", port)}
    assert {path for path, _ in endpoint.requests} == {"/v1/chat/completions", "/v1/embeddings"}


def test_an_entry_has_the_time_of_its_turn_whoever_spoke(open_store):
    store = open_store()
    said = [("assistant", "Hello!"), ("user", "I like figs."), ("user", "And plums."), ("assistant", "Noted.")]
    said.append(("user", "Bye."))
    store.store_conversation([turn(role, text, minute) for minute, (role, text) in enumerate(said)])
    found = {memory for memory in store.get_all_memories() if memory.split(" ", 2)[2]}
    assert found == {listed("I like figs.", 1), listed("And plums.", 2), listed("Bye.", 4)}


def test_each_conversation_is_summarised_once_per_store(open_store, endpoint):
    def summaries():
        prompts = [str(body.get("messages")) for _, body in endpoint.requests]
        endpoint.requests.clear()
        return [prompt.count("Summarize 1 entries.") for prompt in prompts if "Summarize" in prompt]

    one, without = open_store("one"), open_store("without", summarize=False)
    for minute, text in enumerate(FACTS):
        one.store_conversation(fact(text, minute))
    assert summaries() == [1, 1, 1]  # one new entry each time
    without.store_conversation(fact(FACTS[0], 0))
    assert summaries() == []


def test_the_listing_is_complete_at_a_thousand_memories(open_store, endpoint):
    many = [f"Fact {n}." for n in range(1100)]

    def reply(body):
        if "Extract facts" not in str(body["messages"]):
            return script(body)
        return json.dumps({"data": [{"source_id": 0, "fact": text} for text in many]})

    endpoint.reply = reply
    store = open_store(update_score=2.0)  # nothing is that near
    store.store_conversation(fact("Everything.", 0))
    assert sorted(store.get_all_memories()) == sorted(listed(text, 0) for text in many)


def test_near_entries_are_consolidated(open_store, endpoint):
    endpoint.reply = lambda body: '{"action": "delete"}' if "Target memory:" in str(body) else script(body)
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    store.store_conversation(fact(FACTS[0], 7))
    assert len(store.get_all_memories()) < 2


def test_stores_are_apart(open_store):
    one, other = open_store("one"), open_store("other")
    one.store_conversation(fact(FACTS[0], 0))
    assert other.get_all_memories() == []


def test_everything_is_there_after_a_kill(open_store):
    store = open_store()
    for minute, text in enumerate(FACTS):
        store.store_conversation(fact(text, minute))
    found = store.retrieve_memories("barn", [], 2)
    store.kill()
    again = open_store()
    assert sorted(again.get_all_memories()) == LISTED
    assert again.retrieve_memories("barn", [], 2) == found
    again.store_conversation(fact("One more.", 9))
    assert len(again.get_all_memories()) == 4


def test_a_store_that_was_closed_can_be_opened_beside(open_store):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    store.close()
    assert open_store().get_all_memories() == [LISTED[0]]


def test_a_store_that_nobody_holds_any_more_can_be_opened_again(environment, endpoint, tmp_path):
    settings = {
        "source": str(made_up_checkout(tmp_path / "checkout")),
        "model": "scripted-model",
        "base_url": endpoint.base_url,
        "api_key": "placeholder",
        "embedding_model": "some-embedder",
        "dimensions": DIMENSIONS,
    }
    code = f"""
from pathlib import Path
from epbench.memories.systems.structmem import DEFAULTS, StructMem
for name in "one", "other", "one":
    store = None
    store = StructMem(Path({str(tmp_path)!r}) / name, DEFAULTS | {settings!r})
    assert len(store.get_all_memories()) == (name == "one" and Path("seen").exists())
    store.store_conversation({fact(FACTS[0], 0)!r})
    Path("seen").touch()
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([environment("structmem"), "-c", code], check=True, cwd=tmp_path, env=environ)


@pytest.mark.parametrize("reply", ["I would rather not.", "", '{"facts": []}'])
def test_replies_that_are_not_what_was_asked_for_are_counted(open_store, endpoint, reply):
    endpoint.reply = lambda body: reply
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    assert store.usage() == {"swallowed": 0, "unparsable": 2}  # one for facts, one for relations
    assert store.get_all_memories() == []


def test_errors_of_the_model_are_counted(open_store, endpoint):
    endpoint.reply = lambda body: 500
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    assert store.usage() == {"swallowed": 2, "unparsable": 0}


def test_an_embedder_of_another_dimension_is_one_line(open_store):
    store = open_store(dimensions=7)
    with pytest.raises(Raised, match="expected vectors of 7 numbers, got 64"):
        store.store_conversation(fact(FACTS[0], 0))


def test_a_folder_that_is_no_checkout_is_one_line(open_at, tmp_path):
    with pytest.raises(Raised, match="expected the folder of a checkout of LightMem, found 'none'"):
        open_at("")
    with pytest.raises(Raised, match=f"found '{tmp_path}'"):
        open_at(tmp_path)


def test_a_checkout_from_before_structmem_is_one_line(open_at, tmp_path):
    checkout = made_up_checkout(tmp_path / "checkout")
    file = checkout / "src" / "lightmem" / "memory" / "lightmem.py"
    file.write_text(file.read_text().replace("self.summary_retriever = ", "other = "))
    with pytest.raises(Raised, match="is LightMem from before it had StructMem"):
        open_at(checkout)


@pytest.mark.skipif(CHECKOUT not in os.environ, reason=f"${CHECKOUT} names no checkout of LightMem")
def test_a_real_checkout(open_at, endpoint):
    store = open_at(os.environ[CHECKOUT])
    for minute, text in enumerate(FACTS):
        store.store_conversation(fact(text, minute))
    memories = store.get_all_memories()
    assert all(any(text in memory for memory in memories) for text in FACTS)
    found = store.retrieve_memories("Who keeps bees behind the barn?", [], 2)
    assert 0 < len(found) <= 2 and set(found) <= set(memories)
    port = urlsplit(endpoint.base_url).port
    assert {tuple(address) for address in store.addresses()} == {("127.0.0.1", port)}
    store.kill()
    assert sorted(open_at(os.environ[CHECKOUT]).get_all_memories()) == sorted(memories)
