"""Graphiti as it is installed, with scripted replies: what is stored stays, and nothing goes elsewhere."""

import json
import re

import pytest

from tests.memories.systems.conftest import Raised
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.slow  # each test starts the environment's Python
FACTS = ("Ana drinks green tea", "Ada plays chess", "Felix sleeps late", "Moses fears moths", "Tea calms Ana")


def told(fact, second=0):
    return [{"role": "user", "content": fact, "timestamp": f"2025-01-01T10:00:{second:02}"}]


def reply(body):
    """What a good model says: the first word of a sentence and the rest are entities, and the sentence links them."""
    wanted = body["response_format"].get("json_schema", {}).get("name", "")
    prompt = body["messages"][-1]["content"]
    said = re.findall(r"^(?:\[?\d*\]?\s*)?user: (.*)$", prompt, re.M)
    first, _, rest = (said[-1] if said else "nobody knows").partition(" ")
    if wanted == "ExtractedEntities":
        found = [{"name": name, "entity_type_id": 0} for name in (first, rest or "it")]
        return json.dumps({"extracted_entities": found})
    if wanted == "NodeResolutions":
        ids = [int(i) for i in re.findall(r'"id": (\d+)', prompt)]
        return json.dumps({"entity_resolutions": [{"id": i, "name": "", "duplicate_candidate_id": -1} for i in ids]})
    if wanted == "ExtractedEdges":
        edge = {"source_entity_name": first, "target_entity_name": rest or "it", "relation_type": "DOES"}
        return json.dumps({"edges": [{**edge, "fact": f"{first} {rest}"}]})
    if wanted == "EdgeDuplicate":
        return json.dumps({"duplicate_facts": [], "contradicted_facts": []})
    if wanted in ("EdgeTimestamps", "BatchEdgeTimestamps"):
        return json.dumps({"timestamps": [], "valid_at": None, "invalid_at": None})
    return json.dumps({"summaries": [], "summary": "known"})


@pytest.fixture
def open_graphiti(adapter_process, tmp_path):
    def open_(endpoint, **more):
        return adapter_process("graphiti", "graphiti:Graphiti", tmp_path / "store", endpoint.base_url, **more)

    return open_


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(reply) as made:
        yield made


def test_what_is_stored_is_retrieved_and_listed(open_graphiti, endpoint):
    graphiti = open_graphiti(endpoint)
    assert graphiti.get_all_memories() == graphiti.retrieve_memories("tea", [], 3) == []
    for second, fact in enumerate(FACTS):
        graphiti.store_conversation(told(fact, second))
    assert sorted(graphiti.get_all_memories()) == sorted(FACTS)
    assert graphiti.retrieve_memories("Who drinks green tea?", [], 1) == ["Ana drinks green tea"]
    found = graphiti.retrieve_memories("Ada plays what, and who drinks tea?", [], 3)
    assert 1 <= len(found) <= 3 and {*found} <= {*FACTS}
    assert graphiti.usage() == {"unparsable": 0, "swallowed": 0}
    assert {host for host, _ in graphiti.addresses()} <= {"127.0.0.1"}
    graphiti.close()
    assert graphiti.end() == 0


def test_any_text_comes_back_as_it_was(open_graphiti, endpoint):
    graphiti = open_graphiti(endpoint)
    for second, fact in enumerate(odd := ("Zoë 🦊 isst Äpfel", "أنا أشرب الشاي", 'O\'Neil says "no" \\ % {x}')):
        graphiti.store_conversation(told(fact, second))
    assert sorted(graphiti.get_all_memories()) == sorted(odd)
    for query in ("🦊", "الشاي", "'; MATCH (n) DELETE n", 'a "quoted" (word) AND *', "?"):
        assert {*graphiti.retrieve_memories(query, [], 3)} <= {*odd}
    assert sorted(graphiti.get_all_memories()) == sorted(odd)


def test_everything_is_still_there_after_a_kill(open_graphiti, endpoint):
    graphiti = open_graphiti(endpoint)
    for second, fact in enumerate(FACTS[:3]):
        graphiti.store_conversation(told(fact, second))
    graphiti.kill()
    again = open_graphiti(endpoint)
    assert sorted(again.get_all_memories()) == sorted(FACTS[:3])
    again.store_conversation(told(FACTS[3], 3))
    assert sorted(again.get_all_memories()) == sorted(FACTS[:4])
    assert again.retrieve_memories("Who drinks green tea?", [], 1) == ["Ana drinks green tea"]


def test_the_same_conversation_twice_is_no_error(open_graphiti, endpoint):
    graphiti = open_graphiti(endpoint)
    for _ in range(2):
        graphiti.store_conversation(told(FACTS[0]))
    assert {*graphiti.get_all_memories()} == {FACTS[0]}


def test_replies_that_are_no_json_are_counted_and_raised_in_the_end(open_graphiti):
    with ScriptedEndpoint(lambda body: "I would rather talk.") as endpoint:
        graphiti = open_graphiti(endpoint)
        with pytest.raises(Raised, match="JSONDecodeError"):
            graphiti.store_conversation(told(FACTS[0]))
        assert graphiti.usage()["unparsable"] >= 1 and graphiti.get_all_memories() == []


def test_an_error_of_the_model_is_raised(open_graphiti):
    with ScriptedEndpoint(lambda body: 400) as endpoint:
        graphiti = open_graphiti(endpoint)
        with pytest.raises(Raised, match="400"):
            graphiti.store_conversation(told(FACTS[0]))
        assert graphiti.usage()["swallowed"] == 0
