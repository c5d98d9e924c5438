"""Attacks on numbers and doors, each a set of tests: how many held, and which did not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]

ATTACKS = {
    "two servers behind one judge's name": ["tests/scripts/test_judge_identity.py"],
    "naming everything": ["tests/tulving/reader/test_lexical.py", "tests/tulving/test_leaderboards.py"],
    "refusals and replies that say nothing": ["tests/judges/test_replies.py", "tests/models/test_lost_answers.py"],
    "other chapters under one fingerprint": ["tests/scripts/test_dataset_fingerprint.py"],
    "edited files of a run": ["tests/scripts/test_edited_runs.py", "tests/scripts/test_verify.py"],
    "strangers and odd replies at the relay": ["tests/memories/test_relay.py"],
    "escapes of a memory system": ["tests/memories/test_isolation.py", "tests/memories/test_guard.py"],
    "code in packages of memory systems": ["tests/memories/systems/test_hosting.py"],
    "keys in files": ["tests/files/test_secrets.py", "tests/models/openai/test_keys.py"],
    "replies without end": ["tests/models/openai/test_address.py"],
    "templates and headers of a model": ["tests/models/hf/test_hostile_models.py", "tests/models/hf/test_gguf.py"],
    "readers while rows are replaced": ["tests/hub/test_install.py"],
    "work that grows faster than its data": [
        "tests/memfail/judging/test_growth.py",
        "tests/statistics/test_intervals.py",
        "tests/scripts/test_reading_once.py",
    ],
    "odd numbers, streams and disks": [
        "tests/test_command.py",
        "tests/arguments/test_declaring.py",
        "tests/arguments/test_config_file.py",
    ],
}
"""The files of tests that make each attack."""


def attack(files: list[str]) -> Counter[str]:
    """Run the tests of an attack, whose files are relative to the root of the checkout, and count how they ended.

    They `held`, `broke`, or were `skipped`, as where bubblewrap does not work; `RuntimeError` if pytest did not run them.
    """
    with tempfile.TemporaryDirectory(prefix="epbench-attack-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", f"--junitxml={report}", *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if not report.exists():
            raise RuntimeError(f"pytest {' '.join(files)}: {done.stdout[-500:]}{done.stderr[-500:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))
    outcomes: Counter[str] = Counter()
    for case in cases:
        kinds = {child.tag for child in case}
        outcomes["skipped" if "skipped" in kinds else "broke" if kinds & {"failure", "error"} else "held"] += 1
    return outcomes
