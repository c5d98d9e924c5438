"""A-MEM's adapter around the real package, with scripted replies."""

import pytest

from epbench.errors import SystemLost
from tests.memories.systems.conftest import FACTS, fact, tell, turn
from tests.memories.systems.scripted_systems import a_mem_reply

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("system", ["a-mem"])]


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


def test_texts_that_look_like_numbers_or_json_are_there_after_a_kill(open_store, tmp_path):
    store = open_store()
    tell(store, [*FACTS[:2], '{"a": 1.50}', "007"])
    memories = store.get_all_memories()
    store.kill()
    again = open_store()
    assert sorted(again.get_all_memories()) == sorted(memories)
    assert (tmp_path / "store" / "evolutions").read_text() == "3"
    again.store_conversation(fact("One more.", 9))
    assert (tmp_path / "store" / "evolutions").read_text() == "4"
    texts = {memory.splitlines()[0] for memory in again.get_all_memories()}
    assert texts == {*FACTS[:2], '{"a": 1.50}', "007", "One more."}


def test_a_kill_while_storing_stores_nothing_twice(open_store, endpoint):
    store = open_store()
    conversation = [turn("user", text, minute) for minute, text in enumerate(FACTS)]
    endpoint.reply = lambda body: store.kill() if FACTS[2] in body["messages"][-1]["content"] else a_mem_reply(body)
    with pytest.raises(SystemLost):
        store.store_conversation(conversation)
    endpoint.reply = a_mem_reply
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
    with pytest.raises(SystemLost):
        store.store_conversation(fact(FACTS[1], 1))
    endpoint.answer = answer
    again = open_store()
    assert again.get_all_memories() == [f"{FACTS[0]}\nContext: a hobby\nTags: life, fact"]
    again.store_conversation(fact(FACTS[1], 1))
    assert len(again.get_all_memories()) == 2


def test_replies_that_are_no_json_are_counted(open_store, endpoint):
    endpoint.reply = lambda body: "I would rather not."
    store = open_store()
    tell(store, FACTS[:2])
    assert store.usage() == {"swallowed": 0, "unparsable": 3}  # one note without neighbours, one with
    assert len(store.get_all_memories()) == 2


def test_a_server_that_knows_json_objects_only_gets_the_schema_beside(open_store, endpoint):
    def reply(body):
        form = body["response_format"]
        return a_mem_reply({**body, "response_format": {"json_schema": form}}) if form["type"] == "json_object" else 500

    endpoint.reply = reply
    store = open_store(response_format="json_object")
    store.store_conversation(fact(FACTS[0], 0))
    assert store.get_all_memories() == [f"{FACTS[0]}\nContext: a hobby\nTags: life, fact"]
    assert store.usage() == {"swallowed": 0, "unparsable": 0}
