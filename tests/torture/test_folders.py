"""A run folder that is damaged or from another tool is refused with one line that names file and field."""

import json
import math
import shutil
import traceback
from random import Random

import pytest

from tests.booksort.sort_set import write_set
from tests.scripts.in_process import ran, script
from tests.torture.archives import inside, places, with_value

VALUES = (
    None, True, 0, -1, 7, 10**400, 1.5, math.nan, math.inf, "", "x", "\ud83d", [], {}, [None], ["x"], [[1]], {"a": 1},
)  # fmt: skip
WHOLE = (  # contents of a file; None stands for a folder
    b"", b"\0\1\2\xff", b"null", b"[]", b"{}", b"3", b'"x"', b"[" * 5000, b'{"a": ' * 5000, b"key: yaml\n", None,
    b'{"identity": "x"}\n', b'{"key": 1}\n', b'{"key": "x"}\n', b'{"identity": {"benchmark": ["tulving"]}}',
    b'{"identity": {"benchmark": "lm-eval"}}', b"\xff\xfe{\0}\0", b"{} {}\n",
)  # fmt: skip
SORT, TULVING, MEMFAIL, VERIFY = (f"eval_scripts/{name}.py" for name in ("booksort", "tulving", "memfail", "verify"))


@pytest.fixture(scope="module")
def commands(short_book, tmp_path_factory):
    """The commands that a user may run on the runs of each benchmark: (the runs, the command on copies of them)."""
    out = tmp_path_factory.mktemp("runs")
    book = ["--dataset", short_book, "--limit", 12]
    for memory in ("none", "in-context"):
        ran(TULVING, *book, "--memory", memory, "--out", out / "tulving" / memory)
    for i in (1, 2):
        ran(TULVING, *book, "--memory", "none", "--shard", f"{i}/2", "--out", out / "tulving-shards" / str(i))
    pairs = ["--dataset", write_set(tmp_path_factory.mktemp("set") / "booksort"), "--model", "oracle"]
    for memory in ("none", "rag"):
        ran(SORT, *pairs, "--memory", memory, "--out", out / "sort" / memory)
    for i in (1, 2):
        ran(SORT, *pairs, "--memory", "none", "--shard", f"{i}/2", "--out", out / "sort-shards" / str(i))
    ran("builders/memfail.py", "--config", "long_hop", "--rows", 6, "--out", out / "built")
    rows = ["--dataset", out / "built" / "memfail", "--config", "long_hop", "--k", 2]
    for system in ("none", "verbatim-bm25"):
        ran(MEMFAIL, *rows, "--system", system, "--out", out / "memfail" / system)

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


def spoil(folder, draw):
    """Damage one file of a run's folder, and return a description of the damage."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.stat().st_size)
    path = draw.choice(files)
    kind = draw.choice(("whole", "value", "value", "value", "lost"))
    if kind == "whole":
        content = draw.choice(WHOLE)
        path.unlink()
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
        return f"{path.name} is {content!r:.40}"
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = draw.randrange(len(lines))
    value = json.loads(lines[at])
    place = draw.choice([place for place in places(value) if place and len(place) <= 5])
    if kind == "value":
        new = draw.choice(VALUES)
        value, done = with_value(value, place, new), f"is {new!r:.20}"
    else:
        del inside(value, place)[place[-1]]
        done = "is lost"
    lines[at] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n")
    return f"{path.name}, line {at + 1}, {place} {done}"


def outcome(name, *args):
    """What a script does with a damaged run: `ok`, `refused`, or the traceback or the printed lines."""
    try:
        done = script(name, *args)
    except Exception:
        return traceback.format_exc()
    if done.returncode == 0:
        return "ok"
    # Status 1: the run is valid, but has nothing to score or compare; or verify.py says on the screen what does not hold.
    one_line = done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and len(done.stderr) < 3000
    told = done.returncode == 1 and not done.stderr and " do not" in done.stdout
    return "refused" if told or (one_line and done.returncode in (1, 2)) else f"{done.returncode}: {done.stderr}"


def check(tmp_path, commands, n, seed):
    """Damage n copies of runs, one after another, and call a script on each."""
    names, found = sorted(commands), {}
    for number in range(n):
        draw, name = Random(f"{seed} {number}"), names[number % len(names)]
        folders, arguments = commands[name]
        copies = [shutil.copytree(folder, tmp_path / f"{number}-{i}" / folder.name) for i, folder in enumerate(folders)]
        damage = f"{number}, {name}: {spoil(draw.choice(copies), draw)}"
        found[damage] = outcome(*arguments(copies, tmp_path / f"{number}-out"))
        for copy in copies:
            shutil.rmtree(copy)
    assert not {damage: result for damage, result in found.items() if result not in ("ok", "refused")}
    assert {*found.values()} == {"ok", "refused"}


@pytest.mark.slow
def test_damaged_run_folders_end_in_one_line(tmp_path, commands):
    check(tmp_path, commands, 36, seed=1)


@pytest.mark.slow
@pytest.mark.nightly
def test_many_damaged_run_folders_end_in_one_line(tmp_path, commands):
    check(tmp_path, commands, 480, seed=2)
