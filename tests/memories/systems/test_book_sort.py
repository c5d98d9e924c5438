"""Two installed systems on Book-SORT, killed in the middle, with scripted replies on loopback."""

import json
import subprocess
import sys

import pytest

from tests.booksort.sort_set import write_set
from tests.memories.systems.conftest import ROOT
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.memories.systems.scripted_systems import SCRIPTED
from tests.memories.systems.test_end_to_end import run_until

pytestmark = pytest.mark.slow


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
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    scores, usage = (json.loads((tmp_path / "run" / file).read_text()) for file in ("scores.json", "usage.json"))
    assert scores["n_failed"] == 0 and scores["retrieval"]["n"] == 8
    assert (usage["storing"]["stores"], usage["storing"]["conversations"], usage["retrieving"]["queries"]) == (2, 10, 8)
    assert usage["storing"]["tokens_in"] > 0 and scores["retrieval"]["both_found"] > 0.5
