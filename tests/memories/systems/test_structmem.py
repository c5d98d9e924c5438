"""StructMem's adapter around a made-up checkout, and around a real one if $EPBENCH_LIGHTMEM names its folder."""

import os

import pytest

from epbench.errors import CallFailed
from tests.memories.systems.conftest import FACTS, fact, tell, turn
from tests.memories.systems.scripted_systems import made_up_checkout, structmem_reply

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("system", ["structmem"])]


def listed(text, minute):
    return f"2024-03-01T10:{minute:02}:00.000 Fri {text}"


LISTED = [listed(text, minute) for minute, text in enumerate(FACTS)]


def test_a_version_that_needs_no_segmenter(open_store, tmp_path):
    store = open_store(source=str(made_up_checkout(tmp_path / "other", segments=False)))
    tell(store, FACTS)
    assert sorted(store.get_all_memories()) == sorted(store.retrieve_memories("Tee", [], 10)) == LISTED
    assert store.usage() == {"swallowed": 0, "unparsable": 0}


def test_an_entry_has_the_time_of_its_turn_whoever_spoke(open_store):
    store = open_store()
    said = [("assistant", "Hello!"), ("user", "I like figs."), ("user", "And plums."), ("assistant", "Noted.")]
    said.append(("user", "Bye."))
    store.store_conversation([turn(role, text, minute) for minute, (role, text) in enumerate(said)])
    found = {memory for memory in store.get_all_memories() if memory.split(" ", 2)[2]}
    assert found == {listed("I like figs.", 1), listed("And plums.", 2), listed("Bye.", 4)}


def test_each_conversation_is_summarised_once_per_store(open_store, endpoint):
    def summaries():
        prompts = [str(body.get("messages")) for _, body in endpoint.requests]
        endpoint.requests.clear()
        return [prompt.count("Summarize 1 entries.") for prompt in prompts if "Summarize" in prompt]

    one, without = open_store("one"), open_store("without", summarize=False)
    tell(one, FACTS)
    assert summaries() == [1, 1, 1]  # one new entry each time
    without.store_conversation(fact(FACTS[0], 0))
    assert summaries() == []


def test_near_entries_are_consolidated(open_store, endpoint):
    endpoint.reply = lambda body: '{"action": "delete"}' if "Target memory:" in str(body) else structmem_reply(body)
    store = open_store(update_score=0.9)
    store.store_conversation(fact(FACTS[0], 0))
    store.store_conversation(fact(FACTS[0], 7))
    assert len(store.get_all_memories()) < 2


def test_a_folder_that_is_no_checkout_of_a_version_with_structmem_is_one_line(open_store, tmp_path):
    with pytest.raises(CallFailed, match="expected the folder of a checkout of LightMem, found 'none'"):
        open_store(source="")
    with pytest.raises(CallFailed, match=f"found '{tmp_path}'"):
        open_store(source=str(tmp_path))
    file = made_up_checkout(tmp_path / "old") / "src" / "lightmem" / "memory" / "lightmem.py"
    file.write_text(file.read_text().replace("self.summary_retriever = ", "other = "))
    with pytest.raises(CallFailed, match="is LightMem from before it had StructMem"):
        open_store(source=str(tmp_path / "old"))


@pytest.mark.skipif("EPBENCH_LIGHTMEM" not in os.environ, reason="$EPBENCH_LIGHTMEM names no checkout of LightMem")
def test_a_real_checkout(open_store):
    store = open_store(source=os.environ["EPBENCH_LIGHTMEM"])
    tell(store, FACTS)
    memories = store.get_all_memories()
    assert all(any(text in memory for memory in memories) for text in FACTS)
    found = store.retrieve_memories("Who keeps bees behind the barn?", [], 2)
    assert 0 < len(found) <= 2 and set(found) <= set(memories)
    store.kill()
    assert sorted(open_store(source=os.environ["EPBENCH_LIGHTMEM"]).get_all_memories()) == sorted(memories)
