"""When every question has failed, the error names the commonest reason, with its number."""

import pytest

from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import script

REFUSES = Fault("status", 422, words="this model takes no such prompt")
OTHER = Fault("status", 422, words="something else")
WORDS = "this model takes no such prompt"


@pytest.fixture
def endpoint():
    """It refuses every call, the first one in other words."""
    with LoopbackEndpoint(script=lambda number, body: REFUSES if number else OTHER) as opened:
        yield opened


def commands(sets, endpoint, out):
    """By name, a command that reads with the endpoint, and one whose judge it is."""
    asked = ["--model", "openai:tiny", "--base-url", endpoint.url]
    judged = ["--judge", "openai:tiny", "--judge-url", endpoint.url]
    tulving = ["eval_scripts/tulving.py", "--dataset", sets / "short", "--memory", "none", "--limit", 6, "--out", out]
    memfail = [
        "eval_scripts/memfail.py", "--dataset", sets / "memfail", "--config", "long_hop", "--system", "full-context",
        "--limit", 6, "--out", out,
    ]  # fmt: skip
    booksort = [
        "eval_scripts/booksort.py",
        "--dataset",
        sets / "booksort",
        "--memory",
        "none",
        "--limit",
        6,
        "--out",
        out,
    ]
    return {
        "tulving": [*tulving, *asked], "tulving, judge": [*tulving, *judged], "booksort": [*booksort, *asked],
        "memfail": [*memfail, *asked], "memfail, judge": [*memfail, *judged],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["tulving", "tulving, judge", "booksort", "memfail", "memfail, judge"])
def test_a_run_without_any_answer(small_sets, endpoint, tmp_path, monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    done = script(*commands(small_sets, endpoint, tmp_path / "r")[name])
    assert done.returncode == (0 if "memfail" in name else 1), done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.partition(": ")[2].startswith("nothing to score: all 6 questions failed; most often ("), last
    number, said = last.partition("most often (")[2].split("): ", 1)
    assert WORDS in said and ("judge openai:tiny" in said or "judge" not in name or "memfail" in name)
    assert int(number) == 5 or (name == "memfail, judge" and int(number) == 6), (
        last
    )  # there, each question has several calls


@pytest.mark.slow
def test_a_judge_that_is_checked(endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    done = script(
        "eval_scripts/judge_check.py", "--judge", "openai:tiny", "--base-url", endpoint.url, "--n", 20, "--out",
        tmp_path / "r",
    )  # fmt: skip
    assert done.returncode == 1
    assert "has judged none of the" in done.stderr and "; most often (" in done.stderr and WORDS in done.stderr


@pytest.mark.parametrize("name", ["tulving", "memfail"])
def test_a_model_that_writes(endpoint, tmp_path, monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    given = {
        "tulving": ["--book", "short", "--events", 6, "--writer", "openai:tiny"],
        "memfail": ["--source", "openai:tiny", "--config", "long_hop", "--rows", 5],
    }[name]
    done = script(f"builders/{name}.py", *given, "--base-url", endpoint.url, "--out", tmp_path)
    assert done.returncode == 1, done.stderr
    said = done.stderr.partition("got no answer; most often (")[2]
    assert WORDS in said or "something else" in said, done.stderr  # a single request gets the words of the first call
