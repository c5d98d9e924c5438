"""The help of every script names what each flag takes: all names that the library knows."""

from __future__ import annotations

import re

import pytest

from epbench.booksort.context import requests as booksort
from epbench.memfail.dataset.load import CONFIGS
from epbench.memories.load import BASELINES
from epbench.models.load import MODELS
from epbench.retrieval.load import RETRIEVERS
from epbench.tulving.context import requests as tulving
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.judging.load import RULE_JUDGES
from tests.scripts.in_process import ROOT, script

SCRIPTS = sorted(
    str(path.relative_to(ROOT)) for folder in ("builders", "eval_scripts") for path in ROOT.glob(f"{folder}/*.py")
)
OF_FLAGS = {
    "--model": MODELS,
    "--judge": ("lexical", *MODELS),
    "--writer": ("template", *MODELS),
    "--retriever": RETRIEVERS,
    "--universe": universe_names(),
}
"""What a flag takes in every script that has it."""
OF_SCRIPTS = {
    ("eval_scripts/tulving.py", "--model"): ("lexical",),
    ("eval_scripts/tulving.py", "--judge"): tuple(RULE_JUDGES),
    ("eval_scripts/judge_check.py", "--judge"): tuple(RULE_JUDGES),
    ("eval_scripts/tulving.py", "--memory"): (*tulving.MEMORIES, *BASELINES),
    ("eval_scripts/booksort.py", "--model"): ("oracle",),
    ("eval_scripts/booksort.py", "--memory"): tuple(booksort.MEMORIES),
    ("eval_scripts/memfail.py", "--model"): ("lexical",),
    ("eval_scripts/memfail.py", "--system"): BASELINES,
    ("eval_scripts/memfail.py", "--config"): (*CONFIGS, "all"),
    ("builders/memfail.py", "--config"): CONFIGS,
}
"""What a flag takes in one script, beside what it takes in all of them."""


def flags_of(shown: str) -> set[str]:
    """The long flags with a line of help of their own."""
    lines = re.findall(r"^  (-.*?)(?:  |$)", shown, re.M)
    return {flag for line in lines for flag in re.findall(r"--[a-z-]+", line)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_names_everything_that_a_flag_takes(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # so that no name is broken at a hyphen
    shown = script(name, "--help").stdout
    flags = flags_of(shown)
    assert "--help" in flags and f"python {name} " in shown
    assert {flag for of, flag in OF_SCRIPTS if of == name} <= flags
    for flag in sorted(flags):
        for expected in [*OF_FLAGS.get(flag, ()), *OF_SCRIPTS.get((name, flag), ())]:
            found = re.search(rf"(?<![\w:-]){re.escape(expected)}(?![\w:-])", shown)
            assert found, f"{name} --help: {flag} takes {expected!r}, which is not in the help"
