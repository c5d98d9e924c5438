"""A run folder that is damaged or from another tool is refused with one line that names file and field."""

import pytest

from tests.booksort.sort_set import write_set
from tests.scripts.in_process import script
from tests.torture.folders import torture_folders

SORT, TULVING, MEMFAIL, VERIFY = (f"eval_scripts/{name}.py" for name in ("booksort", "tulving", "memfail", "verify"))


def made(*args):
    done = script(*args)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def commands(short_book, tmp_path_factory):
    """The commands that a user may run on the runs of each benchmark: (the runs, the command on copies of them)."""
    out = tmp_path_factory.mktemp("runs")
    book = ["--dataset", short_book, "--limit", 12]
    for memory in ("none", "in-context"):
        made(TULVING, *book, "--memory", memory, "--out", out / "tulving" / memory)
    for i in (1, 2):
        made(TULVING, *book, "--memory", "none", "--shard", f"{i}/2", "--out", out / "tulving-shards" / str(i))
    pairs = ["--dataset", write_set(tmp_path_factory.mktemp("set") / "booksort"), "--model", "oracle"]
    for memory in ("none", "rag"):
        made(SORT, *pairs, "--memory", memory, "--out", out / "sort" / memory)
    for i in (1, 2):
        made(SORT, *pairs, "--memory", "none", "--shard", f"{i}/2", "--out", out / "sort-shards" / str(i))
    made("builders/memfail.py", "--config", "long_hop", "--rows", 6, "--out", out / "built")
    rows = ["--dataset", out / "built" / "memfail", "--config", "long_hop", "--k", 2]
    for system in ("none", "verbatim-bm25"):
        made(MEMFAIL, *rows, "--system", system, "--out", out / "memfail" / system)

    def of(name):
        return sorted((out / name).iterdir())

    def on_all(name):
        return lambda folders, to: (f"eval_scripts/{name}.py", *folders, "--out", to)

    return {
        **{f"{name} {kind}": (of(kind), on_all(name)) for name in ("report", "compare", "tables") for kind in ("tulving", "sort", "memfail")},
        **{f"merge {kind}": (of(f"{kind}-shards"), on_all("merge")) for kind in ("tulving", "sort")},
        **{f"verify {kind}": (of(kind)[1:], lambda folders, to: (VERIFY, folders[0])) for kind in ("tulving", "sort", "memfail")},
        "rejudge": (of("tulving")[:1], lambda folders, to: (TULVING, *book[:2], "--rejudge", "--out", folders[0])),
        "tulving again": (of("tulving")[1:], lambda f, to: (TULVING, *book, "--memory", "none", "--out", f[0])),
        "sort again": (of("sort")[1:], lambda f, to: (SORT, *pairs, "--memory", "rag", "--out", f[0])),
        "memfail again": (of("memfail")[1:], lambda f, to: (MEMFAIL, *rows, "--system", "verbatim-bm25", "--out", f[0])),
    }  # fmt: skip


def check(tmp_path, commands, n, seed):
    found = list(torture_folders(tmp_path, commands, n, seed))
    assert len(found) == n
    assert not [(name, result) for name, result in found if result not in ("ok", "refused")]
    assert {result for _, result in found} == {"ok", "refused"}


@pytest.mark.slow
def test_damaged_run_folders_end_in_one_line(tmp_path, commands):
    check(tmp_path, commands, 36, seed=1)


@pytest.mark.slow
@pytest.mark.nightly
def test_many_damaged_run_folders_end_in_one_line(tmp_path, commands):
    check(tmp_path, commands, 480, seed=2)
