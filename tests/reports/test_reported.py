import json

import pytest

from epbench.errors import BadInput
from epbench.reports.reported import read_reported

ROW = {"dataset": "long", "model": "m", "memory": "in-context", "scores": {"latest": 0.5}, "counts": {"latest": 39}}
FILE = {"benchmark": "tulving", "tables": [{"source": "A paper", "table": "Table 4", "rows": [ROW]}]}


def write(tmp_path, content):
    path = tmp_path / "reported.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_rows_name_their_source(tmp_path):
    (row,) = read_reported(write(tmp_path, FILE), "tulving")
    assert (row.source, row.table, row.model, row.scores["latest"]) == ("A paper", "Table 4", "m", 0.5)
    assert row.counts == {"latest": 39} and row.deviations == {} and row.note == ""


def file_of(**scores):
    return {**FILE, "tables": [{"source": "A", "table": "T", "rows": [{**ROW, "scores": scores}]}]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "reported.json"),
        ({"benchmark": "tulving"}, "tables"),
        (FILE | {"benchmark": "booksort"}, "booksort"),
        (file_of(latest="high"), "latest"),
        (file_of(x=float("nan")), "reported"),
        ({**FILE, "tables": [{"table": "T", "rows": [ROW]}]}, "source"),
    ],
)
def test_other_files_are_refused_with_one_line(tmp_path, content, said):
    with pytest.raises(BadInput, match=said) as caught:
        read_reported(write(tmp_path, content), "tulving")
    assert "\n" not in str(caught.value)
