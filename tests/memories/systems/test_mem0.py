"""Mem0 2.x and 1.x as they are installed, with scripted replies: what is stored stays, and nothing goes elsewhere."""

import ast
import json
import re

import pytest

from tests.memories.systems.conftest import Raised
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.slow  # each test starts the environment's Python
FACTS = ("I drink green tea", "Ada plays chess", "My cat sleeps late", "I fear moths", "Tea calms me")


def told(fact, second=0):
    return [
        {"role": "user", "content": fact, "timestamp": f"2025-01-01T10:00:{second:02}"},
        {"role": "assistant", "content": "I see.", "timestamp": f"2025-01-01T10:01:{second:02}"},
    ]


def reply(body):
    """What a good model says: each text of the user is a fact, and each fact is added."""
    prompt = body["messages"][-1]["content"]
    if "## New Messages" in prompt:  # the call of 2.x
        new = prompt.split("## New Messages")[1].split("## Observation Date")[0]
        return json.dumps({"memory": [{"text": fact} for fact in re.findall(r"^user: (.*)$", new, re.M)]})
    if prompt.startswith("Input:"):  # the first call of 1.x
        return json.dumps({"facts": re.findall(r"^user: (.*)$", prompt, re.M)})
    facts = ast.literal_eval(re.findall(r"```\s*(\[.*?\])\s*```", prompt, re.S)[-1])  # the second call of 1.x
    return json.dumps({"memory": [{"id": "new", "text": fact, "event": "ADD"} for fact in facts]})


@pytest.fixture(params=["mem0", "mem0-1"])
def open_mem0(request, adapter_process, tmp_path):
    def open_(endpoint, **more):
        return adapter_process(request.param, "mem0:Mem0", tmp_path / "store", endpoint.base_url, **more)

    open_.system = request.param
    return open_


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(reply) as made:
        yield made


def test_what_is_stored_is_retrieved_and_listed(open_mem0, endpoint):
    mem0 = open_mem0(endpoint)
    assert mem0.get_all_memories() == mem0.retrieve_memories("tea", [], 3) == []
    for second, fact in enumerate(FACTS):
        mem0.store_conversation(told(fact, second))
    assert sorted(mem0.get_all_memories()) == sorted(FACTS)
    assert {*mem0.retrieve_memories("tea", [], 2)} == {"I drink green tea", "Tea calms me"}
    assert len(mem0.retrieve_memories("tea", [], 4)) == 4
    assert sorted(mem0.retrieve_memories("tea", [], 100)) == sorted(FACTS)  # dissimilar ones, too
    assert mem0.usage() == {"unparsable": 0, "swallowed": 0}
    said = str([body for path, body in endpoint.requests if path.endswith("completions")])
    assert "assistant: I see." in said
    mem0.close()
    assert mem0.end() == 0


def test_nothing_but_the_endpoint_is_reached_whatever_the_environment_says(open_mem0, endpoint):
    keys = {"OPENROUTER_API_KEY": "sk-1", "OPENAI_API_BASE": "http://example.com", "MEM0_TELEMETRY": "True"}
    mem0 = open_mem0(endpoint, environ=keys)
    mem0.store_conversation(told(FACTS[0]))
    assert mem0.retrieve_memories("tea", [], 3) == [FACTS[0]]
    mem0.close()
    port = int(endpoint.base_url.split(":")[2].split("/")[0])
    assert {tuple(address) for address in mem0.addresses()} == {("127.0.0.1", port)}
    assert mem0.end() == 0


def test_any_text_comes_back_as_it_was(open_mem0, endpoint):
    texts = ("Ich trinke 🍵 mit Zoë", "أنا أشرب الشاي", "עברית ו-English", "a\u2028b \u0000 c", "喝绿茶")
    mem0 = open_mem0(endpoint)
    for second, text in enumerate(texts):
        mem0.store_conversation(told(text, second))
        assert text in mem0.retrieve_memories(text, [], len(texts))
    assert sorted(mem0.get_all_memories()) == sorted(texts)


def test_everything_is_still_there_after_a_kill(open_mem0, endpoint):
    mem0 = open_mem0(endpoint)
    for second, fact in enumerate(FACTS):
        mem0.store_conversation(told(fact, second))
    mem0.kill()
    mem0 = open_mem0(endpoint)
    assert sorted(mem0.get_all_memories()) == sorted(FACTS)
    assert mem0.retrieve_memories("moths", [], 1) == ["I fear moths"]


def test_a_reply_that_cannot_be_parsed_is_counted(open_mem0):
    replies = ["Sure! I will remember that.", "", '{"memories": []}', '["tea"]', "none is left"]
    with ScriptedEndpoint(lambda body: replies[0]) as endpoint:
        mem0 = open_mem0(endpoint)
        for second in range(4):
            mem0.store_conversation(told(FACTS[0], second))
            assert mem0.usage() == {"unparsable": second + 1, "swallowed": 0}
            replies.pop(0)
        assert mem0.get_all_memories() == []


def test_a_reply_whose_memories_are_no_objects_is_counted_and_raised_by_2(open_mem0):
    with ScriptedEndpoint(lambda body: '{"memory": ["tea"]}') as endpoint:
        mem0 = open_mem0(endpoint)
        if open_mem0.system == "mem0":
            with pytest.raises(Raised, match="'str' object has no attribute 'get'"):
                mem0.store_conversation(told(FACTS[0]))
        else:
            mem0.store_conversation(told(FACTS[0]))
        assert mem0.usage() == {"unparsable": 1, "swallowed": 0} and mem0.get_all_memories() == []


def test_a_reply_without_facts_is_none_of_those(open_mem0):
    with ScriptedEndpoint(lambda body: '```json\n{"facts": [], "memory": []}\n```') as endpoint:
        mem0 = open_mem0(endpoint)
        mem0.store_conversation(told(FACTS[0]))
        assert mem0.usage() == {"unparsable": 0, "swallowed": 0}


def test_an_error_of_the_model_is_raised_and_the_conversation_can_be_stored_later(open_mem0):
    down = [True]
    with ScriptedEndpoint(lambda body: 500 if down[0] else reply(body)) as endpoint:
        mem0 = open_mem0(endpoint)
        with pytest.raises(Raised, match="scripted error 500"):
            mem0.store_conversation(told(FACTS[0]))
        assert mem0.usage() == {"unparsable": 0, "swallowed": 0} and mem0.get_all_memories() == []
        down[0] = False
        mem0.store_conversation(told(FACTS[0]))
        assert mem0.get_all_memories() == [FACTS[0]]


@pytest.mark.parametrize("open_mem0", ["mem0-1"], indirect=True)
def test_an_error_that_mem0_hides_is_counted(open_mem0):
    """1.x goes on when its second request fails, or when the model changes a memory that does not exist.

    2.x has one request, and raises when it fails, which the test before this one shows.
    """
    second = [500, json.dumps({"memory": [{"id": "7", "text": "tea", "event": "UPDATE"}]})]

    def fails(body):
        return reply(body) if body["messages"][-1]["content"].startswith("Input:") else second[0]

    with ScriptedEndpoint(fails) as endpoint:
        mem0 = open_mem0(endpoint)
        mem0.store_conversation(told(FACTS[0]))
        assert mem0.usage() == {"unparsable": 0, "swallowed": 1}
        second.pop(0)
        mem0.store_conversation(told(FACTS[1], 1))
        assert mem0.usage() == {"unparsable": 0, "swallowed": 2} and mem0.get_all_memories() == []


def test_an_embedder_of_another_length_is_refused_in_one_line(open_mem0, endpoint):
    mem0 = open_mem0(endpoint, dimensions=32)
    with pytest.raises(Raised, match="ValueError: embedding model: expected vectors of 32 numbers, got 64"):
        mem0.store_conversation(told(FACTS[0]))
    assert mem0.usage() == {"unparsable": 0, "swallowed": 0}


def test_a_thousand_memories_are_listed(open_mem0):
    facts = [f"fact number {n}" for n in range(1000)]

    def all_at_once(body):
        memory = [{"id": "new", "text": fact, "event": "ADD"} for fact in facts]
        return json.dumps({"facts": facts[:1], "memory": memory})

    with ScriptedEndpoint(all_at_once) as endpoint:
        mem0 = open_mem0(endpoint)
        mem0.store_conversation(told("many"))
        assert sorted(mem0.get_all_memories()) == sorted(facts)
        assert len(mem0.retrieve_memories("fact", [], 50)) == 50
