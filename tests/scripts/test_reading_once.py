"""A command reads each journal of a run's folder once."""

import json
import shutil
from collections import Counter

import pytest

from tests.opened_files import journals_read
from tests.scripts.in_process import ran
from tests.scripts.run_files import read

COMMANDS = {
    "tulving": ["eval_scripts/tulving.py", "--dataset", "short", "--memory", "rag-chapter", "--limit", 40],
    "tulving-again": ["eval_scripts/tulving.py", "--dataset", "short", "--rejudge"],
    "booksort": ["eval_scripts/booksort.py", "--dataset", "booksort", "--memory", "in-context", "--model", "oracle"],
    "booksort-rag": ["eval_scripts/booksort.py", "--dataset", "booksort", "--memory", "rag", "--model", "oracle"],
    "memfail": ["eval_scripts/memfail.py", "--dataset", "memfail", "--config", "long_hop", "--system", "verbatim-bm25"],
}


CASES = [(name, "stopped") for name in COMMANDS]
CASES += [("tulving", "new"), ("tulving", "finished"), ("memfail", "of another version"), ("booksort-rag", "new")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "state"), CASES)
def test_a_command_reads_each_journal_once(small_sets, small_runs, tmp_path, name, state):
    run = tmp_path / "run"
    if state != "new" and name != "booksort-rag":
        shutil.copytree(small_runs / name.removesuffix("-again"), run)
    if state == "stopped":  # before it was scored
        for file in ("scores.json", "checksums.json"):
            (run / file).unlink(missing_ok=True)
    if state == "of another version" and (run / "checksums.json").is_file():
        noted = read(run, "checksums.json")
        (run / "checksums.json").write_text(json.dumps(noted | {"code": "another"}))
    readings = journals_read()
    program, option, dataset, *rest = COMMANDS[name]
    ran(program, option, small_sets / dataset, *rest, "--out", run)
    found = Counter(path for path in readings if path.startswith(str(run)) and "outcomes" not in path)
    assert found and set(found.values()) == {1}, found
