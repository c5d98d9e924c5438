"""Cognee as it is installed, with scripted replies: what is stored stays, and nothing goes elsewhere."""

import json

import pytest

from tests.memories.systems.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.slow  # each test starts the environment's Python
FACTS = ("Ana drinks green tea", "Ada plays chess", "Felix sleeps late", "Moses fears moths", "Tea calms Ana")


def told(fact, second=0):
    return [{"role": "user", "content": fact, "timestamp": f"2025-01-01T10:00:{second:02}"}]


def reply(body):
    """What a model may say: one entity in the graph, and a summary."""
    if "source_node_id" in json.dumps(body):
        node = {"id": "somebody", "name": "Somebody", "type": "Person", "description": "a person"}
        return json.dumps({"nodes": [node], "edges": []})
    return json.dumps({"summary": "a summary", "description": ""})


@pytest.fixture
def open_cognee(adapter_process, tmp_path):
    def open_(endpoint, **more):
        return adapter_process("cognee", "cognee:Cognee", tmp_path / "store", endpoint.base_url, **more)

    return open_


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(reply) as made:
        yield made


def test_what_is_stored_is_retrieved_and_listed(open_cognee, endpoint):
    cognee = open_cognee(endpoint)
    assert cognee.get_all_memories() == cognee.retrieve_memories("tea", [], 3) == []
    odd = ("Zoë 🦊 isst Äpfel", "أنا أشرب الشاي")
    for second, fact in enumerate((*FACTS, *odd)):
        cognee.store_conversation(told(fact, second))
    everything = [f"user: {fact}" for fact in (*FACTS, *odd)]
    assert cognee.get_all_memories() == everything
    assert cognee.retrieve_memories("Ana drinks green tea", [], 1) == ["user: Ana drinks green tea"]
    assert len(found := cognee.retrieve_memories("Who drinks tea?", [], 3)) == 3 and {*found} <= {*everything}
    assert cognee.usage() == {"unparsable": 0, "swallowed": 0}
    assert {host for host, _ in cognee.addresses()} <= {"127.0.0.1"}
    cognee.store_conversation(told(FACTS[0]))  # the same text once more is the same document
    assert cognee.get_all_memories() == everything
    cognee.close()
    assert cognee.end() == 0


def test_everything_is_still_there_after_a_kill(open_cognee, endpoint):
    cognee = open_cognee(endpoint)
    for second, fact in enumerate(FACTS[:2]):
        cognee.store_conversation(told(fact, second))
    cognee.kill()
    again = open_cognee(endpoint)
    assert again.get_all_memories() == [f"user: {fact}" for fact in FACTS[:2]]
    again.store_conversation(told(FACTS[2], 3))
    assert again.get_all_memories() == [f"user: {fact}" for fact in FACTS[:3]]
    assert again.retrieve_memories("Ada plays chess", [], 1) == ["user: Ada plays chess"]
