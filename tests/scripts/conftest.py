"""Small finished runs of all benchmarks, made once for all files of tests."""

import pytest

from tests.scripts.in_process import script


def _ran(name, *args):
    done = script(name, *args)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def small_sets(once):
    """The datasets `short` (six events), `booksort` (two books of templates) and `memfail` (ten rows of long hop)."""

    def build(out):
        _ran("builders/tulving.py", "--book", "short", "--events", 6, "--out", out)
        _ran("builders/memfail.py", "--config", "long_hop", "--rows", 10, "--out", out)
        _ran(
            "builders/booksort.py", "--template-books", 2, "--excerpt-words", 250, "--segment-words", 20, "--excerpts", 5,
            "--out", out,
        )  # fmt: skip

    return once("small-sets", build)


@pytest.fixture(scope="session")
def small_runs(once, small_sets):
    """Runs on them: `tulving` and `tulving-none` on 40 questions, `booksort`, `memfail` and `memfail-none`."""

    def run(out):
        for name, memory in (("tulving", "rag-chapter"), ("tulving-none", "none")):
            _ran(
                "eval_scripts/tulving.py", "--dataset", small_sets / "short", "--memory", memory, "--limit", 40,
                "--out", out / name,
            )  # fmt: skip
        for name, system in (("memfail", "verbatim-bm25"), ("memfail-none", "none")):
            _ran(
                "eval_scripts/memfail.py", "--dataset", small_sets / "memfail", "--config", "long_hop", "--system", system,
                "--out", out / name,
            )  # fmt: skip
        _ran(
            "eval_scripts/booksort.py", "--dataset", small_sets / "booksort", "--memory", "in-context", "--model", "oracle",
            "--out", out / "booksort",
        )  # fmt: skip

    return once("small-runs", run)
