"""The journals of a folder that this process has to itself: each is read once, and follows what is added."""

import json

import pytest

from epbench.errors import BadInput, RunFailed
from epbench.runs.folder import open_run
from epbench.runs.journal import Journal, kept_journals, read_journal
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


def test_another_writer_is_noticed_in_a_folder_of_ones_own(journal):
    with kept_journals(journal.parent):
        mine = Journal(journal)
        with journal.open("a") as theirs:
            theirs.write("rn\n")
        with pytest.raises(RunFailed, match="another process is writing to it"):
            mine.add("9", n=9)


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
