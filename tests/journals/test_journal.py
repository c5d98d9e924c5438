import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.errors import RunFailed
from epbench.files.json_files import write_json
from epbench.files.writing import write_text
from epbench.journals.journal import Journal, read_journal
from epbench.runs.folder import open_run
from epbench.runs.merge import join_journals
from tests.full_disk import full_disk
from tests.refusals import refusal


def test_records_come_back_and_failures_are_not_done(tmp_path):
    journal = Journal(tmp_path / "a.jsonl")
    journal.add("1", answer="naïve\nline")
    journal.add("2", failure="timeout")
    journal.close()
    again = Journal(tmp_path / "a.jsonl")
    assert again.records["1"]["answer"] == "naïve\nline"
    assert again.done("1") and not again.done("2") and not again.done("3")
    again.add("2", answer="late")
    assert again.done("2")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.lists(st.text(max_size=20), min_size=1, max_size=6))
def test_a_journal_cut_at_any_byte_keeps_every_whole_record(tmp_path_factory, cut, answers):
    path = tmp_path_factory.mktemp("journal") / "a.jsonl"
    journal = Journal(path)
    for i, answer in enumerate(answers):
        journal.add(str(i), answer=answer)
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    journal = Journal(path)
    assert list(journal.records) == [str(i) for i in range(kept)]
    journal.add("new", answer="x")
    journal.close()
    assert [json.loads(line)["key"] for line in path.read_bytes().splitlines()] == [*map(str, range(kept)), "new"]


def test_files_appear_whole(tmp_path):
    write_text(tmp_path / "deep/a.txt", "one")
    with pytest.raises(TypeError):
        write_json(tmp_path / "deep/a.txt", {"x": Path})
    with pytest.raises(ValueError):
        write_json(tmp_path / "deep/a.txt", {"x": float("nan")})
    assert (tmp_path / "deep/a.txt").read_text() == "one"
    assert len(list((tmp_path / "deep").iterdir())) == 1


def test_what_a_killed_writer_left_does_not_stand_in_the_way(tmp_path):
    (tmp_path / "r/.run.json-abc.scratch").mkdir(parents=True)
    (tmp_path / "r/.run.json-abc.scratch/run.json").write_text("{")
    with open_run(tmp_path / "r", {"model": "a"}, {}):
        pass
    assert sorted(p.name for p in (tmp_path / "r").iterdir() if p.name != ".lock") == ["run.json"]


def test_reading_a_journal_changes_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    torn = b'{"key": "1", "answer": "x"}\n{"key": "2", "ans'
    path.write_bytes(torn)
    assert list(read_journal(path)) == ["1"]
    Journal(path).close()
    assert path.read_bytes() == torn
    assert read_journal(tmp_path / "missing.jsonl") == {} and not (tmp_path / "missing.jsonl").exists()


_WRITER = """
import sys
from pathlib import Path
from epbench.journals.journal import Journal
journal = Journal(Path(sys.argv[1]))
for i in range(3000):
    journal.add(str(i), answer="x" * (i % 500))
"""


def test_a_journal_that_is_read_while_it_is_written_loses_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)])
    seen = [0]
    while writer.poll() is None:
        seen.append(len(read_journal(path)))
    assert writer.returncode == 0
    assert seen == sorted(seen)
    assert list(read_journal(path)) == [str(i) for i in range(3000)]


def test_two_writers_are_found_out_before_anything_is_cut_off(tmp_path):
    path = tmp_path / "a.jsonl"
    late = Journal(path)
    early = Journal(path)
    early.add("1", answer="x")
    with pytest.raises(RunFailed, match="another process is writing"):
        late.add("2", answer="y")
    assert list(read_journal(path)) == ["1"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(codec=None), max_size=10), min_size=1, max_size=5))
@example(["a \ud83d b", "a\u2028b\x85c\x1dd"])
def test_any_text_can_be_journaled(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("journal") / "a.jsonl"
    journal = Journal(path)
    for i, text in enumerate(texts):
        journal.add(str(i), answer=text, more={"nested": [text]})
    journal.close()
    path.read_text("utf-8")
    kept = read_journal(path)
    assert kept == journal.records
    for record, text in zip(kept.values(), texts, strict=True):
        assert record["answer"] == re.sub("[\ud800-\udfff]", "\ufffd", text) == record["more"]["nested"][0]


def test_a_record_that_was_not_written_whole_is_taken_back_and_the_file_named(tmp_path):
    path = tmp_path / "a.jsonl"
    journal = Journal(path)
    journal.add("1", answer="x")
    for key in "23":
        with full_disk(100), pytest.raises(OSError, match="of a record could be written") as error:
            journal.add(key, answer="y" * 500)
        assert error.value.filename == str(path)
    assert list(read_journal(path)) == ["1"] and path.read_bytes().endswith(b"\n")
    again = Journal(path)
    again.add("2", answer="z")
    assert list(read_journal(path)) == ["1", "2"]


@pytest.mark.parametrize("line", ["not json", "[]", "7", '{"id": "x"}', '{"key": 7}', "[" * 100_000, "\x85"])
def test_a_line_that_is_no_record_is_one_clear_error(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f'{{"key": "1"}}\n{line}\n', "utf-8")
    for read in (read_journal, Journal):
        assert "a.jsonl, line 2: expected a JSON object with a key" in refusal(read, tmp_path / "a.jsonl")


def test_a_shard_at_work_is_not_merged(tmp_path):
    (tmp_path / "whole").mkdir()
    with open_run(tmp_path / "part", {}, {}):
        journal = Journal(tmp_path / "part/answers.jsonl")
        journal.add("1", id="q", repeat=0, answer="x")
        with pytest.raises(BadInput, match="another process is at work"):
            join_journals([tmp_path / "part"], tmp_path / "whole", ["answers.jsonl"])
    join_journals([tmp_path / "part"], tmp_path / "whole", ["answers.jsonl", "judgements.jsonl"])
    assert list(read_journal(tmp_path / "whole/answers.jsonl")) == ["1"]
    assert not (tmp_path / "whole/judgements.jsonl").exists()
