"""What every adapter promises, each around the real package with scripted replies."""

import json
from urllib.parse import urlsplit

import pytest

from epbench.errors import CallFailed
from tests.memories.systems import conftest
from tests.memories.systems.conftest import fact, tell
from tests.memories.systems.scripted_systems import SCRIPTED

FACTS = [*conftest.FACTS, "أنا أشرب الشاي"]
NOTHING = {"swallowed": 0, "unparsable": 0}


def of(condition):
    return pytest.mark.parametrize("system", [name for name, about in SCRIPTED.items() if condition(about)])


pytestmark = pytest.mark.slow  # each test starts the environment's Python


def texts(system, memories):
    return sorted(map(SCRIPTED[system].seen, memories))


@pytest.mark.parametrize("system", SCRIPTED)
def test_what_is_stored_is_retrieved_and_listed_and_only_the_endpoint_is_reached(
    system, open_store, endpoint, tmp_path
):
    store, other = open_store(), open_store("other")
    assert store.get_all_memories() == store.retrieve_memories("anything?", [], 3) == []
    tell(store, FACTS)
    memories = store.get_all_memories()
    assert texts(system, memories) == sorted(FACTS) and other.get_all_memories() == []
    found = store.retrieve_memories("Who keeps bees behind the barn?", [], 2)
    assert texts(system, found[:1]) == [FACTS[1]] and len(found) <= 2 and set(found) <= set(memories)
    assert set(store.retrieve_memories("Tee", [], 10)) <= set(memories) == set(store.get_all_memories())
    assert store.usage() == NOTHING
    hosts, ports = map(set, zip(*map(str.split, (tmp_path / "reached").read_text().splitlines()), strict=True))
    assert hosts == {"127.0.0.1"}
    assert ports == {f"{urlsplit(endpoint.base_url).port}"} or system in (
        "cognee",
        "graphiti",
    )  # which talk to themselves


@pytest.mark.parametrize("system", SCRIPTED)
def test_everything_is_there_after_a_kill(system, open_store):
    store = open_store()
    tell(store, FACTS[:3])
    store.kill()
    again = open_store()
    assert texts(system, again.get_all_memories()) == sorted(FACTS[:3])
    assert texts(system, again.retrieve_memories("Who keeps bees behind the barn?", [], 1)[:1]) == [FACTS[1]]
    again.store_conversation(fact("One more.", 9))
    assert texts(system, again.get_all_memories()) == sorted([*FACTS[:3], "One more."])


@of(lambda about: about.many)
def test_a_thousand_memories_are_listed(system, open_store, endpoint):
    many, about = [f"Fact {n}." for n in range(1100)], SCRIPTED[system]
    endpoint.reply = lambda body: about.reply(body) if "Extract relations" in json.dumps(body) else about.many(many)
    store = open_store()
    store.store_conversation(fact("Everything."))
    assert texts(system, store.get_all_memories()) == sorted(many)
    endpoint.reply = about.reply
    assert len(store.retrieve_memories("Fact", [], 50)) == 50


@of(lambda about: about.unreadable)
def test_replies_that_are_not_what_was_asked_for_are_counted(system, open_store, endpoint):
    store, about = open_store(), SCRIPTED[system]
    for n, reply in enumerate(about.unreadable):
        endpoint.reply = lambda body, reply=reply: reply
        store.store_conversation(fact(FACTS[0], n))
        assert store.usage() == {"swallowed": 0, "unparsable": (n + 1) * about.asks}
    assert store.get_all_memories() == []


@of(lambda about: about.hides)
def test_errors_of_the_model_that_a_system_hides_are_counted(system, open_store, endpoint):
    endpoint.reply = lambda body: 500
    store = open_store()
    store.store_conversation(fact(FACTS[0]))
    assert store.usage() == {"swallowed": SCRIPTED[system].hides, "unparsable": 0}


@pytest.mark.parametrize("system", ["mem0", "mem0-1", "langmem"])
def test_an_error_of_the_model_is_raised_and_the_conversation_can_be_stored_later(system, open_store, endpoint):
    endpoint.reply = lambda body: 500
    store = open_store()
    with pytest.raises(CallFailed, match="scripted error 500"):
        store.store_conversation(fact(FACTS[0]))
    assert store.usage() == NOTHING and store.get_all_memories() == []
    endpoint.reply = SCRIPTED[system].reply
    store.store_conversation(fact(FACTS[0]))
    assert store.get_all_memories() == [FACTS[0]]


@pytest.mark.parametrize("system", ["mem0", "mem0-1", "a-mem", "simplemem", "structmem"])
def test_an_embedder_of_another_dimension_is_one_line(system, open_store):
    store = open_store(dimensions=7)
    with pytest.raises(CallFailed, match="expected vectors of 7 numbers, got 64"):
        store.store_conversation(fact(FACTS[0]))
    assert store.usage() == NOTHING


@pytest.mark.parametrize(("system", "settings"), [("a-mem", {}), ("simplemem", {"enable_planning": False})])
def test_a_query_that_cannot_be_embedded_is_no_empty_retrieval(settings, open_store, endpoint):
    store = open_store(**settings)
    store.store_conversation(fact(FACTS[0]))
    endpoint.answer = lambda path, body: (400, {"error": {"message": "no"}})
    with pytest.raises(CallFailed, match="EmbeddingsFailed"):
        store.retrieve_memories("Mira?", [], 3)
