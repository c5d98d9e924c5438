"""Graphiti and Cognee as they are installed, with scripted replies: any text, the same text twice, and what is raised."""

import pytest

from epbench.errors import CallFailed
from tests.memories.systems.conftest import fact, tell

pytestmark = pytest.mark.slow
graphiti = pytest.mark.parametrize("system", ["graphiti"])
TEA = "Ana drinks green tea"


@graphiti
def test_any_text_comes_back_as_it_was(open_store):
    store = open_store()
    tell(store, odd := ("Zoë 🦊 isst Äpfel", "أنا أشرب الشاي", 'O\'Neil says "no" \\ % {x}'))
    assert sorted(store.get_all_memories()) == sorted(odd)
    for query in ("🦊", "الشاي", "'; MATCH (n) DELETE n", 'a "quoted" (word) AND *', "?"):
        assert {*store.retrieve_memories(query, [], 3)} <= {*odd}
    assert sorted(store.get_all_memories()) == sorted(odd)


@pytest.mark.parametrize(("system", "memory"), [("graphiti", TEA), ("cognee", f"user: {TEA}")])
def test_the_same_conversation_twice_is_no_error_and_the_process_ends(memory, open_store):
    store = open_store()
    for _ in range(2):
        store.store_conversation(fact(TEA))
    assert {*store.get_all_memories()} == {memory}
    assert store.end() == 0


@graphiti
def test_what_cannot_be_read_is_counted_and_raised_in_the_end_as_is_an_error_of_the_model(open_store, endpoint):
    endpoint.reply = lambda body: 400
    store = open_store()
    with pytest.raises(CallFailed, match="400"):
        store.store_conversation(fact(TEA))
    assert store.usage()["swallowed"] == 0
    endpoint.reply = lambda body: "I would rather talk."
    with pytest.raises(CallFailed, match="JSONDecodeError"):
        store.store_conversation(fact(TEA))
    assert store.usage()["unparsable"] >= 1 and store.get_all_memories() == []
