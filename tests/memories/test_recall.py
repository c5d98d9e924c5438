"""What a memory system used and held, read from the journals of a run alone."""

from epbench.memories.guard import Limits
from epbench.memories.recall import memory_usage
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.memories.user_class import import_system
from epbench.runs.answers import no_progress

FAULTY = "tests/memories/faulty.py"


def test_a_run_without_a_memory_system_has_no_usage(tmp_path):
    assert memory_usage(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []  # nor does looking make journals


def test_usage_counts_calls_and_says_why_some_failed(tmp_path):
    conversations = [Conversation(f"{i}", "", (f"{i}",), ({"role": "user", "content": f"fact {i}"},)) for i in range(3)]
    conversations.append(Conversation("3", "", ("3",), (), failure="no reply"))
    queries = [Query(f"q{i}@2", f"q{i}", "", "fact", 2) for i in range(2)]
    system = import_system(f"{FAULTY}:RaisesInRetrieval")
    fill_and_ask(tmp_path, system, conversations, queries, limits=Limits(seconds=60), progress=no_progress)
    usage = memory_usage(tmp_path)
    storing, retrieving = usage["storing"], usage["retrieving"]
    assert (storing["conversations"], storing["stores"], storing["memories"]) == (4, 1, 3)
    assert storing["failed"] == {"no reply": 1} and storing["seconds"] >= 0
    assert retrieving["queries"] == 2 and list(retrieving["failed"].values()) == [2]
