"""Each installed system through whole benchmarks, killed in the middle, with scripted replies on loopback."""

import pytest

from tests.booksort.sort_set import write_set
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.memories.systems.scripted_systems import SCRIPTED, made_up_checkout
from tests.memories.systems.test_hosting import stored_so_far
from tests.memories.test_isolation import needs_bwrap
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import killed, lines_of, read, scores_of

pytestmark = pytest.mark.slow
CONFIGS = ("long_hop", "coexisting_facts")
KILLS_AFTER = (3, 9)  # stored conversations


@pytest.fixture(scope="module")
def memfail(tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    ran("builders/memfail.py", "--config", *CONFIGS, "--rows", 6, "--out", out)
    return out / "memfail"


def asking(endpoint):
    return ["--system-model", "scripted", "--system-url", endpoint.base_url, "--embedder", "openai:vectors"]


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_killed_run_ends_as_if_nothing_had_happened(name, environment, memfail, tmp_path):
    environment(name)
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        command = command_for(name, endpoint, memfail, tmp_path)
        for n in KILLS_AFTER:
            killed(command, lambda n=n: stored_so_far(tmp_path / "run/long_hop/stored.jsonl") >= n)
        ran(*command)
        refused(script(*command, "--system-model", "another"), "this folder holds another run: its system_model is")
    for config in CONFIGS:
        folder = tmp_path / "run" / config
        scores, usage = scores_of(folder), read(folder, "usage.json")
        assert scores["n_failed"] == 0 and not any("twice" in warning for warning in scores["warnings"])
        held = read(folder, "memories.json")[""]
        units = lines_of(folder / "stored.jsonl")
        n_told = len({unit["conversation"] for unit in units if "conversation" in unit})
        assert len(held) == len(set(held)) == n_told  # with these replies, each conversation is one memory
        storing = usage["storing"]
        assert storing["calls"] >= n_told and storing["tokens_in"] > 0 and storing["embeddings"] > 0
        assert storing["seconds"] > 0 and usage["retrieving"]["seconds"] > 0


def command_for(name, endpoint, memfail, folder):
    command = ["eval_scripts/memfail.py", "--dataset", memfail, "--config", *CONFIGS, "--system", name]
    command += [*asking(endpoint), "--out", folder / "run"]
    if name == "structmem":
        command += ["--system-source", made_up_checkout(folder / "checkout")]
    return command


@pytest.mark.parametrize("name", SCRIPTED)
def test_it_works_in_a_sandbox(name, environment, memfail, tmp_path):
    environment(name)
    needs_bwrap()
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        ran(*command_for(name, endpoint, memfail, tmp_path), "--isolation", "bwrap", "--limit", 2)
    for config in CONFIGS:
        folder = tmp_path / "run" / config
        assert scores_of(folder)["n_failed"] == 0 and read(folder, "memories.json")[""]


@pytest.mark.parametrize("name", ["mem0", "simplemem"])
def test_a_killed_run_finds_the_segments_in_what_the_system_stored(name, environment, tmp_path):
    environment(name)
    dataset = write_set(tmp_path / "booksort")
    with ScriptedEndpoint(SCRIPTED[name].reply) as endpoint:
        command = "eval_scripts/booksort.py --config e120_s20 --limit 8 --conversation-words 30 --model oracle".split()
        command += ["--dataset", dataset, "--memory", name, *asking(endpoint), "--out", tmp_path / "run"]
        killed(command, lambda: stored_so_far(tmp_path / "run/stored.jsonl") >= 3)
        ran(*command)
    scores, usage = scores_of(tmp_path / "run"), read(tmp_path / "run", "usage.json")
    assert scores["n_failed"] == 0 and scores["retrieval"]["n"] == 8
    assert (usage["storing"]["stores"], usage["storing"]["conversations"], usage["retrieving"]["queries"]) == (2, 10, 8)
    assert usage["storing"]["tokens_in"] > 0 and scores["retrieval"]["both_found"] > 0.5
