"""An installed system in its own environment: what it stored survives every way to stop it, and nothing twice."""

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.memories.protocol import Endpoint, Installation, SystemSpec
from epbench.memories.recall import memory_usage
from epbench.memories.session import Conversation, Query
from epbench.memories.systems import hosting
from epbench.memories.systems.hosting import environment_python
from tests.memories.systems.conftest import LOCKS
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.memories.test_isolation import needs_bwrap
from tests.memories.test_session import run_system
from tests.refusals import refusal
from tests.scripts.in_process import ROOT
from tests.scripts.run_files import killed, lines_of

LONE = Path(__file__).with_name("lone_system.py")
QUERIES = [Query("q1", "q1", "", "where?", 2)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(lambda body: f"kept {body['messages'][-1]['content'].split(' {')[0]}") as endpoint:
        yield endpoint


@pytest.fixture
def system(tmp_path, endpoint, cache, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(cache))
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-secret-of-the-user")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    lock = cache / "lone.txt"
    lock.write_text("# python: 3.11 to 3.14\n")
    return lone(lock, tmp_path / "flag", endpoint.base_url)


def lone(lock, flag, url):
    installation = Installation(f"{LONE}:Lone", lock, {}, Endpoint("inner-model", url, "openai:inner-embedder"))
    return SystemSpec("lone", durable=True, settings={"flag": str(flag)}, installation=installation)


def told(*texts):
    return [Conversation(f"c{i}", "", (f"u{i}",), ({"role": "user", "content": text},)) for i, text in enumerate(texts)]


def run(folder, system, conversations, seconds=60.0, queries=QUERIES):
    folder.mkdir(exist_ok=True)
    return run_system(system, folder, conversations, queries, seconds)


def many_queries(n):
    return [Query(f"q{i}", f"q{i}", "", f"where is {i}?", 2) for i in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["process", "bwrap"])
def test_it_runs_in_its_own_environment_and_asks_the_relay(tmp_path, system, endpoint, isolation):
    if isolation == "bwrap":
        needs_bwrap()
    recall = run(tmp_path / "run", replace(system, isolation=isolation), told("one", "hide an error", "three"))
    assert recall.stores == {"": ["kept one", "kept hide an error", "kept three"]}
    assert recall.found == {"q1": ["kept one", "kept hide an error"]}
    assert any("hid 1 errors" in warning for warning in recall.warnings)
    asked = [body for path, body in endpoint.requests if path.endswith("/chat/completions")]
    assert {body["model"] for body in asked} == {"inner-model"}
    assert not any("secret" in json.dumps(body) for body in asked)  # it sees no key of the user
    usage = memory_usage(tmp_path / "run")
    assert (usage["storing"]["calls"], usage["retrieving"]["calls"]) == (3, 1)
    assert usage["storing"]["tokens_in"] > 0 and usage["retrieving"]["tokens_out"] > 0
    records = lines_of(tmp_path / "run/system_calls.jsonl")
    assert [(r["method"], r["item"]) for r in records if r["path"].endswith("completions")] == [
        *(("store_conversation", f"c{i}") for i in range(3)), ("retrieve_memories", "q1")
    ]  # fmt: skip
    assert records[1]["reply"] == "kept one"
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"secret-of-the-user" not in file.read_bytes(), file


@pytest.mark.slow
@pytest.mark.parametrize("how", ["die", "hang", "raise"])
def test_what_was_stored_in_part_is_taken_back_and_stored_by_the_next_start(tmp_path, system, how):
    conversations = told("one", how, "three")
    first = run(tmp_path / "run", system, conversations, seconds=8 if how == "hang" else 60)
    assert first.stores == {"": ["kept one", "kept three"]} and list(first.unstored) == [("", "u1")]
    second = run(tmp_path / "run", system, conversations)
    assert second.stores == {"": ["kept one", "kept three", f"kept {how}"]}
    assert not second.unstored and not any("twice" in warning for warning in second.warnings)


@pytest.mark.slow
def test_what_its_models_did_not_answer_has_failed_even_if_it_hides_that(tmp_path, system, endpoint):
    reply = endpoint.reply
    endpoint.reply = lambda body: 500 if "swallow" in body["messages"][-1]["content"] else reply(body)
    queries = [*QUERIES, Query("q2", "q2", "", "swallow this", 2)]
    first = run(tmp_path / "run", system, told("one", "swallow", "three"), queries=queries)
    assert first.stores == {"": ["kept one", "kept three"]}
    reason = "1 of 1 requests to its models got no answer; the last, HTTP 500: scripted error 500"
    assert first.unstored == {("", "u1"): reason} and first.failures == {"q2": f"memory system: {reason}"}
    endpoint.reply = reply
    second = run(tmp_path / "run", system, told("one", "swallow", "three"), queries=queries)
    assert second.stores == {"": ["kept one", "kept three", "kept swallow"]} and not second.unstored
    assert second.found.keys() == {"q1", "q2"}


@pytest.mark.slow
@pytest.mark.parametrize("does", ["swallow", "tell"])
def test_a_model_that_refuses_everything_is_asked_for_three_conversations(tmp_path, system, endpoint, does):
    endpoint.reply = lambda body: 401
    recall = run(tmp_path / "run", system, told(*(f"{does} {i}" for i in range(6))))
    reasons = list(recall.unstored.values())
    assert len(reasons) == 6 and all("401" in reason for reason in reasons[:3])
    assert all("not called: 3 calls in a row" in reason and "its model" in reason for reason in reasons[3:])
    assert len([path for path, _ in endpoint.requests if path.endswith("completions")]) == 3
    assert not recall.stores and recall.failures.keys() == {"q1"}


_KILLED_RUN = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.memories.systems.test_hosting import lone, many_queries, run, told
texts, queries = told(*map(str, range(int(sys.argv[6])))), many_queries(int(sys.argv[7]))
run(Path(sys.argv[2]), lone(Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5]), texts, queries=queries)
"""


def killed_run(tmp_path, cache, endpoint, n_texts, n_queries, far_enough):
    command = ["-c", _KILLED_RUN, ROOT, tmp_path / "run", cache / "lone.txt", tmp_path / "flag", endpoint.base_url]
    killed([*command, n_texts, n_queries], far_enough)
    assert far_enough()


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_stores_nothing_twice(tmp_path, system, cache, endpoint):
    for n in (6, 12, 18):
        killed_run(tmp_path, cache, endpoint, 30, 1, lambda n=n: stored_so_far(tmp_path / "run/stored.jsonl") >= n)
    recall = run(tmp_path / "run", system, told(*map(str, range(30))))
    assert recall.stores[""] == [f"kept {i}" for i in range(30)]


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_asks_goes_on_with_the_same_store(tmp_path, system, cache, endpoint):
    retrieved = tmp_path / "run/retrieved.jsonl"
    killed_run(tmp_path, cache, endpoint, 2, 300, lambda: retrieved.exists() and retrieved.read_text().count("\n") > 5)
    recall = run(tmp_path / "run", system, told("0", "1"), queries=many_queries(300))
    assert recall.stores == {"": ["kept 0", "kept 1"]} and len(recall.found) == 300 and not recall.failures
    lines = lines_of(retrieved)
    assert len(lines) == len({line["key"] for line in lines}) == 300  # nothing that was answered is asked again
    told_once = [b for path, b in endpoint.requests if path.endswith("completions")]
    assert sum(body["messages"][-1]["content"].startswith(("0", "1")) for body in told_once) == 2


def stored_so_far(journal):
    return journal.read_text().count('"seconds"') if journal.exists() else 0


@pytest.mark.slow
def test_a_run_that_cannot_go_on_with_its_stores_is_refused(tmp_path, system, endpoint):
    run(tmp_path / "run", system, told("one"))
    shutil.move(tmp_path / "run/kept", tmp_path / "away")
    with pytest.raises(BadInput, match="expected the copy of a store that this run has begun"):
        run(tmp_path / "run", system, told("one", "two"))
    shutil.move(tmp_path / "away", tmp_path / "run/kept")
    endpoint.dimensions = 32
    with pytest.raises(BadInput, match="expected vectors of 64 numbers.*got 32"):
        run(tmp_path / "run", system, told("one", "two"))


def test_a_lock_for_another_python_is_refused(tmp_path):
    (tmp_path / "other.txt").write_text("# python: 3.8 to 3.9\n")
    assert "it is for Python 3.8 to 3.9, this is 3." in refusal(environment_python, tmp_path / "other.txt")


SPY = """
import os, sys
from pathlib import Path
Path({found!r}).write_text(os.environ.get("OPENAI_API_KEY", "no key"))
raise SystemExit("the build was run")
"""


def index_with_an_sdist(folder, found):
    """A folder that serves a package without a wheel, whose build looks for a key; returns its line in a lock."""
    source = folder / "source" / "spy-1.0"
    source.mkdir(parents=True)
    backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (source / "pyproject.toml").write_text(backend)
    (source / "backend.py").write_text(SPY.format(found=str(found)))
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: spy\nVersion: 1.0\n")
    archive = shutil.make_archive(str(folder / "spy-1.0"), "gztar", source.parent, source.name)
    return f"spy==1.0 --hash=sha256:{hashlib.sha256(Path(archive).read_bytes()).hexdigest()}\n"


@pytest.mark.slow
def test_an_installation_builds_nothing_and_has_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    lock, found = tmp_path / "spy.txt", tmp_path / "found"
    lock.write_text(index_with_an_sdist(tmp_path, found))
    assert "environment of this memory system cannot be built" in refusal(environment_python, lock)
    assert not found.exists() and not list((tmp_path / "cache/systems").glob("spy*"))
    # Even the one package that is built from its source does not see the key.
    monkeypatch.setattr(hosting, "_INSTALL", hosting._INSTALL.replace("langdetect", "spy"))
    assert "cannot be built" in refusal(environment_python, lock)
    assert found.read_text() == "no key"


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.txt")), ids=lambda lock: lock.stem)
def test_every_package_of_a_lock_has_a_version_and_hashes(lock):
    for line in lock.read_text().splitlines():
        pinned = re.fullmatch(r"[\w.-]+==[\w.]+( ;[^\\]+?)?( --hash=sha256:[0-9a-f]{64})+", line)
        assert line.startswith("#") or pinned, line
