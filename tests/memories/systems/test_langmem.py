"""LangMem as it is installed, with scripted replies: what is stored stays, and what its manager hides is counted."""

import pytest

from epbench.errors import SystemLost
from tests.memories.systems.conftest import fact, tell
from tests.memories.systems.scripted_systems import langmem_reply

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("system", ["langmem"])]
FACTS = ("I drink green tea", "Ada plays chess", "My cat sleeps late", "I fear moths", "a\u2028b c", "喝绿茶")


def test_equal_texts_are_there_after_a_kill_and_texts_are_embedded(open_store, endpoint):
    langmem = open_store()
    tell(langmem, [*FACTS, FACTS[0]])  # the same words at another time: this model adds them again
    assert len(langmem.retrieve_memories("tea", [], 4)) == 4 and len(langmem.retrieve_memories("tea", [], 100)) == 7
    langmem.kill()
    langmem = open_store()
    assert sorted(langmem.get_all_memories()) == sorted((*FACTS, FACTS[0]))
    assert langmem.retrieve_memories("I fear moths", [], 1) == ["I fear moths"]
    embedded = [body["input"] for path, body in endpoint.requests if path.endswith("embeddings")]
    assert all(isinstance(text, str) for texts in embedded for text in texts)  # and not numbers of tokens
    assert langmem.end() == 0


def test_a_kill_in_the_middle_of_a_conversation_leaves_nothing_of_it(open_store, endpoint):
    langmem = open_store()
    langmem.store_conversation(fact(FACTS[0]))
    endpoint.reply = lambda body: langmem.kill()
    with pytest.raises(SystemLost):
        langmem.store_conversation(fact(FACTS[3], 3))
    endpoint.reply, langmem = langmem_reply, open_store()
    assert langmem.get_all_memories() == [FACTS[0]]
    langmem.store_conversation(fact(FACTS[3], 3))
    assert sorted(langmem.get_all_memories()) == sorted((FACTS[0], FACTS[3]))


def test_errors_that_the_manager_hides_are_counted(open_store, endpoint):
    """With memories before it, a request that failed is put once more; without an embedding, a memory is lost."""
    faults, answer = {"chat": 0, "embeddings": False}, endpoint.answer

    def answer_or_fail(path, body):
        if faults["embeddings"] and '"kind"' in str(body.get("input")):  # of a memory, not of a search
            return 400, {"error": {"message": "scripted error 400"}}
        return answer(path, body)

    def fails(body):
        if faults["chat"]:
            faults["chat"] -= 1
            return 500
        return langmem_reply({"messages": [m for m in body["messages"] if "<session_" in str(m["content"])]})

    endpoint.reply, endpoint.answer, langmem = fails, answer_or_fail, open_store()
    langmem.store_conversation(fact(FACTS[0]))
    faults["chat"] = 3  # the client tries three times
    langmem.store_conversation(fact(FACTS[1], 1))
    assert langmem.usage() == {"unparsable": 0, "swallowed": 1}
    assert sorted(langmem.get_all_memories()) == sorted(FACTS[:2])
    faults["embeddings"] = True
    langmem.store_conversation(fact(FACTS[3], 3))
    assert langmem.usage() == {"unparsable": 0, "swallowed": 2}
    assert sorted(langmem.get_all_memories()) == sorted(FACTS[:2])
