"""Storing and asking, with systems that work and systems that do not; everything is read back from the journals."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.memories.loading import load_system
from epbench.memories.recall import read_recall
from epbench.memories.stores import Conversation, Query, fill_and_ask
from epbench.runs.asking import no_progress

FAULTY = Path(__file__).with_name("faulty.py")
FACTS = ("I drink green tea", "Ada plays chess", "My cat sleeps late", "I fear moths")


def conversations(store="", n=4):
    return [
        Conversation(
            str(i), store, (f"u{i}",), ({"role": "user", "content": FACTS[i], "timestamp": f"2025-01-0{i + 1}"},)
        )
        for i in range(n)
    ]


def queries(store="", ks=(1, 2)):
    return [
        Query(f"{i}@{k}", str(i), store, text, k)
        for k in ks
        for i, text in enumerate(("green tea?", "who plays chess"))
    ]


def run(folder, name, told=None, asked=None, limit=30.0):
    told, asked = conversations() if told is None else told, queries() if asked is None else asked
    system = load_system(f"{FAULTY}:{name}")
    fill_and_ask(folder, system, told, asked, limit=limit, progress=no_progress)
    return read_recall(folder, system, told, asked)


def test_a_store_is_told_listed_and_asked(tmp_path):
    recall = run(tmp_path, "Good")
    assert recall.stores == {"": list(FACTS)}
    assert recall.found["0@1"] == [FACTS[0]] and len(recall.found["0@2"]) == 2
    assert not recall.failures and not recall.untold and not recall.warnings
    assert recall.account["storing"]["conversations"] == 4 and recall.account["retrieving"]["queries"] == 4


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("RetrievesTooMany", "2 memories came back, at most 1 were asked for"),
        ("RetrievesNumbers", "int came back in place 1, a text is expected"),
        ("RetrievesText", "str came back, a list of texts is expected"),
        ("RetrievesHalfACharacter", "the text in place 0 has half a surrogate pair, Unicode is expected"),
        ("RaisesInRetrieval", "KeyError: 'no\\nindex'"),
        ("LeavesInRetrieval", "SystemExit: I give up"),
    ],
)
def test_a_retrieval_that_goes_wrong_fails_its_question_and_the_run_goes_on(tmp_path, name, reason):
    recall = run(tmp_path, name, asked=queries(ks=(1,)))
    assert recall.failures == {"0@1": f"memory system: {reason}", "1@1": f"memory system: {reason}"}
    assert recall.found == {} and recall.stores == {"": list(FACTS)}
    assert recall.account["retrieving"]["failed"] == {reason: 2}


def test_hangs_fail_and_after_three_in_a_row_nothing_is_called(tmp_path):
    asked = queries(ks=(1, 2, 3))
    recall = run(tmp_path, "HangsInRetrieval", asked=asked, limit=0.2)
    reasons = [recall.failures[query.id] for query in asked]
    assert reasons[:3] == ["memory system: no answer within 0.2 s"] * 3
    assert reasons[3:] == ["memory system: not called: 3 calls in a row took more than 0.2 s"] * 3


def test_a_system_that_hangs_now_and_then_is_called_again(tmp_path):
    recall = run(tmp_path, "HangsEverySecondTime", limit=0.2)
    assert len(recall.failures) == 2 and len(recall.found) == 2


def test_a_conversation_that_cannot_be_stored_is_noted_and_tried_again(tmp_path):
    recall = run(tmp_path, "RaisesInStoring")
    assert recall.untold == {("", "u1"): "ValueError: rate limit"}
    assert recall.warnings == [
        "what could not be stored: 1 units, and what is asked about them counts as failed; the first reason: ValueError: rate limit"
    ]
    assert FACTS[1] not in recall.stores[""] and len(recall.found) == 4
    mended = run(tmp_path, "Good")
    assert not mended.untold and not mended.warnings  # not "another store when told the same": it was not the same
    assert mended.stores == {"": list(FACTS)} and mended.found["1@1"] == [FACTS[1]]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("RaisesInFinalize", "RuntimeError: index broken"),
        ("ListsNumbers", "int came back in place 0, a text is expected"),
    ],
)
def test_a_store_that_cannot_be_listed_fails_its_questions(tmp_path, name, reason):
    recall = run(tmp_path, name)
    assert recall.stores == {} and set(recall.failures.values()) == {f"memory system: {reason}"}
    assert recall.warnings == [f"the store could not be filled or listed; the first reason: {reason}"]
    assert not run(tmp_path, "Good").failures


def test_an_empty_store_is_warned_of(tmp_path):
    recall = run(tmp_path, "KeepsNothing")
    assert not recall.failures and recall.found["0@1"] == []
    assert "the store holds nothing after storing" in recall.warnings[0]


def test_a_constructor_that_raises_is_one_clear_line(tmp_path):
    with pytest.raises(BadInput, match="RaisesInConstructor' cannot be made: OSError: no API key"):
        run(tmp_path, "RaisesInConstructor")


def test_what_a_system_prints_goes_to_its_log(tmp_path, capsys):
    run(tmp_path, "Talks")
    assert (tmp_path / "system.log").read_text() == "storing 1\nto stderr\n" * 4
    assert capsys.readouterr() == ("", "")


def test_stores_are_apart(tmp_path):
    told = [*conversations("a", 1), *conversations("b/c", 2)]
    asked = [replace(query, store="b/c", id=f"b{query.id}") for query in queries()] + queries("a")
    recall = run(tmp_path, "Good", told, asked)
    assert recall.stores == {"a": [FACTS[0]], "b/c": list(FACTS[:2])}
    assert recall.found["1@1"] == [FACTS[0]] and recall.found["b1@1"] == [FACTS[1]]


@pytest.fixture
def calls(tmp_path, monkeypatch):
    path = tmp_path / "calls.jsonl"
    monkeypatch.setenv("CALLS", str(path))
    return lambda: [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("name", ["Counting", "DurableCounting"])
def test_a_run_that_is_complete_needs_no_system(tmp_path, calls, name):
    (tmp_path / "r").mkdir()
    first = run(tmp_path / "r", name)
    made = calls()
    assert run(tmp_path / "r", name) == first and calls() == made


@pytest.mark.parametrize(("name", "told_again"), [("Counting", 4), ("DurableCounting", 0)])
def test_new_queries_need_the_store_again(tmp_path, calls, name, told_again):
    (tmp_path / "r").mkdir()
    run(tmp_path / "r", name, asked=queries(ks=(1,)))
    before = len(calls())
    recall = run(tmp_path / "r", name, asked=queries(ks=(1, 2)))
    new = calls()[before:]
    assert sum(call.startswith("told") for call in new) == told_again
    assert [call for call in new if call.startswith("asked")] == ["asked green tea? @2", "asked who plays chess @2"]
    assert recall.stores == {"": list(FACTS)} and len(recall.found) == 4 and not recall.warnings


def test_a_store_that_differs_when_told_again_is_asked_anew_and_warned_of(tmp_path):
    run(tmp_path, "Differs", asked=queries(ks=(1,)))
    recall = run(tmp_path, "Differs", asked=queries(ks=(1, 2)))
    assert len(recall.found) == 4
    assert "is not deterministic" in recall.warnings[0]
    kept = json.loads((tmp_path / "memories.json").read_text())
    of = {json.loads(line)["of"] for line in (tmp_path / "retrieved.jsonl").read_text().splitlines()[-4:]}
    assert kept == recall.stores and len(of) == 1


def test_a_conversation_that_failed_before_it_was_told_is_not_told(tmp_path):
    told = [replace(c, failure="no reply: server gone") if c.id == "2" else c for c in conversations()]
    recall = run(tmp_path, "Good", told)
    assert recall.untold == {("", "u2"): "no reply: server gone"} and FACTS[2] not in recall.stores[""]


def test_a_durable_store_that_was_stopped_while_it_was_told_is_told_again_and_warned_of(tmp_path, calls):
    (tmp_path / "r").mkdir()
    whole = run(tmp_path / "r", "DurableCounting")
    journal = tmp_path / "r/stored.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:5]))  # two conversations are told; the third had begun
    (tmp_path / "r/memories.json").unlink()
    before = len(calls())
    recall = run(tmp_path / "r", "DurableCounting")
    assert [call for call in calls()[before:] if call.startswith("told")] == [f"told {FACTS[2]}", f"told {FACTS[3]}"]
    assert recall.stores == whole.stores and not recall.untold
    assert [warning for warning in recall.warnings if "told twice" not in warning] == []
    assert "conversation 2; it may hold it twice" in recall.warnings[0]
