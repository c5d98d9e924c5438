"""What a memory costs, from the journals of a run, and which memories fit into a budget of tokens."""

from pathlib import Path

import pytest

from epbench import BadInput
from epbench.journals.journal import Journal, read_journal
from epbench.memfail.context.requests import LexicalReader
from epbench.memories.load import load_memory
from epbench.memories.process import describe_system
from epbench.memories.recall import (
    SHOWN,
    Budget,
    check_budget,
    fit,
    price_of,
    price_points,
    price_table,
    quantiles,
    shown_of,
)
from epbench.memories.relay import CALLS
from epbench.memories.session import Query
from tests.memories.test_session import conversations, queries, run_system

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
    with pytest.raises(BadInput, match="at least 1, got 0"):
        check_budget(0)
    assert quantiles([]) == {"p50": None, "p95": None}
    assert quantiles([3.0, 1.0]) == {"p50": 1.0, "p95": 3.0}
    assert quantiles(list(range(1, 101))) == {"p50": 50, "p95": 95}
