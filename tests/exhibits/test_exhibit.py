import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Missing, as_csv, marked, slug, table_picture, write_exhibits
from epbench.reports.exhibit import Column, Exhibit
from epbench.reports.figures import drawing, new_figure, svg
from epbench.reports.tables import Table
from epbench.statistics.estimate import framed
from tests.full_disk import full_disk

NASTY = "<b>x</b> | $y$ & \u202e"
RECORDS = [{"label": NASTY, "mean": 1 / 3, "n": 3}, {"label": "a,b", "mean": None, "n": 0}]


def drawn():
    figure, axes = new_figure(3, 2)
    axes.plot([0, 1], [0, 1])
    return figure


def exhibit(name="Table 3", draw=None):
    columns = [Column("label", "label", text=True), Column("mean", "mean")]
    return Exhibit(name, "What it shows", framed(RECORDS), columns, ["a note"], draw)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Table 3", "table-03"),
        ("Figure 12", "figure-12"),
        ("Table 14, chunks", "table-14-chunks"),
        ("E.8", "e-08"),
        ("Harsh F1", "harsh-f1"),
    ],
)
def test_names_of_files_sort_as_in_the_paper(name, expected):
    assert slug(name) == expected


def test_rows_that_are_not_ones_own_are_marked():
    assert (marked("m", "own"), marked("m", "released")) == ("m", "m (released)")


def test_every_exhibit_has_four_files_and_a_place_on_the_page(tmp_path):
    shown = write_exhibits(
        tmp_path, "A <paper>", [exhibit(), exhibit("Figure 4", drawn), Missing("Table 5", "People", "people")]
    )
    names = {path.name for path in tmp_path.iterdir()}
    stems = ("table-03", "figure-04")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "csv", "md", "tex")} | {
        "tables.md",
        "tables.html",
    }
    for stem in stems:
        assert ElementTree.parse(tmp_path / f"{stem}.svg").getroot().tag.endswith("svg")
    page, text = (tmp_path / "tables.html").read_text("utf-8"), (tmp_path / "tables.md").read_text("utf-8")
    assert 'id="table-03"' in page and page.count("<svg") == 1 and "<b>x" not in page and "A &lt;paper&gt;" in page
    assert "(figure-04.svg)" in text and "(table-03.svg)" not in text
    assert "needs" in page and "People" in page and "Not made" in text
    assert shown.rows == [["Table 5", "people"]] and "Table 3, Figure 4" in shown.notes[0]


def test_csv_keeps_all_digits_and_leaves_out_what_is_not_known(tmp_path):
    rows = list(csv.DictReader(io.StringIO(as_csv(exhibit()))))
    assert rows == [{"label": NASTY, "mean": repr(1 / 3), "n": "3"}, {"label": "a,b", "mean": "", "n": "0"}]


def test_the_same_exhibits_give_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        write_exhibits(tmp_path / folder, "P", [exhibit(), exhibit("Figure 4", drawn)])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_two_exhibits_of_one_name_are_refused(tmp_path):
    with pytest.raises(BadInput, match="'table-03'"):
        write_exhibits(tmp_path, "P", [exhibit(), exhibit()])


@pytest.mark.parametrize("n", [0, 1, 500])
def test_a_table_of_any_length_becomes_a_picture(n):
    with drawing():
        text = svg(table_picture(Table(["a", "b"], [[f"row {i}", str(i)] for i in range(n)])))
    assert ElementTree.fromstring(text.encode()).tag.endswith("svg")
    assert ("500 rows in all" in text) == (n == 500)


def test_a_full_disk_leaves_the_folder_as_it_was(tmp_path):
    with full_disk(3_000), pytest.raises(OSError, match="new") as error:
        write_exhibits(tmp_path / "new", "P", [exhibit(), exhibit("Figure 4", drawn)])
    assert error.value.filename == str(tmp_path / "new") and not list(tmp_path.iterdir())
    write_exhibits(tmp_path / "old", "P", [exhibit()])
    (tmp_path / "old" / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    with full_disk(3_000), pytest.raises(OSError, match="old"):
        write_exhibits(tmp_path / "old", "P2", [exhibit(), exhibit("Figure 4", drawn)])
    assert {path: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before


def test_leaderboards_are_written_too_and_come_first(tmp_path):
    write_exhibits(tmp_path, "P", [exhibit()], [exhibit("Leaderboard")])
    assert "| label | mean |" in (tmp_path / "LEADERBOARD.md").read_text("utf-8")
    page = (tmp_path / "tables.html").read_text("utf-8")
    assert page.index('id="leaderboard"') < page.index('id="table-03"')
