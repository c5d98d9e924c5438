"""Runs of three configs at one k, made once: without memory, with a searching one, with one that fails at times, with all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from epbench.memfail.dataset.load import load_memfail
from epbench.memfail.paper.inputs import Inputs, read_datasets, read_runs
from epbench.memfail.scores.reported_rates import read_reported
from tests.memfail.made_results import write_results

K = 4
CONFIGS = ("coexisting_facts", "long_hop", "persona_retrieval")
SYSTEMS = {"floor": "none", "bm25": "verbatim-bm25", "all": "oracle", "flaky": "flaky.py:Flaky"}
LABELS = {name: system if name == "flaky" else f"{system} (baseline)" for name, system in SYSTEMS.items()}

_FLAKY = """
from epbench.memories.example import KeywordMemory

class Flaky(KeywordMemory):
    def retrieve_memories(self, query, conversation, k):
        if len(query) % 5 == 0:
            raise RuntimeError("lost")
        return super().retrieve_memories(query, conversation, k)
"""


@dataclass(frozen=True)
class Made:
    """The runs of a session.

    Attributes:
        inputs: As exhibits take them.
        folder: Holds `<name of a system>/<config>` for each run, and the dataset in `d/memfail`.
        rows: By config, the rows of the dataset.
    """

    inputs: Inputs
    folder: Path
    rows: dict[str, list[dict[str, object]]]


@pytest.fixture(scope="session")
def made(script, once):
    folder = once("memfail-paper", lambda folder: _make(script, folder))
    data = folder / "d/memfail"
    inputs = Inputs(
        read_runs([folder / name for name in SYSTEMS]),
        read_reported(folder / "paper_results.json", folder / "paper_error_breakdown.json"),
        read_datasets([str(data)]),
    )
    return Made(inputs, folder, {config: load_memfail(str(data), config).rows for config in CONFIGS})


def _make(script, folder):
    write_results(folder)
    (folder / "flaky.py").write_text(_FLAKY)
    built = script("builders/memfail.py", "--rows", 15, "--config", *CONFIGS, "--out", folder / "d")
    assert built.returncode == 0, built.stderr
    for name, system in SYSTEMS.items():
        system = f"{folder}/{system}" if name == "flaky" else system
        about = ["--dataset", folder / "d/memfail", "--config", *CONFIGS, "--system", system, "--k", K]
        more = ["--in-process"] if name == "flaky" else []
        done = script("eval_scripts/memfail.py", *about, *more, "--out", folder / name)
        assert done.returncode == 0, done.stderr
