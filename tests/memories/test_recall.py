"""What a memory system used and held, read from the journals of a run alone."""

from epbench.journals.journal import Journal
from epbench.memories.load import FullContext
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import memory_usage, read_recall
from epbench.memories.session import STORED, Conversation, Query, after_key, fingerprint_of_store
from epbench.memories.worker import import_system
from tests.memories.test_session import in_process, run_system


def test_a_run_without_a_memory_system_has_no_usage(tmp_path):
    assert memory_usage(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []  # nor does looking make journals


def test_usage_counts_calls_and_says_why_some_failed(tmp_path):
    conversations = [Conversation(f"{i}", "", (f"{i}",), ({"role": "user", "content": f"fact {i}"},)) for i in range(3)]
    conversations.append(Conversation("3", "", ("3",), (), failure="no reply"))
    queries = [Query(f"q{i}@2", f"q{i}", "", "fact", 2) for i in range(2)]
    in_process(tmp_path, "RaisesInRetrieval", conversations, queries)
    usage = memory_usage(tmp_path)
    storing, retrieving = usage["storing"], usage["retrieving"]
    assert (storing["conversations"], storing["stores"], storing["memories"]) == (4, 1, 3)
    assert storing["failed"] == {"no reply": 1} and storing["seconds"] >= 0
    assert retrieving["queries"] == 2 and list(retrieving["failed"].values()) == [2]


def test_a_store_that_its_queries_change_is_a_warning(tmp_path):
    conversations = [Conversation("0", "", ("0",), ({"role": "user", "content": "tea at noon"},))]
    queries = [Query("q@2", "q", "", "tea", 2)]
    system = import_system("tests/memories/faulty.py:Good")
    recall = run_system(system, tmp_path, conversations, queries)
    stored = recall.stores[""]
    assert recall.warnings == []
    for memories, n_warnings in ((stored, 0), ([*stored, "tea"], 1)):
        journal = Journal(tmp_path / STORED)
        journal.add(after_key(""), store="", of=fingerprint_of_store(memories), memories=len(memories))
        journal.close()
        recall = read_recall(tmp_path, system, conversations, queries)
        assert [w for w in recall.warnings if "held other memories after the queries" in w] == recall.warnings
        assert len(recall.warnings) == n_warnings
    assert memory_usage(tmp_path)["storing"]["stores"] == 1


class ListsTheFirst(FullContext):
    def get_all_memories(self):
        return self.stored[:1]


def test_a_retrieved_memory_that_is_not_listed_is_a_warning_with_an_example(tmp_path):
    told = ({"role": "user", "content": "tea at noon"}, {"role": "user", "content": "jam at dawn"})
    conversations = [Conversation("0", "", ("0",), told)]
    queries = [Query(f"q{i}@2", f"q{i}", "", "tea", 2) for i in range(3)]
    system = SystemSpec("half", ListsTheFirst, beyond_k=True)
    (warning,) = run_system(system, tmp_path, conversations, queries).warnings
    assert warning.startswith("3 retrieved memories, of 3 queries, are not in the list of all memories")
    assert warning.endswith("the first, for q0 at k = 2: 'jam at dawn'")
