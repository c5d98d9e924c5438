import pytest

from epbench.errors import BadInput
from epbench.runs.checksums import changed_since, write_checksums


@pytest.fixture
def run(tmp_path):
    for name, text in (("a.jsonl", "1\n2\n"), ("scores.json", "{}"), (".lock", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "stores").mkdir()
    write_checksums(tmp_path)
    return tmp_path


def test_nothing_has_changed(run):
    (run / ".lock").write_text("x")
    (run / "stores/b").write_text("x")
    assert changed_since(run) == {}


def test_each_change_is_told_by_file(run):
    (run / "scores.json").write_text("{} ")
    (run / "b.txt").write_text("")
    assert changed_since(run) == {"b.txt": "new", "scores.json": "changed"}
    (run / "scores.json").unlink()
    assert changed_since(run)["scores.json"] == "missing"


@pytest.mark.parametrize(
    ("text", "how"), [("1\n2\n3\n", "grown"), ("1\n3\n", "changed"), ("1\n", "changed"), ("2\n1\n3\n", "changed")]
)
def test_a_journal_may_grow_and_nothing_else(run, text, how):
    (run / "a.jsonl").write_text(text)
    assert changed_since(run) == {"a.jsonl": how}


def test_a_run_without_hashes_has_none_and_damaged_ones_are_refused(run):
    (run / "checksums.json").write_text('{"sha256": []}')
    with pytest.raises(BadInput, match="sha256"):
        changed_since(run)
    (run / "checksums.json").unlink()
    assert changed_since(run) is None
