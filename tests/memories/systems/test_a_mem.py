"""A-MEM's adapter around the real package, with scripted replies."""

import json
import re
from urllib.parse import urlsplit

import pytest

from tests.memories.systems.conftest import Raised
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.slow


def turn(role, content, minute):
    return {"role": role, "content": content, "timestamp": f"2024-03-01T10:{minute:02}:00"}


def fact(text, minute):
    return [turn("user", text, minute)]


def script(body):
    """Answer the two prompts of A-MEM, which differ in the schema that they ask for."""
    prompt = body["messages"][-1]["content"]
    if "should_evolve" in body["response_format"]["json_schema"]["schema"]["properties"]:
        neighbours = re.findall(r"memory_id:(\S+)", prompt)
        return json.dumps(
            {
                "should_evolve": True,
                "actions": ["strengthen", "update_neighbor"],
                "suggested_connections": neighbours[:1],
                "tags_to_update": ["linked"],
                "new_context_neighborhood": ["a neighbour"] * len(neighbours),
                "new_tags_neighborhood": [["near", "by"]] * len(neighbours),
            }
        )
    said = prompt.rpartition("Content for analysis:")[2].strip()
    return json.dumps({"keywords": said.split()[:3], "context": "a hobby", "tags": ["life", "fact"]})


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(script) as endpoint:
        yield endpoint


@pytest.fixture
def open_store(adapter_process, endpoint, tmp_path):
    return lambda name="store", **settings: adapter_process(
        "a-mem", "a_mem:AMem", tmp_path / name, endpoint.base_url, **settings
    )


FACTS = ["Mira plays the cello on Sundays.", "Ravi keeps bees behind the barn.", "Jörg trinkt nur grünen Tee 🍵."]


def test_stores_retrieves_and_lists(open_store, endpoint):
    store = open_store()
    assert store.get_all_memories() == [] and store.retrieve_memories("anything?", [], 3) == []
    for minute, text in enumerate(FACTS):
        store.store_conversation(fact(text, minute))
    memories = store.get_all_memories()
    assert sorted(memory.splitlines()[0] for memory in memories) == sorted(FACTS)
    found = store.retrieve_memories("Who keeps bees behind the barn?", [], 2)
    assert len(found) == 2 and set(found) <= set(memories)
    assert found[0].startswith("Ravi keeps bees")
    assert len(store.retrieve_memories("Tee", [], 10)) == 3
    assert store.get_all_memories() == memories
    assert store.usage() == {"swallowed": 0, "unparsable": 0}
    port = urlsplit(endpoint.base_url).port
    assert {tuple(address) for address in store.addresses()} == {("127.0.0.1", port)}
    assert {path for path, _ in endpoint.requests} == {"/v1/chat/completions", "/v1/embeddings"}


def test_a_memory_has_context_and_tags_and_neighbours_evolve(open_store):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    assert store.get_all_memories() == [f"{FACTS[0]}\nContext: a hobby\nTags: life, fact"]
    store.store_conversation(fact(FACTS[1], 1))
    assert set(store.get_all_memories()) == {
        f"{FACTS[0]}\nContext: a neighbour\nTags: near, by",
        f"{FACTS[1]}\nContext: a hobby\nTags: linked",
    }


def test_a_turn_with_its_reply_is_one_note(open_store):
    store = open_store()
    store.store_conversation([turn("user", "I like figs.", 0), turn("assistant", "Noted.", 1), turn("user", "42", 2)])
    texts = {memory.partition("\nContext")[0] for memory in store.get_all_memories()}
    assert texts == {"User: I like figs.\nAssistant: Noted.", "42"}


def test_a_conversation_that_was_stored_is_not_stored_again(open_store):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    store.store_conversation(fact(FACTS[0], 0))
    assert len(store.get_all_memories()) == 1
    store.store_conversation(fact(FACTS[0], 7))  # said again later
    assert len(store.get_all_memories()) == 2


def test_stores_are_apart(open_store):
    one, other = open_store("one"), open_store("other")
    one.store_conversation(fact(FACTS[0], 0))
    assert other.get_all_memories() == []


def test_everything_is_there_after_a_kill(open_store, tmp_path):
    store = open_store()
    for minute, text in enumerate([*FACTS, '{"a": 1.50}', "007"]):
        store.store_conversation(fact(text, minute))
    memories, found = store.get_all_memories(), store.retrieve_memories("green tea", [], 5)
    store.kill()
    again = open_store()
    assert sorted(again.get_all_memories()) == sorted(memories)
    assert sorted(again.retrieve_memories("green tea", [], 5)) == sorted(found)
    assert (tmp_path / "store" / "evolutions").read_text() == "4"
    again.store_conversation(fact("One more.", 9))
    assert (tmp_path / "store" / "evolutions").read_text() == "5"
    texts = {memory.splitlines()[0] for memory in again.get_all_memories()}
    assert texts == {*FACTS, '{"a": 1.50}', "007", "One more."}


def test_a_kill_while_storing_stores_nothing_twice(open_store, endpoint):
    store = open_store()
    conversation = [turn("user", text, minute) for minute, text in enumerate(FACTS)]
    endpoint.reply = lambda body: store.kill() if FACTS[2] in body["messages"][-1]["content"] else script(body)
    with pytest.raises(AssertionError, match="the process ended"):
        store.store_conversation(conversation)
    endpoint.reply = script
    again = open_store()
    assert sorted(memory.splitlines()[0] for memory in again.get_all_memories()) == sorted(FACTS[:2])
    again.store_conversation(conversation)
    assert sorted(memory.splitlines()[0] for memory in again.get_all_memories()) == sorted(FACTS)


def test_a_kill_while_a_neighbour_changes_loses_no_note(open_store, endpoint):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    answer = endpoint.answer

    def kill_at_the_change(path, body):
        if path.endswith("/embeddings") and "a neighbour" in body["input"][0]:
            store.kill()
        return answer(path, body)

    endpoint.answer = kill_at_the_change
    with pytest.raises(AssertionError, match="the process ended"):
        store.store_conversation(fact(FACTS[1], 1))
    endpoint.answer = answer
    again = open_store()
    assert again.get_all_memories() == [f"{FACTS[0]}\nContext: a hobby\nTags: life, fact"]
    again.store_conversation(fact(FACTS[1], 1))
    assert len(again.get_all_memories()) == 2


def test_replies_that_are_no_json_are_counted(open_store, endpoint):
    endpoint.reply = lambda body: "I would rather not."
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    store.store_conversation(fact(FACTS[1], 1))
    assert store.usage() == {"swallowed": 0, "unparsable": 3}  # one note without neighbours, one with
    assert len(store.get_all_memories()) == 2


def test_errors_of_the_model_are_counted(open_store, endpoint):
    endpoint.reply = lambda body: 500
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    assert store.usage() == {"swallowed": 1, "unparsable": 0}
    assert len(store.get_all_memories()) == 1


def test_an_embedder_of_another_dimension_is_one_line(open_store):
    store = open_store(dimensions=7)
    with pytest.raises(Raised, match="expected vectors of 7 numbers, got 64"):
        store.store_conversation(fact(FACTS[0], 0))


def test_a_query_that_cannot_be_embedded_is_no_empty_retrieval(open_store, endpoint):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    endpoint.answer = lambda path, body: (400, {"error": {"message": "no"}})
    with pytest.raises(Raised, match="EmbeddingsFailed"):
        store.retrieve_memories("Mira?", [], 3)
