"""Small finished runs of all benchmarks, made once for all files of tests."""

import pytest

from tests.scripts.in_process import ran


@pytest.fixture(scope="session")
def small_sets(once):
    """The datasets `short` (six events), `booksort` (two books of templates) and `memfail` (ten rows of long hop)."""

    def build(out):
        ran(f"builders/tulving.py --book short --events 6 --out {out}")
        ran(f"builders/memfail.py --config long_hop --rows 10 --out {out}")
        pairs = "--template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 5"
        ran(f"builders/booksort.py {pairs} --out {out}")

    return once("small-sets", build)


@pytest.fixture(scope="session")
def small_runs(once, small_sets):
    """Runs on them: `tulving` and `tulving-none` on 40 questions, `booksort`, `memfail` and `memfail-none`."""
    book, pairs, rows = (small_sets / name for name in ("short", "booksort", "memfail"))

    def run(out):
        for name, memory in (("tulving", "rag-chapter"), ("tulving-none", "none")):
            ran(f"eval_scripts/tulving.py --dataset {book} --memory {memory} --limit 40 --out {out / name}")
        for name, system in (("memfail", "verbatim-bm25"), ("memfail-none", "none")):
            ran(f"eval_scripts/memfail.py --dataset {rows} --config long_hop --system {system} --out {out / name}")
        ran(f"eval_scripts/booksort.py --dataset {pairs} --memory in-context --model oracle --out {out / 'booksort'}")

    return once("small-runs", run)
