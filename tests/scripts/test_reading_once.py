"""A command reads each journal of a run's folder once."""

import shutil
from collections import Counter

import pytest

from tests.opened_files import journals_read
from tests.scripts.in_process import ran
from tests.scripts.run_files import COMMANDS, change

MORE = {
    "tulving-again": "eval_scripts/tulving.py --dataset {}/short --rejudge",
    "booksort-rag": "eval_scripts/booksort.py --dataset {}/booksort --memory rag --model oracle",
}
CASES = [(name, "stopped") for name in ("tulving", "booksort", "memfail", *MORE)]
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
    if state == "of another version":
        change(run / "checksums.json", code="another")
    readings = journals_read()
    command = (COMMANDS | MORE)[name].format(small_sets)
    ran(command, "--out", run)
    found = Counter(path for path in readings if path.startswith(str(run)) and "outcomes" not in path)
    assert found and set(found.values()) == {1}, found
