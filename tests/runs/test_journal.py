import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.runs.folder import open_run, read_scores, without_login, write_json, write_text
from epbench.runs.journal import Journal


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


def test_a_foreign_line_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"key": "1"}\nnot json\n{"key": "2"}\n')
    with pytest.raises(BadInput, match=r"a\.jsonl, line 2"):
        Journal(tmp_path / "a.jsonl")


def test_a_folder_is_taken_up_by_the_same_run_only(tmp_path):
    with open_run(tmp_path / "r", {"model": "a"}, {"dataset": "d"}):
        pass
    with open_run(tmp_path / "r", {"model": "a"}, {"dataset": "elsewhere"}):
        pass
    with pytest.raises(BadInput, match="its model is 'a', 'b' expected"), open_run(tmp_path / "r", {"model": "b"}, {}):
        pass
    assert json.loads((tmp_path / "r/run.json").read_text())["dataset"] == "d"


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="other files"), open_run(tmp_path, {}, {}):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_two_processes_do_not_share_a_folder(tmp_path):
    with (
        open_run(tmp_path / "r", {}, {}),
        pytest.raises(BadInput, match="another process"),
        open_run(tmp_path / "r", {}, {}),
    ):
        pass


def test_files_appear_whole(tmp_path):
    write_text(tmp_path / "deep/a.txt", "one")
    with pytest.raises(TypeError):
        write_json(tmp_path / "deep/a.txt", {"x": Path})
    with pytest.raises(ValueError):
        write_json(tmp_path / "deep/a.txt", {"x": float("nan")})
    assert (tmp_path / "deep/a.txt").read_text() == "one"
    assert len(list((tmp_path / "deep").iterdir())) == 1


def test_a_folder_without_scores_is_told(tmp_path):
    with pytest.raises(BadInput, match="no scores.json"):
        read_scores(tmp_path)


def test_what_a_killed_writer_left_does_not_stand_in_the_way(tmp_path):
    (tmp_path / "r/.run.json-abc.scratch").mkdir(parents=True)
    (tmp_path / "r/.run.json-abc.scratch/run.json").write_text("{")
    with open_run(tmp_path / "r", {"model": "a"}, {}):
        pass
    assert sorted(p.name for p in (tmp_path / "r").iterdir() if p.name != ".lock") == ["run.json"]


def test_no_login_goes_into_a_file():
    assert without_login("--base-url http://me:secret@host:1/v1 --out a@b") == "--base-url http://host:1/v1 --out a@b"
