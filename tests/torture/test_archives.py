"""Any archive is scored or refused with one line, and nothing is written outside the folder of results."""

import json

import pyarrow.parquet as pq
import pytest

from tests.scripts.in_process import script
from tests.torture.archives import Mutation, as_zip, mutations, outcomes, small_archive, zipped


def check(folder, seed, n):
    found = list(outcomes(folder, mutations(seed, n)))
    assert len(found) == n
    assert not (tracebacks := [one.detail for one in found if one.kind == "traceback"]), tracebacks[0]
    assert not [(one.detail, one.escaped) for one in found if one.escaped]
    assert {one.kind for one in found} == {"scored", "refused"}


def test_the_unmutated_archive_is_scored(tmp_path):
    (outcome,) = outcomes(tmp_path, [Mutation("none", as_zip(small_archive().items()))])
    assert outcome.kind == "scored", outcome


@pytest.mark.slow
def test_damaged_and_hostile_archives_end_in_one_line(tmp_path):
    check(tmp_path, 1, 40)


@pytest.mark.slow
@pytest.mark.nightly
def test_many_damaged_and_hostile_archives_end_in_one_line(tmp_path):
    check(tmp_path, 2, 500)


def results(folder):
    tables = [pq.read_table(path).to_pylist() for path in folder.rglob("*.parquet")]
    texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    return "".join([*texts, *(json.dumps(table, ensure_ascii=False) for table in tables)])


def test_half_a_surrogate_pair_becomes_another_character_in_all_results(tmp_path):
    files = small_archive()
    for path in files:
        if path.endswith(("raw_answers/0.json", "raw_answers/3.json")):
            files[path] = json.dumps("A smile \ud83d.").encode()
        elif path.endswith("evaluated_answers/1.json"):
            verdict = json.loads(files[path]) | {"explanation": "\udc00", "predicted_items": ["\ud83d"]}
            files[path] = json.dumps(verdict).encode()
    (tmp_path / "archive.zip").write_bytes(zipped(files.items()))
    done = script("eval_scripts/tulving.py", "--released", tmp_path / "archive.zip", "--out", tmp_path / "out")
    assert done.returncode == 0 and "1 runs scored, 0 not scored" in done.stdout, done.stderr
    shown = results(tmp_path / "out")
    assert "A smile \ufffd." in shown and '["\ufffd"]' in shown
