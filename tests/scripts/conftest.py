"""Small finished runs of all benchmarks, made once for all files of tests."""

import shutil

import pytest

from tests.booksort.sort_set import write_set
from tests.scripts.in_process import ran
from tests.scripts.run_files import BUILT, COMMANDS


@pytest.fixture(scope="session")
def small_sets(once):
    """The datasets `short` (six events), `booksort` (two books of templates) and `memfail` (ten rows of two configs)."""

    def build(out):
        for command in BUILT.values():
            ran(command, "--out", out)

    return once("small-sets", build)


@pytest.fixture
def copied(small_runs, tmp_path):
    """Copies a small run into the folder of a test, under its name."""
    return lambda name: shutil.copytree(small_runs / name, tmp_path / name)


@pytest.fixture(scope="session")
def sort_set(once):
    """Pairs about two made-up books, of excerpts of 120 and 250 words."""
    return once("sort-set", lambda out: write_set(out / "booksort")) / "booksort"


@pytest.fixture(scope="session")
def memfail_set(once):
    """Twenty rows of two configs of MemFail."""
    command = "builders/memfail.py --config conditional_facts_easy long_hop --rows 20 --out"
    return once("memfail-set", lambda out: ran(command, out)) / "memfail"


@pytest.fixture(scope="session")
def small_runs(once, small_sets):
    """Runs on them: `tulving` and `tulving-none` on 40 questions, `booksort`, `memfail` and `memfail-none`."""

    def run(out):
        for name, command in COMMANDS.items():
            ran(f"{command.format(small_sets)} --out {out / name}")

    return once("small-runs", run)
