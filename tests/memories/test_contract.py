"""Each promise can be broken: classes that break it, and what the check says of them."""

from pathlib import Path

import pytest

from epbench.memories.contract import CHECKS, name, try_system
from epbench.memories.guard import Limits
from epbench.memories.process import describe_system

BROKEN = Path(__file__).with_name("broken.py")
NAMES = [check.__name__.replace("_", " ") for check in CHECKS]


def outcomes_of(system, folder, last=NAMES[-1], seconds=60.0, n=60):
    """What comes of the checks, up to one of them."""
    found = describe_system(system if ":" in system else f"{BROKEN}:{system}")
    outcomes = {}
    for check, outcome in try_system(found, folder, Limits(seconds), n):
        outcomes[check] = outcome
        if check == last:
            return outcomes


@pytest.mark.parametrize(
    "system",
    [
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("epbench.memories.example:KeywordMemory", "Keeps")),
        "KeepsInAFile",
    ],
)
def test_a_system_that_keeps_its_promises_passes(system, tmp_path):
    outcomes = outcomes_of(system, tmp_path)
    assert list(outcomes) == NAMES
    assert {outcome.result for outcome in outcomes.values()} == {"passed"}
    assert outcomes["listing is complete"].found == "60 memories listed after 60 conversations"
    assert "3 for 3" in outcomes["at most k retrieved"].found
    assert not any(outcome.expected for outcome in outcomes.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "check", "found"),
    [
        ("HangsInListing", "starts and answers in time", "no answer within 1 s"),
        ("StartsSlowly", "starts and answers in time", "no answer within 1 s"),
        ("SharesItsMemoriesInAFile", "stores apart", "the second store has 12 of 12 facts of the first"),
        ("RetrievesOneMore", "at most k retrieved", "memories for k: 2 for 1, 3 for 2"),
        ("ListsTwenty", "listing is complete", "20 memories listed after 60 conversations, and others retrieved"),
        ("ListsNothing", "listing is complete", "an empty listing after 60 conversations"),
        ("RetrievesOtherWords", "listing is complete", "and others retrieved: '[memory] My friend"),
        ("StoresQueries", "retrieval changes nothing", "a query is listed: 'The user asks: What does my friend "),
        ("ForgetsWhatItTells", "retrieval changes nothing", "after 13 queries, 12 memories are gone and 0 are new"),
        ("KeepsAscii", "any text", f"'My friend {name(0)} is married to Zo Mller"),
        ("RaisesAtEmoji", "any text", "UnicodeEncodeError"),
        ("ForgetsInAFile", "survives a kill", "12 of 12 memories gone after the kill"),
        ("KeepsInAFileAndDoesNotSaySo", "survives a kill", "memories from before the kill"),
    ],
)
def test_a_broken_promise_is_found(system, check, found, tmp_path):
    outcome = outcomes_of(system, tmp_path, check, seconds=1.0 if "1 s" in found else 60.0)[check]
    assert outcome.result == "failed" and found in outcome.found and outcome.expected


def test_what_is_bad_and_no_lie_is_told(tmp_path):
    outcomes = outcomes_of("ForgetsMost", tmp_path)
    assert outcomes["listing is complete"].result == "passed"
    assert outcomes["listing is complete"].found == (
        "20 memories listed after 60 conversations; 40 conversations left no trace"
    )


def test_names_differ_and_none_is_part_of_another():
    names = [name(number) for number in range(5_000)]
    assert len(set(names)) == len(names) and {len(found) for found in names} == {6}
