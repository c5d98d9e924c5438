"""What a memory system used, held and costs, from the journals of a run alone, and which memories fit into a budget of tokens."""

from pathlib import Path

import pytest

from epbench.journals.journal import Journal, read_journal
from epbench.memfail.context.requests import LexicalReader
from epbench.memories.load import FullContext, load_memory
from epbench.memories.process import describe_system
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import (
    SHOWN,
    Budget,
    check_budget,
    fit,
    memory_usage,
    price_of,
    price_points,
    price_table,
    quantiles,
    shown_of,
)
from epbench.memories.relay import CALLS
from epbench.memories.session import STORED, Conversation, Query, after_key, fingerprint_of_store
from tests.memories.test_session import FACTS, conversations, in_process, queries, run_system
from tests.refusals import refusal

FAULTY = Path(__file__).with_name("faulty.py")
WORDS = LexicalReader()  # it counts words
ASKED = [Query(f"{id_}@3", id_, "", "?", 3) for id_ in "ab"]
FOUND = {"a@3": ["one two three", "four", "five six seven eight"], "b@3": ["one two three four five", "six"]}


@pytest.mark.parametrize(
    ("budget", "a", "b", "tokens"),
    [(None, 3, 2, [8, 6]), (8, 3, 2, [8, 6]), (7, 2, 2, [4, 6]), (4, 2, 0, [4, 0]), (2, 0, 0, [0, 0])],
)
def test_whole_memories_fit_best_first(tmp_path, budget, a, b, tokens):
    shown = fit(tmp_path, FOUND, ASKED, Budget(WORDS, budget))
    assert shown == {"a@3": FOUND["a@3"][:a], "b@3": FOUND["b@3"][:b]}
    noted = read_journal(tmp_path / SHOWN)
    assert [noted[id_]["tokens"] for id_ in FOUND] == tokens
    assert [noted[id_]["left_out"] for id_ in FOUND] == [3 - a, 2 - b]
    assert shown_of(tmp_path, FOUND) == shown


def test_a_note_is_written_again_only_if_it_differs(tmp_path):
    for found in (FOUND, FOUND, {**FOUND, "a@3": ["one"]}, {"b@3": FOUND["b@3"]}):
        fit(tmp_path, found, ASKED, Budget(WORDS))
    assert len((tmp_path / SHOWN).read_text().splitlines()) == 3
    assert read_journal(tmp_path / SHOWN)["a@3"]["tokens"] == 1


def test_a_run_has_a_price(tmp_path):
    assert price_of(tmp_path) == {}
    recall = run_system(describe_system(f"{FAULTY}:KeepsInAFile"), tmp_path)
    assert price_of(tmp_path) == {}  # as of a run of an earlier version
    fit(tmp_path, recall.found, queries(), Budget(WORDS, 3))
    price = price_of(tmp_path)
    size = (tmp_path / "stores" / "all" / "kept.json").stat().st_size
    assert price["bytes_per_fact"] == size / len(conversations())
    assert 0 <= price["store"]["p50"] <= price["store"]["p95"] and price["retrieve"]["p95"] is not None
    assert price["tokens_storing"] is None is price["tokens_retrieving"]
    assert price["by_k"] == {
        "1": {"tokens": 1.5, "memories": 0.5, "left_out": 1},
        "2": {"tokens": 1.5, "memories": 0.5, "left_out": 3},
    }
    assert price_points(price, "2")["shown_tokens"] == 1.5 and price_points(price, "9")["shown_tokens"] is None
    (table,) = price_table({"mine": price})
    assert [row[:2] for row in table.rows] == [["mine", "1"], ["mine", "2"]] and table.rows[0][6:8] == ["–", "–"]
    assert {len(row) for row in table.rows} == {len(table.head)}
    assert price_table({}) == []


def test_tokens_inside_a_system_are_told_apart(tmp_path):
    recall = run_system(load_memory("verbatim-bm25"), tmp_path)
    fit(tmp_path, recall.found, queries(), Budget(WORDS))
    journal = Journal(tmp_path / CALLS)
    about = {"path": "/v1/chat/completions", "status": 200, "retry": False, "unparsable": False, "seconds": 0.0}
    about |= {"store": "", "item": "", "reply": "", "tokens_out": 1}
    for method, tokens in {"store_conversation": 100, "get_all_memories": 7, "retrieve_memories": 30}.items():
        journal.add(method, method=method, **about, tokens_in=tokens)
    journal.close()
    price = price_of(tmp_path)
    assert (price["tokens_storing"], price["tokens_retrieving"], price["bytes_per_fact"]) == (109, 31, None)


def test_quantiles_are_values_that_were_measured_and_a_budget_is_at_least_1():
    check_budget(None)
    assert "at least 1, got 0" in refusal(check_budget, 0)
    assert quantiles([]) == {"p50": None, "p95": None}
    assert quantiles([3.0, 1.0]) == {"p50": 1.0, "p95": 3.0}
    assert quantiles(list(range(1, 101))) == {"p50": 50, "p95": 95}


def test_a_run_without_a_memory_system_has_no_usage(tmp_path):
    assert memory_usage(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []  # nor does looking make journals


def test_usage_counts_calls_and_says_why_some_failed(tmp_path):
    lost = Conversation("lost", "", ("lost",), (), failure="no reply")
    in_process(tmp_path, "RaisesInRetrieval", [*conversations(texts=FACTS[:3]), lost], queries(ks=(2,)))
    usage = memory_usage(tmp_path)
    storing, retrieving = usage["storing"], usage["retrieving"]
    assert (storing["conversations"], storing["stores"], storing["memories"]) == (4, 1, 3)
    assert storing["failed"] == {"no reply": 1} and storing["seconds"] >= 0
    assert retrieving["queries"] == 2 and list(retrieving["failed"].values()) == [2]


def test_a_store_that_its_queries_change_is_a_warning(tmp_path):
    recall = in_process(tmp_path, "Good")
    stored = recall.stores[""]
    assert recall.warnings == []
    for memories, n_warnings in ((stored, 0), ([*stored, "tea"], 1)):
        journal = Journal(tmp_path / STORED)
        journal.add(after_key(""), store="", of=fingerprint_of_store(memories), memories=len(memories))
        journal.close()
        recall = in_process(tmp_path, "Good")
        assert [w for w in recall.warnings if "held other memories after the queries" in w] == recall.warnings
        assert len(recall.warnings) == n_warnings
    assert memory_usage(tmp_path)["storing"]["stores"] == 1


class ListsTheFirst(FullContext):
    def get_all_memories(self):
        return self.stored[:1]


def test_a_retrieved_memory_that_is_not_listed_is_a_warning_with_an_example(tmp_path):
    told = ({"role": "user", "content": "tea at noon"}, {"role": "user", "content": "jam at dawn"})
    asked = [Query(f"q{i}@2", f"q{i}", "", "tea", 2) for i in range(3)]
    system = SystemSpec("half", ListsTheFirst, beyond_k=True)
    (warning,) = run_system(system, tmp_path, [Conversation("0", "", ("0",), told)], asked).warnings
    assert warning.startswith("3 retrieved memories, of 3 queries, are not in the list of all memories")
    assert warning.endswith("the first, for q0 at k = 2: 'jam at dawn'")
