"""Storing and asking, with systems that work and systems that do not; everything is read back from the journals."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from epbench.memories.guard import Limits
from epbench.memories.process import describe_system
from epbench.memories.recall import read_recall
from epbench.memories.session import Conversation, Query, fill_and_ask, fingerprint_of_store
from epbench.memories.worker import import_system
from epbench.progress import no_progress
from tests.scripts.run_files import lines_of, read

FAULTY = Path(__file__).with_name("faulty.py")
FACTS = ("I drink green tea", "Ada plays chess", "My cat sleeps late", "I fear moths")


def conversations(store="", texts=FACTS):
    turns = [{"role": "user", "content": text, "timestamp": f"2025-01-0{i + 1}"} for i, text in enumerate(texts)]
    return [Conversation(str(i), store, (f"u{i}",), (turn,)) for i, turn in enumerate(turns)]


def queries(store="", ks=(1, 2)):
    texts = ("green tea?", "who plays chess")
    return [Query(f"{i}@{k}", str(i), store, text, k) for k in ks for i, text in enumerate(texts)]


def run_system(system, folder, given=None, asked=None, limit=60.0, gigabytes=8.0, progress=no_progress):
    given, asked = conversations() if given is None else given, queries() if asked is None else asked
    fill_and_ask(folder, system, given, asked, limits=Limits(limit, gigabytes), progress=progress)
    return read_recall(folder, system, given, asked)


def in_process(folder, name, *args, **options):
    return run_system(import_system(f"{FAULTY}:{name}"), folder, *args, **options)


def in_its_own(folder, name, *args, **options):
    return run_system(describe_system(f"{FAULTY}:{name}", variables=["CALLS", "MY_API_KEY"]), folder, *args, **options)


@pytest.fixture(params=[pytest.param(in_its_own, marks=pytest.mark.slow), in_process])
def run(request):
    return request.param


def test_a_store_is_filled_listed_and_queried(run, tmp_path):
    recall = run(tmp_path, "Good")
    assert recall.stores == {"": list(FACTS)}
    assert recall.found["0@1"] == [FACTS[0]] and len(recall.found["0@2"]) == 2
    assert not recall.failures and not recall.unstored and not recall.warnings
    assert recall.usage["storing"]["conversations"] == 4 and recall.usage["retrieving"]["queries"] == 4


def test_a_retrieval_that_goes_wrong_fails_its_question_and_the_run_goes_on(tmp_path):
    recall = in_process(tmp_path, "RetrievesOneMore", asked=queries(ks=(1,)))
    reason = "expected at most 1 memories, got 2"
    assert recall.failures == {"0@1": f"memory system: {reason}", "1@1": f"memory system: {reason}"}
    assert recall.found == {} and recall.stores == {"": list(FACTS)}
    assert recall.usage["retrieving"]["failed"] == {reason: 2}


def test_a_conversation_that_cannot_be_stored_is_noted_and_tried_again(run, tmp_path):
    recall = run(tmp_path, "RaisesInStoring")
    assert recall.unstored == {("", "u1"): "ValueError: rate limit"}
    assert recall.warnings == [
        "1 facts or chapters could not be stored, and questions about them count as failed; the first reason: ValueError: rate limit"
    ]
    assert FACTS[1] not in recall.stores[""] and len(recall.found) == 4
    mended = run(tmp_path, "Good")
    assert not mended.unstored and not mended.warnings  # of other conversations, so that another store is no surprise
    assert mended.stores == {"": list(FACTS)} and mended.found["1@1"] == [FACTS[1]]


def test_a_store_that_cannot_be_listed_fails_its_questions(tmp_path):
    recall = in_process(tmp_path, "RaisesInFinalize")
    assert recall.stores == {} and set(recall.failures.values()) == {"memory system: RuntimeError: index broken"}
    assert recall.warnings == ["the store could not be filled or listed; the first reason: RuntimeError: index broken"]
    assert not in_process(tmp_path, "Good").failures


def test_stores_are_apart(run, tmp_path):
    given = [*conversations("a", FACTS[:1]), *conversations("b/c", FACTS[:2])]
    asked = [replace(query, store="b/c", id=f"b{query.id}") for query in queries()] + queries("a")
    recall = run(tmp_path, "Good", given, asked)
    assert recall.stores == {"a": [FACTS[0]], "b/c": list(FACTS[:2])}
    assert recall.found["1@1"] == [FACTS[0]] and recall.found["b1@1"] == [FACTS[1]]


@pytest.fixture
def calls(tmp_path_factory, monkeypatch):
    path = tmp_path_factory.mktemp("calls") / "calls.jsonl"
    monkeypatch.setenv("CALLS", str(path))
    return lambda: lines_of(path)


@pytest.mark.parametrize(("name", "stored_again"), [("Counting", 4), ("DurableCounting", 0)])
def test_a_complete_run_needs_no_system_and_new_queries_need_the_store_again(run, tmp_path, calls, name, stored_again):
    first = run(tmp_path, name, asked=queries(ks=(1,)))
    before = calls()
    assert run(tmp_path, name, asked=queries(ks=(1,))) == first and calls() == before
    recall = run(tmp_path, name, asked=queries(ks=(1, 2)))
    new = calls()[len(before) :]
    assert sum(call.startswith("told") for call in new) == stored_again
    assert [call for call in new if call.startswith("asked")] == ["asked green tea? @2", "asked who plays chess @2"]
    assert recall.stores == {"": list(FACTS)} and len(recall.found) == 4 and not recall.warnings


def test_a_store_that_differs_when_filled_again_is_queried_again_with_a_warning(tmp_path):
    in_process(tmp_path, "Differs", asked=queries(ks=(1,)))
    recall = in_process(tmp_path, "Differs", asked=queries(ks=(1, 2)))
    assert len(recall.found) == 4
    assert "is not deterministic" in recall.warnings[0]
    kept = read(tmp_path, "memories.json")
    of = {line["of"] for line in lines_of(tmp_path / "retrieved.jsonl")[-4:]}
    assert kept == recall.stores and len(of) == 1


@pytest.mark.parametrize("name", ["Counting", "DurableCounting"])
@pytest.mark.parametrize(("before", "left"), [(3, (9, 6)), (6, (8, 3)), (9, (0, 0))])
def test_progress_counts_calls_of_earlier_starts_that_are_not_made_again(tmp_path, calls, name, before, left):
    """Of 4 conversations, 1 listing and 4 queries, the first start gets so far; another system is told all of it again."""
    told = []

    def progress(items, what, total, done):
        told.append((what, total, done, len(list(islice(items, before if not told else None)))))
        return ()

    for _ in range(2):
        in_process(tmp_path, name, progress=progress)
    again = left[name == "DurableCounting"]
    assert told == [("memory calls", 9, 0, before), ("memory calls", 9, 9 - again, again)]


def test_a_durable_store_that_was_stopped_gets_its_last_conversation_again_with_a_warning(run, tmp_path, calls):
    whole = run(tmp_path, "DurableCounting")
    journal = tmp_path / "stored.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:5]))  # two conversations are stored; the third had begun
    (tmp_path / "memories.json").unlink()
    before = len(calls())
    recall = run(tmp_path, "DurableCounting")
    assert [call for call in calls()[before:] if call.startswith("told")] == [f"told {FACTS[2]}", f"told {FACTS[3]}"]
    assert recall.stores == whole.stores and not recall.unstored
    (warning,) = recall.warnings
    assert "was given conversation 2 twice, because it or the run was stopped; it may hold the same content" in warning


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stored_again"), [("CountingDies", 8), ("DurableCountingDies", 0)])
def test_a_system_that_died_gets_everything_again_unless_it_is_durable(tmp_path, calls, name, stored_again):
    recall = in_its_own(tmp_path, name)
    assert recall.failures == dict.fromkeys(("0@1", "0@2"), "memory system: the system's process ended with status 3")
    assert recall.found["1@1"] == [FACTS[1]] and len(recall.found["1@2"]) == 2
    assert recall.stores == {"": list(FACTS)} and not recall.unstored and len(recall.warnings) == 1
    assert calls().count("made") == 3
    assert sum(call.startswith("told") for call in calls()) == 4 + stored_again
    assert [call for call in calls() if "asked" in call] == [f"asked who plays chess @{k}" for k in (1, 2)]


def test_all_that_counts_comes_from_one_store_though_a_system_died_between(tmp_path):
    recall = in_its_own(tmp_path, "DiffersAndDies")
    assert set(recall.found) == {"0@1", "0@2"} and set(recall.failures) == {"1@1", "1@2"}
    records = lines_of(tmp_path / "retrieved.jsonl")
    assert [record["key"] for record in records] == ["0@1", "1@1", "0@1", "0@2", "1@2", "0@1", "0@2"]
    assert {record["of"] for record in records[-2:]} == {fingerprint_of_store(recall.stores[""])}
    assert "is not deterministic" in recall.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason"),
    [("DiesInStoring", "the system's process ended with status 1"), ("HangsInStoring", "no answer within 1.5 s")],
)
def test_a_conversation_that_cost_the_process_is_not_stored_and_the_others_are(tmp_path, name, reason):
    recall = in_its_own(tmp_path, name, limit=1.5 if "hang" in name.lower() else 60.0)
    assert recall.unstored == {("", "u2"): reason}
    assert recall.stores == {"": [FACTS[0], FACTS[1], FACTS[3]]} and len(recall.found) == 4
    assert not in_its_own(tmp_path, "Good").unstored  # the next start tries it again


@pytest.mark.parametrize("name", ["DiesInListing", "DiesInConstructor"])
def test_a_store_that_dies_fails_and_after_three_no_other_is_begun(tmp_path, name):
    names = "abcd"
    given = [c for store in names for c in conversations(store, FACTS[:1])]
    asked = [replace(query, id=f"{store}{query.id}") for store in names for query in queries(store, ks=(1,))]
    recall = in_its_own(tmp_path, name, given, asked)
    assert recall.stores == {} and len(recall.failures) == 8
    records = lines_of(tmp_path / "stored.jsonl")
    reasons = {record["store"]: record["failure"] for record in records if record["key"].endswith("|listed")}
    if name == "DiesInConstructor":
        assert list(reasons.values())[:3] == ["the system's process ended with status 1"] * 3
        assert reasons["d"].startswith("not called: 3 calls in a row")
    else:  # each store got a conversation, so that no three in a row were lost
        assert list(reasons.values()) == ["the system's process ended with status 1"] * 4


def test_a_system_begins_in_the_folder_of_the_user_and_does_not_move_the_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("r").mkdir()
    recall = run(Path("r"), "ChangesFolder")
    assert Path.cwd() == tmp_path
    assert (tmp_path / "r/retrieved.jsonl").exists()
    assert len(recall.found) == 4 and recall.stores[""][0] == str(tmp_path)


@pytest.mark.slow
def test_a_durable_system_that_died_gets_its_last_conversation_again_from_the_next_start_with_a_warning(
    tmp_path, calls
):
    died = in_its_own(tmp_path, "DurableDiesInStoring")
    assert died.unstored == {("", "u2"): "the system's process ended with status 3"}
    assert calls().count("made") == 2 and sum(call.startswith("told") for call in calls()) == 4
    before = len(calls())
    recall = in_its_own(tmp_path, "DurableCounting")
    assert [call for call in calls()[before:] if call.startswith("told")] == [f"told {FACTS[2]}"]
    assert not recall.unstored and recall.stores == {"": list(FACTS)}
    assert "was given conversation 2 twice, because it or the run was stopped" in recall.warnings[0]


def test_no_key_gets_into_a_file_by_a_memory(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1")
    recall = run(tmp_path, "ReturnsItsKey")
    assert recall.stores[""][0] == "the key is ***" and recall.found["0@1"] == ["the key is ***"]
    assert not recall.warnings and recall.usage["storing"]["counts"] == {"calls with ***": 1}
    for file in tmp_path.iterdir():
        assert not file.is_file() or "secret" not in file.read_text(), file
