"""Mem0 2.x and 1.x as they are installed, with scripted replies: what a reply may lack, and what mem0 hides."""

import json

import pytest

from epbench.errors import CallFailed
from tests.memories.systems.conftest import fact, turn
from tests.memories.systems.scripted_systems import mem0_reply

pytestmark = pytest.mark.slow
both = pytest.mark.parametrize("system", ["mem0", "mem0-1"])


@both
def test_both_speakers_are_told_and_dissimilar_memories_are_found(open_store, endpoint):
    mem0 = open_store()
    texts = ["I drink green tea", "Ada plays chess", "עברית ו-English", "a\u2028b \u0000 c", "喝绿茶"]
    for minute, text in enumerate(texts):
        mem0.store_conversation([turn("user", text, minute), turn("assistant", "I see.", minute)])
    assert sorted(mem0.get_all_memories()) == sorted(mem0.retrieve_memories("tea", [], 100)) == sorted(texts)
    said = str([body for path, body in endpoint.requests if path.endswith("completions")])
    assert "assistant: I see." in said
    assert mem0.end() == 0


@both
def test_a_reply_whose_memories_are_no_objects_is_counted_and_raised_by_2(system, open_store, endpoint):
    endpoint.reply = lambda body: '{"memory": ["tea"]}'
    mem0 = open_store()
    if system == "mem0":
        with pytest.raises(CallFailed, match="'str' object has no attribute 'get'"):
            mem0.store_conversation(fact("I drink tea"))
    else:
        mem0.store_conversation(fact("I drink tea"))
    assert mem0.usage() == {"unparsable": 1, "swallowed": 0} and mem0.get_all_memories() == []


@both
def test_a_reply_without_facts_is_none_of_those(open_store, endpoint):
    endpoint.reply = lambda body: '```json\n{"facts": [], "memory": []}\n```'
    mem0 = open_store()
    mem0.store_conversation(fact("I drink tea"))
    assert mem0.usage() == {"unparsable": 0, "swallowed": 0}


@pytest.mark.parametrize("system", ["mem0-1"])
def test_an_error_that_mem0_hides_is_counted(open_store, endpoint):
    """1.x goes on when its second request fails, or when the model changes a memory that does not exist."""
    second = [500, json.dumps({"memory": [{"id": "7", "text": "tea", "event": "UPDATE"}]})]

    def fails(body):
        return mem0_reply(body) if body["messages"][-1]["content"].startswith("Input:") else second[0]

    endpoint.reply, mem0 = fails, open_store()
    for minute in range(2):
        mem0.store_conversation(fact(f"I drink tea {minute}", minute))
        assert mem0.usage() == {"unparsable": 0, "swallowed": minute + 1} and mem0.get_all_memories() == []
        second.pop(0)
