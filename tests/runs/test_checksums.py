import pytest

from epbench.runs.checksums import changed_since, write_checksums
from tests.refusals import refusal


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        (".lock", "x", {}),
        ("stores/b", "x", {}),
        ("b.txt", "", {"b.txt": "new"}),
        ("scores.json", "{} ", {"scores.json": "changed"}),
        ("scores.json", None, {"scores.json": "missing"}),
        ("a.jsonl", "1\n2\n3\n", {"a.jsonl": "grown"}),
        ("a.jsonl", "1\n3\n", {"a.jsonl": "changed"}),
        ("a.jsonl", "1\n", {"a.jsonl": "changed"}),
        ("a.jsonl", "2\n1\n3\n", {"a.jsonl": "changed"}),
        ("checksums.json", None, None),
    ],
)
def test_each_change_is_told_by_file(tmp_path, file, text, changed):
    for name, before in (("a.jsonl", "1\n2\n"), ("scores.json", "{}"), (".lock", "")):
        (tmp_path / name).write_text(before)
    (tmp_path / "stores").mkdir()
    write_checksums(tmp_path)
    (tmp_path / file).write_text(text or "")
    if text is None:
        (tmp_path / file).unlink()
    assert changed_since(tmp_path) == changed


def test_damaged_hashes_are_refused(tmp_path):
    (tmp_path / "checksums.json").write_text('{"sha256": []}')
    assert "sha256" in refusal(changed_since, tmp_path)
