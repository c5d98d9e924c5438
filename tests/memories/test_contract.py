"""Each promise can be broken: classes that break it, and what the check says of them."""

from pathlib import Path

import pytest

from epbench.memories import contract
from epbench.memories.contract import CHECKS, name, try_system
from epbench.memories.guard import Limits
from epbench.memories.process import describe_system

FAULTY = Path(__file__).with_name("faulty.py")


def outcomes_of(name, folder, seconds=60.0):
    return dict(try_system(describe_system(f"{FAULTY}:{name}"), folder, Limits(seconds), 60))


@pytest.mark.slow
def test_a_system_that_keeps_its_promises_passes(tmp_path):
    outcomes = outcomes_of("KeepsInAFile", tmp_path)
    assert list(outcomes) == [check.__name__.replace("_", " ") for check in CHECKS]
    assert {outcome.result for outcome in outcomes.values()} == {"passed"}
    assert outcomes["listing is complete"].found == "60 memories listed after 60 conversations"
    assert "3 for 3" in outcomes["at most k retrieved"].found
    assert not any(outcome.expected for outcome in outcomes.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "check", "found"),
    [
        ("HangsInListing", "starts_and_answers_in_time", "no answer within 1 s"),
        ("SharesItsMemoriesInAFile", "stores_apart", "the second store has 12 of 12 facts of the first"),
        ("RetrievesOneMore", "at_most_k_retrieved", "memories for k: 2 for 1, 3 for 2"),
        ("ListsTwenty", "listing_is_complete", "20 memories listed after 60 conversations, and others retrieved"),
        ("ListsNothing", "listing_is_complete", "an empty listing after 60 conversations"),
        ("RetrievesOtherWords", "listing_is_complete", "and others retrieved: '[memory] My friend"),
        ("StoresQueries", "retrieval_changes_nothing", "a query is listed: 'The user asks: What does my friend "),
        ("ForgetsWhatItTells", "retrieval_changes_nothing", "after 13 queries, 12 memories are gone and 0 are new"),
        ("KeepsAscii", "any_text", f"'My friend {name(0)} is married to Zo Mller"),
        ("ForgetsInAFile", "survives_a_kill", "12 of 12 memories gone after the kill"),
        ("KeepsInAFileAndDoesNotSaySo", "survives_a_kill", "memories from before the kill"),
    ],
)
def test_a_broken_promise_is_found(system, check, found, tmp_path, monkeypatch):
    monkeypatch.setattr(contract, "CHECKS", (getattr(contract, check),))
    (outcome,) = outcomes_of(system, tmp_path, seconds=1.0 if "1 s" in found else 60.0).values()
    assert outcome.result == "failed" and found in outcome.found and outcome.expected


def test_what_is_bad_and_no_lie_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(contract, "CHECKS", (contract.listing_is_complete,))
    (outcome,) = outcomes_of("ForgetsMost", tmp_path).values()
    assert outcome.result == "passed"
    assert outcome.found == "20 memories listed after 60 conversations; 40 conversations left no trace"


def test_names_differ_and_none_is_part_of_another():
    names = [name(number) for number in range(5_000)]
    assert len(set(names)) == len(names) and {len(found) for found in names} == {6}
