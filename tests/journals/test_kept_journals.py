"""The journals of a folder that this process has to itself: each is read once, and follows what is added."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench.errors import BadInput
from epbench.files import secrets
from epbench.journals.journal import Journal, from_journal, kept_journals, read_journal
from epbench.runs import results
from epbench.runs.folder import open_run
from epbench.runs.results import write_questions
from tests.opened_files import journals_read


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"key": str(n), "n": n}) + "\n" for n in range(9)) + '{"key": "to')
    return path


def test_what_is_added_is_among_the_records_that_were_read(journal):
    readings = journals_read()
    with kept_journals(journal.parent):
        before = read_journal(journal)
        one, other = Journal(journal), Journal(journal)
        one.add("9", n=9)
        other.add("10", n=10)
        one.add("11", n=11)
        one.close()
        other.close()
        assert list(before) == [str(n) for n in range(9)]
        assert [record["n"] for record in read_journal(journal).values()] == list(range(12))
        assert len([path for path in readings if path == str(journal)]) == 1
        journal.unlink()
        assert read_journal(journal) == {}
    assert read_journal(journal) == {}


def test_what_is_computed_from_a_journal_is_computed_once_until_it_grows(journal):
    computed = []

    def numbers(records):
        computed.append([record["n"] for record in records])
        return computed[-1]

    with kept_journals(journal.parent):
        assert from_journal(journal, numbers) is from_journal(journal, numbers)
        mine = Journal(journal)
        mine.add("0", n=7)
        mine.close()
        assert from_journal(journal, numbers)[0] == 7 and len(computed) == 2
    assert from_journal(journal, numbers) == from_journal(journal, numbers) and len(computed) == 4


def test_the_hash_of_a_journal_follows_what_is_added(tmp_path):
    for n in range(3):
        with open_run(tmp_path, {"benchmark": "b"}, {}) as folder:
            for name in ("answers.jsonl", "judgements.jsonl"):
                journal = Journal(folder / name)
                journal.add(f"{n}", id="é", repeat=n, answer="x", judge="j", verdict=True)
                journal.close()
            (folder / "scores.json").write_text("{}")
    (tmp_path / "answers.jsonl").write_bytes((tmp_path / "answers.jsonl").read_bytes().replace(b"2,", b"3,"))
    with pytest.raises(BadInput, match=r"answers\.jsonl, line 3: changed"), open_run(tmp_path, {}, {}):
        pass


def test_a_table_of_questions_in_pieces_is_the_same_table(tmp_path, monkeypatch):
    columns = {"id": "string", "n": ["int64"]}
    rows = [{"id": str(n), "n": [n] * (n % 3)} for n in range(10)]
    write_questions(tmp_path, columns, rows)
    whole = pq.read_table(tmp_path / "questions.parquet")
    monkeypatch.setattr(results, "_AT_ONCE", 3)
    write_questions(tmp_path, columns, rows)
    assert pq.read_table(tmp_path / "questions.parquet").equals(whole) and whole.to_pylist() == rows
    write_questions(tmp_path, columns, [])
    assert pq.read_table(tmp_path / "questions.parquet").schema == pa.schema(
        {"id": pa.string(), "n": pa.list_(pa.int64())}
    )


def test_added_records_share_what_they_have_in_common_and_read_the_environment_once(tmp_path, monkeypatch):
    reads = []
    monkeypatch.setattr(secrets, "_of_environment", lambda: reads.append(1) or iter(["a-secret-key"]))
    journal = Journal(tmp_path / "judgements.jsonl")
    for key in "abc":
        journal.add(
            key, id=key, judge="lexical", items=["Ada Moss"], scores=[1.0], order=[], reason="a-secret-key is it"
        )
    journal.close()
    first, second, third = journal
    assert first["items"] is second["items"] is third["items"] and first["reason"] is third["reason"] == "*** is it"
    assert len(reads) == 1
