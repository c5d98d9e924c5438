"""LangMem as it is installed, with scripted replies: what is stored stays, and nothing goes elsewhere."""

import json
import re
from threading import Event

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


def calls(*arguments, name="Memory"):
    """A message that calls a tool with each of these arguments, which are texts."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, text in enumerate(arguments)
    ]
    return {"content": None, "tool_calls": made}


def reply(body):
    """What a good model says: each text of the user is a memory."""
    session = body["messages"][-1]["content"].split("<session_")[1]
    said = re.findall(r"Human Message =+\n\n(.*?)\n+(?:=+ Ai Message|</session)", session, re.S)
    return calls(*(json.dumps({"content": fact}) for fact in said))


@pytest.fixture
def open_langmem(adapter_process, tmp_path):
    def open_(endpoint, **more):
        return adapter_process("langmem", "langmem:LangMem", tmp_path / "store", endpoint.base_url, **more)

    return open_


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(reply) as made:
        yield made


def test_what_is_stored_is_retrieved_and_listed_and_any_text_comes_back(open_langmem, endpoint):
    langmem = open_langmem(endpoint)
    assert langmem.get_all_memories() == langmem.retrieve_memories("tea", [], 3) == []
    for second, fact in enumerate(FACTS):
        langmem.store_conversation(told(fact, second))
    assert sorted(langmem.get_all_memories()) == sorted(FACTS)
    assert {*langmem.retrieve_memories("tea", [], 2)} <= set(FACTS)
    assert len(langmem.retrieve_memories("tea", [], 4)) == 4
    assert sorted(langmem.retrieve_memories("tea", [], 100)) == sorted(FACTS)
    texts = ("Ich trinke 🍵 mit Zoë", "أنا أشرب الشاي", "עברית ו-English", "a\u2028b c", "喝绿茶")
    for second, text in enumerate(texts):
        langmem.store_conversation(told(text, 30 + second))
    assert sorted(langmem.get_all_memories()) == sorted(FACTS + texts)
    assert langmem.usage() == {"unparsable": 0, "swallowed": 0}
    embedded = [body["input"] for path, body in endpoint.requests if path.endswith("embeddings")]
    assert all(isinstance(text, str) for texts in embedded for text in texts)  # and not numbers of tokens
    assert langmem.end() == 0


def test_nothing_but_the_endpoint_is_reached_whatever_the_environment_says(open_langmem, endpoint):
    keys = {"OPENAI_API_BASE": "http://example.com", "LANGSMITH_API_KEY": "ls-1", "LANGSMITH_TRACING": "true"}
    langmem = open_langmem(endpoint, environ=keys)
    langmem.store_conversation(told(FACTS[0]))
    assert langmem.retrieve_memories("tea", [], 3) == [FACTS[0]]
    port = int(endpoint.base_url.split(":")[2].split("/")[0])
    assert {tuple(address) for address in langmem.addresses()} == {("127.0.0.1", port)}


def test_everything_is_still_there_after_a_kill(open_langmem, endpoint):
    langmem = open_langmem(endpoint)
    for second, fact in enumerate(FACTS):
        langmem.store_conversation(told(fact, second))
    langmem.store_conversation(told(FACTS[0], 50))  # the same words at another time: this model adds them again
    langmem.kill()
    langmem = open_langmem(endpoint)
    assert sorted(langmem.get_all_memories()) == sorted((*FACTS, FACTS[0]))
    assert langmem.retrieve_memories("I fear moths", [], 1) == ["I fear moths"]


def test_a_kill_in_the_middle_of_a_conversation_leaves_nothing_of_it(open_langmem):
    reached = Event()

    def stops(body):
        if "moths" in str(body["messages"][-1]) and not reached.is_set():
            reached.set()
            Event().wait(2)
        return reply(body)

    with ScriptedEndpoint(stops) as endpoint:
        langmem = open_langmem(endpoint)
        langmem.store_conversation(told(FACTS[0]))
        langmem.start("store_conversation", told(FACTS[3], 3))
        assert reached.wait(60)
        langmem.kill()
        langmem = open_langmem(endpoint)
        assert langmem.get_all_memories() == [FACTS[0]]
        langmem.store_conversation(told(FACTS[3], 3))
        assert sorted(langmem.get_all_memories()) == sorted((FACTS[0], FACTS[3]))


def test_a_reply_that_cannot_be_parsed_is_counted(open_langmem):
    replies = ["Sure! I will remember that.", calls('{"content": "tea'), calls("tea"), "none is left"]
    with ScriptedEndpoint(lambda body: replies[0]) as endpoint:
        langmem = open_langmem(endpoint)
        for second in range(3):
            langmem.store_conversation(told(FACTS[0], second))
            assert langmem.usage() == {"unparsable": second + 1, "swallowed": 0}
            replies.pop(0)
        assert langmem.get_all_memories() == []


def test_an_error_of_the_model_is_raised_and_the_conversation_can_be_stored_later(open_langmem):
    down = [True]
    with ScriptedEndpoint(lambda body: 500 if down[0] else reply(body)) as endpoint:
        langmem = open_langmem(endpoint)
        with pytest.raises(Raised, match="scripted error 500"):
            langmem.store_conversation(told(FACTS[0]))
        assert langmem.usage() == {"unparsable": 0, "swallowed": 0} and langmem.get_all_memories() == []
        down[0] = False
        langmem.store_conversation(told(FACTS[0]))
        assert langmem.get_all_memories() == [FACTS[0]]


def test_errors_that_the_manager_hides_are_counted(open_langmem):
    """With memories before it, a request that failed is put once more; without an embedding, a memory is lost."""
    faults = {"chat": 0, "embeddings": False}

    class Fails(ScriptedEndpoint):
        def answer(self, path, body):
            if faults["embeddings"] and '"kind"' in str(body.get("input")):  # of a memory, not of a search
                return 400, {"error": {"message": "scripted error 400"}}
            return super().answer(path, body)

    def fails(body):
        if faults["chat"]:
            faults["chat"] -= 1
            return 500
        return reply({"messages": [m for m in body["messages"] if "<session_" in str(m["content"])]})

    with Fails(fails) as endpoint:
        langmem = open_langmem(endpoint)
        langmem.store_conversation(told(FACTS[0]))
        faults["chat"] = 3  # the client tries three times
        langmem.store_conversation(told(FACTS[1], 1))
        assert langmem.usage() == {"unparsable": 0, "swallowed": 1}
        assert sorted(langmem.get_all_memories()) == sorted(FACTS[:2])
        faults["embeddings"] = True
        langmem.store_conversation(told(FACTS[3], 3))
        assert langmem.usage() == {"unparsable": 0, "swallowed": 2}
        assert sorted(langmem.get_all_memories()) == sorted(FACTS[:2])


def test_a_thousand_memories_are_listed(open_langmem):
    facts = [json.dumps({"content": f"fact number {n}"}) for n in range(1000)]
    with ScriptedEndpoint(lambda body: calls(*facts)) as endpoint:
        langmem = open_langmem(endpoint)
        langmem.store_conversation(told("many"))
        assert sorted(langmem.get_all_memories()) == sorted(f"fact number {n}" for n in range(1000))
        assert len(langmem.retrieve_memories("fact", [], 50)) == 50
