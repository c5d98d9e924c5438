"""Each installed system through whole benchmarks, killed in the middle, with scripted replies on loopback."""

import json
import signal
import subprocess
import sys

import pytest

from tests.booksort.sort_set import write_set
from tests.memories.systems.conftest import ROOT
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.memories.systems.scripted_systems import SCRIPTED, made_up_checkout
from tests.memories.systems.test_hosting import kill_when, stored_so_far
from tests.memories.test_isolation import needs_bwrap
from tests.memories.test_session import lines_of

pytestmark = pytest.mark.slow
CONFIGS = ("long_hop", "coexisting_facts")
KILLS_AFTER = (3, 9)  # stored conversations


@pytest.fixture(scope="module")
def memfail(script, tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    done = script("builders/memfail.py", "--config", *CONFIGS, "--rows", 6, "--out", out)
    assert done.returncode == 0, done.stderr
    return out / "memfail"


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_killed_run_ends_as_if_nothing_had_happened(name, environment, memfail, tmp_path):
    environment(name)
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        command = command_for(name, endpoint, memfail, tmp_path)
        for n in KILLS_AFTER:
            run_until(command, tmp_path / "run/long_hop/stored.jsonl", n)
        finish(command)
        refused = run([*command, "--system-model", "another"])
        assert refused.returncode == 2 and "this folder holds another run: its system_model is" in refused.stderr
    for config in CONFIGS:
        folder = tmp_path / "run" / config
        scores, usage = (json.loads((folder / file).read_text()) for file in ("scores.json", "usage.json"))
        assert scores["n_failed"] == 0 and not any("twice" in warning for warning in scores["warnings"])
        held = json.loads((folder / "memories.json").read_text())[""]
        units = lines_of(folder / "stored.jsonl")
        n_told = len({unit["conversation"] for unit in units if "conversation" in unit})
        assert len(held) == len(set(held)) == n_told  # with these replies, each conversation is one memory
        storing = usage["storing"]
        assert storing["calls"] >= n_told and storing["tokens_in"] > 0 and storing["embeddings"] > 0
        assert storing["seconds"] > 0 and usage["retrieving"]["seconds"] > 0


def command_for(name, endpoint, memfail, folder):
    command = [
        sys.executable, "eval_scripts/memfail.py", "--dataset", memfail, "--config", *CONFIGS, "--system", name,
        "--system-model", "scripted", "--system-url", endpoint.base_url, "--embedder", "openai:vectors",
        "--out", folder / "run",
    ]  # fmt: skip
    if name == "structmem":
        command += ["--system-source", made_up_checkout(folder / "checkout")]
    return command


@pytest.mark.parametrize("name", SCRIPTED)
def test_it_works_in_a_sandbox(name, environment, memfail, tmp_path):
    environment(name)
    needs_bwrap()
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        finish([*command_for(name, endpoint, memfail, tmp_path), "--isolation", "bwrap", "--limit", 2])
    for config in CONFIGS:
        folder = tmp_path / "run" / config
        assert json.loads((folder / "scores.json").read_text())["n_failed"] == 0
        assert json.loads((folder / "memories.json").read_text())[""]


def run(command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)


def finish(command):
    done = run(command)
    assert done.returncode == 0, done.stderr


def run_until(command, journal, n):
    """Start a run, and kill it once its journal has n stored conversations."""
    status = kill_when(lambda: stored_so_far(journal) >= n, command, cwd=ROOT, stderr=subprocess.DEVNULL)
    assert status == -signal.SIGKILL


@pytest.mark.parametrize("name", ["mem0", "simplemem"])
def test_a_killed_run_finds_the_segments_in_what_the_system_stored(name, environment, tmp_path):
    environment(name)
    dataset = write_set(tmp_path / "booksort")
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        command = [
            sys.executable, "eval_scripts/booksort.py", "--dataset", dataset, "--config", "e120_s20", "--limit", 8,
            "--memory", name, "--conversation-words", 30, "--model", "oracle", "--system-model", "scripted",
            "--system-url", endpoint.base_url, "--embedder", "openai:vectors", "--out", tmp_path / "run",
        ]  # fmt: skip
        run_until(command, tmp_path / "run/stored.jsonl", 3)
        finish(command)
    scores, usage = (json.loads((tmp_path / "run" / file).read_text()) for file in ("scores.json", "usage.json"))
    assert scores["n_failed"] == 0 and scores["retrieval"]["n"] == 8
    assert (usage["storing"]["stores"], usage["storing"]["conversations"], usage["retrieving"]["queries"]) == (2, 10, 8)
    assert usage["storing"]["tokens_in"] > 0 and scores["retrieval"]["both_found"] > 0.5
