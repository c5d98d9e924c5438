"""SimpleMem's adapter around the real package, with scripted replies."""

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


def entry(text):
    return {"lossless_restatement": text, "keywords": [], "timestamp": None, "persons": [], "topic": "life"}


def script(body):
    """Answer the prompts of SimpleMem, each of which has a system message of its own."""
    task, prompt = (message["content"] for message in body["messages"])
    if "information extraction" in task:
        window = prompt.partition("[Current Window Dialogues]")[2].partition("[Requirements]")[0]
        said = re.findall(r"^\[.+?\] (?:User|Assistant): (.+)$", window, re.MULTILINE)
        return json.dumps([entry(text) for text in said])
    if "requirement analyst" in task:
        return json.dumps({"question_type": "factual", "required_info": [], "minimal_queries_needed": 1})
    if "query generation specialist" in task:
        return "```json\n" + json.dumps({"reasoning": "one is enough", "queries": []}) + "\n```"
    if "completeness evaluator" in task:
        return json.dumps({"assessment": "incomplete", "coverage_percentage": 50})
    assert "missing information" in task, task
    return json.dumps({"targeted_queries": ["barn", "tea"]})


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(script) as endpoint:
        yield endpoint


@pytest.fixture
def open_store(adapter_process, endpoint, tmp_path):
    return lambda name="store", **settings: adapter_process(
        "simplemem", "simplemem:SimpleMem", tmp_path / name, endpoint.base_url, **settings
    )


FACTS = ["Mira plays the cello on Sundays.", "Ravi keeps bees behind the barn.", "Jörg trinkt nur grünen Tee 🍵."]


def test_stores_retrieves_and_lists(open_store, endpoint):
    store = open_store()
    assert store.get_all_memories() == [] and store.retrieve_memories("anything?", [], 3) == []
    for minute, text in enumerate(FACTS):
        store.store_conversation(fact(text, minute))
    assert sorted(store.get_all_memories()) == sorted(FACTS)
    assert store.retrieve_memories("Who keeps bees behind the barn?", [], 1) == [FACTS[1]]
    assert sorted(store.retrieve_memories("Tee", [], 10)) == sorted(FACTS)
    assert sorted(store.get_all_memories()) == sorted(FACTS)
    assert store.usage() == {"swallowed": 0, "unparsable": 0}
    port = urlsplit(endpoint.base_url).port
    assert {tuple(address) for address in store.addresses()} == {("127.0.0.1", port)}
    assert {path for path, _ in endpoint.requests} == {"/v1/chat/completions", "/v1/embeddings"}


def test_the_published_settings_are_the_defaults(open_store, endpoint):
    store = open_store()
    store.store_conversation([turn("user", f"Fact number {minute}.", minute) for minute in range(25)])
    asked = [body["messages"][1]["content"] for path, body in endpoint.requests if path.endswith("completions")]
    assert [prompt.count("] User: Fact number") for prompt in asked] == [20, 5]
    assert "[2024-03-01T10:03:00] User: Fact number 3." in asked[0]
    assert "stream" not in endpoint.requests[0][1]
    endpoint.requests.clear()
    store.retrieve_memories("Which facts?", [], 2)
    tasks = [body["messages"][0]["content"] for path, body in endpoint.requests if path.endswith("completions")]
    assert sum("completeness evaluator" in task for task in tasks) == 2  # rounds of reflection
    assert len(tasks) == 6  # and two for the plan, two for what is missing


def test_settings_reach_the_system(open_store, endpoint):
    store = open_store(window_size=2, enable_planning=False)
    store.store_conversation([turn("user", text, minute) for minute, text in enumerate(FACTS)])
    assert len([path for path, _ in endpoint.requests if path.endswith("completions")]) == 2
    endpoint.requests.clear()
    assert store.retrieve_memories("Who keeps bees behind the barn?", [], 1) == [FACTS[1]]
    assert [path for path, _ in endpoint.requests] == ["/v1/embeddings"]


def test_the_listing_is_complete_at_a_thousand_memories(open_store, endpoint):
    many = [f"Fact {n}." for n in range(1100)]
    endpoint.reply = lambda body: json.dumps([entry(text) for text in many])
    store = open_store()
    store.store_conversation(fact("Everything.", 0))
    assert sorted(store.get_all_memories()) == sorted(many)


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
    assert sorted(again.get_all_memories()) == sorted(FACTS)
    assert again.retrieve_memories("barn", [], 2) == found
    again.store_conversation(fact("One more.", 9))
    assert len(again.get_all_memories()) == 4


@pytest.mark.parametrize("reply", ["I would rather not.", '{"lossless_restatement": "no list"}', '[{"text": "?"}]', ""])
def test_replies_that_are_not_what_was_asked_for_are_counted(open_store, endpoint, reply):
    endpoint.reply = lambda body: reply
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    assert store.usage() == {"swallowed": 0, "unparsable": 3}  # SimpleMem asks three times
    assert store.get_all_memories() == []


def test_errors_of_the_model_are_counted(open_store, endpoint):
    store = open_store()
    store.store_conversation(fact(FACTS[0], 0))
    endpoint.reply = lambda body: 500
    store.store_conversation(fact(FACTS[1], 1))
    assert store.usage() == {"swallowed": 3, "unparsable": 0}
    assert store.get_all_memories() == [FACTS[0]]


def test_an_embedder_of_another_dimension_is_one_line(open_store):
    store = open_store(dimensions=7)
    with pytest.raises(Raised, match="expected vectors of 7 numbers, got 64"):
        store.store_conversation(fact(FACTS[0], 0))


def test_a_query_that_cannot_be_embedded_is_no_empty_retrieval(open_store, endpoint):
    store = open_store(enable_planning=False)
    store.store_conversation(fact(FACTS[0], 0))
    endpoint.answer = lambda path, body: (400, {"error": {"message": "no"}})
    with pytest.raises(Raised, match="EmbeddingsFailed"):
        store.retrieve_memories("Mira?", [], 3)
