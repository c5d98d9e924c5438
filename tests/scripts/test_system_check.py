"""The check of a memory system as a user runs it."""

from pathlib import Path

import pytest

from epbench.memories.contract import CHECKS
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import read

CHECK = "eval_scripts/system_check.py"
FAULTY = Path(__file__).parents[1] / "memories" / "faulty.py"


@pytest.mark.slow
def test_a_system_that_keeps_its_promises_gives_0_and_a_table(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = ran(CHECK, "epbench.memories.example:KeywordMemory", "--n", 40, "--wait", 0, "--out", tmp_path / "check")
    assert done.count("passed") == len(CHECKS) and "40 memories listed after 40 conversations" in done
    content = read(tmp_path / "check", "contract.json")
    assert content["n"] == 40 and content["durable"] is False and len(content["checks"]) == len(CHECKS)
    found = "the second store has no fact of the first"
    assert content["checks"]["stores apart"] == {"result": "passed", "found": found, "expected": ""}
    assert content["lag"]["n"] == 5 and content["lag"]["missed"] == 0
    assert "write-to-recall lag: p50 0.0" in done
    assert content["forgetting"]["kept"] == content["forgetting"]["n"] == 3  # it only adds, which breaks no promise
    assert "forgetting: keeps 3 of 3 facts that it was told to forget" in done
    again = script(CHECK, "epbench.memories.example:KeywordMemory", "--out", tmp_path / "check")
    refused(again, "expected an empty folder")


@pytest.mark.slow
def test_a_broken_promise_gives_1(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = script(CHECK, f"{FAULTY}:RetrievesOneMore", "--n", 5, "--forget", 0)
    assert done.returncode == 1
    assert "at most k retrieved: failed" in done.stderr and "1 of 7 promises are broken" in done.stdout
