"""A declared table: one frame gives the screen, Markdown, HTML, CSV, LaTeX and the picture; and all of them in a folder."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from epbench.errors import BadInput
from epbench.reports.exhibit import (
    Column,
    Exhibit,
    Missing,
    as_csv,
    columns_of,
    interval,
    marked,
    mean_interval,
    mean_margin,
    mean_sd,
    of_source,
    p_value,
    slug,
    write_exhibits,
)
from epbench.reports.figures import drawing, new_figure, svg, table_picture
from epbench.reports.plots import bars, grouped, legend, lines, panels, points, rates
from epbench.reports.tables import Table
from epbench.statistics.estimate import TESTED, Estimate, corrected, estimate, framed
from tests.full_disk import full_disk

pytestmark = pytest.mark.usefixtures("drawn_pictures")
ESTIMATES = [
    ("a", "own", 20, Estimate(40, 0, 0.9, 0.3, 0.85, 0.95, p=0.001, p_holm=0.002)),
    ("a", "own", 50, Estimate(30, 10, lowest=0.25, highest=0.5)),
    ("b_c", "reported", 50, Estimate(None, None, 0.5)),
]
ABOUT = ("label", "source", "words")
FRAME = framed(dict(zip(ABOUT, about, strict=True)) | one.columns(*TESTED) for *about, one in ESTIMATES)


def table_of(**more):
    spread = {"{} words": mean_margin(), "{} words: p": p_value(), "{} words: n": "n"}
    columns = columns_of({"run": of_source(), **spread}, 1)
    return Exhibit("Table 1", "What it shows", FRAME, columns, ["a note"], across="words", sections="source", **more)


def test_values_stand_side_by_side_and_rows_of_one_run_are_one():
    table = table_of(names={20: "twenty"}).table
    twenty, fifty = ([f"{number} words{what}" for what in ("", ": p", ": n")] for number in ("twenty", 50))
    assert table.head == ["run", *twenty, *fifty]
    assert table.rows == [
        ["a", "0.900 ± 0.050", "0.002**", "40", "0.25–0.50 (incomplete)", "–", "30"],
        ["b_c (reported)", "–", "–", "–", "0.500", "–", "–"],
    ]
    assert (table.sections, table.text_columns, list(table.notes)) == ([0], 1, ["a note"])


def test_without_values_side_by_side_each_row_of_the_frame_is_a_row():
    columns = [Column("run", "label", text=True), Column("F1", mean_sd()), Column("95 %", interval(digits=2))]
    rows = Exhibit("Table 2", "t", FRAME, columns).table.rows
    assert rows == [["a", "0.90 ± 0.30", "0.85–0.95"], ["a", "0.25–0.50*", "–"], ["b_c", "0.50", "–"]]
    assert [mean_interval()(row) for row in table_of().records] == ["0.900 (0.85–0.95)", "0.250 to 0.500", "0.500"]


def test_a_margin_reaches_to_the_farther_end():
    assert mean_margin()({"mean": 1.0, "low": 0.158, "high": 1.0}) == "1.000 ± 0.842"


def test_points_are_the_csv_of_a_figure_whose_table_sums_them_up():
    found = Exhibit("Figure 1", "t", FRAME, [Column("run", "label", text=True)], points=framed([{"x": 1}, {"x": None}]))
    assert as_csv(found) == 'x\n1\n""\n' and len(found.table.rows) == len(FRAME)


def test_rows_that_people_see_alike_are_all_shown():
    twice = framed([*table_of().records, *table_of().records])
    shown = Exhibit("Table 1", "t", twice, table_of().columns, across="words").table
    assert sorted(shown.rows) == sorted([*table_of().table.rows, *table_of().table.rows])


def test_every_format_comes_from_the_frame(tmp_path):
    write_exhibits(tmp_path, "A paper", [table_of()])
    made = {path.suffix for path in tmp_path.iterdir() if path.stem == "table-01"}
    assert made == {".svg", ".csv", ".md", ".tex"}
    latex = (tmp_path / "table-01.tex").read_text("utf-8")
    assert r"b\_c (reported)" in latex and r"0.900 $\pm$ 0.050" in latex and r"\toprule" in latex
    assert r"\label{tab:table-01}" in latex and "a note" in latex
    assert as_csv(table_of()).splitlines()[2] == "a,own,50,,,,,0.25,0.5,30,10,,"


@pytest.mark.slow
def test_figures_draw_intervals_ranges_and_stars_and_the_same_bytes_each_time():
    rows = table_of().records

    def drawn():
        figure, (left, right) = panels(["lines", "bars"])
        lines(left, rows, "words", "label")
        rates(left, "words", words=True)
        bars(right, rows, "words", "label")
        legend(figure)
        return figure

    with drawing():
        first, second, forest = svg(drawn()), svg(drawn()), svg(points(rows, "words", "label", "accuracy", guess=0.5))
    assert first == second and "**" in first and "b_c" in first and "b_c" in forest
    assert list(grouped(rows, "label")) == ["a", "b_c"]


def test_an_estimate_with_failed_questions_is_a_range():
    import pandas as pd

    frame = pd.DataFrame({"right": [1.0, 0.0, None, 1.0]})
    ranged = {"lowest": 0.5, "highest": 0.75, "mean": None, "n": 3, "n_failed": 1}
    assert estimate(frame, "right").columns(*ranged) == ranged
    how = {"interval": lambda values, _: (min(values), max(values)), "test": lambda rows: (0.02, len(rows))}
    whole = estimate(frame.dropna(), "right", **how, smallest=lambda n: 1 / n)
    assert (whole.mean, whole.low, whole.high, whole.p, whole.units) == (pytest.approx(2 / 3), 0.0, 1.0, 0.02, 3)
    assert [one.p_holm for one in corrected([whole, Estimate(), whole])] == [0.04, None, 0.04]


# In a folder

NASTY = "<b>x</b> | $y$ & \u202e"
RECORDS = [{"label": NASTY, "mean": 1 / 3, "n": 3}, {"label": "a,b", "mean": None, "n": 0}]


def drawn():
    figure, axes = new_figure(3, 2)
    axes.plot([0, 1], [0, 1])
    return figure


def nasty(name="Table 3", draw=None):
    columns = [Column("label", "label", text=True), Column("mean", "mean")]
    return Exhibit(name, "What it shows", framed(RECORDS), columns, ["a note"], draw)


def test_names_of_files_sort_as_in_the_paper_and_rows_that_are_not_ones_own_are_marked():
    names = ("Table 3", "Figure 12", "Table 14, chunks", "E.8", "Harsh F1")
    assert list(map(slug, names)) == ["table-03", "figure-12", "table-14-chunks", "e-08", "harsh-f1"]
    assert (marked("m", "own"), marked("m", "released")) == ("m", "m (released)")


def test_every_exhibit_has_four_files_a_place_on_the_page_and_the_same_bytes_each_time(tmp_path):
    exhibits = [nasty(), nasty("Figure 4", drawn), Missing("Table 5", "People", "people")]
    for folder in ("a", "b"):
        shown = write_exhibits(tmp_path / folder, "A <paper>", exhibits, [nasty("Leaderboard")])
    out = tmp_path / "a"
    for path in out.iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    stems, pages = ("leaderboard", "table-03", "figure-04"), {"tables.md", "tables.html", "LEADERBOARD.md"}
    parts = {f"{stem}.{kind}" for stem in stems for kind in ("svg", "csv", "md", "tex")}
    assert {path.name for path in out.iterdir()} == parts | pages
    for stem in stems:
        assert ElementTree.parse(out / f"{stem}.svg").getroot().tag.endswith("svg")
    page, text = (out / "tables.html").read_text("utf-8"), (out / "tables.md").read_text("utf-8")
    assert page.index('id="leaderboard"') < page.index('id="table-03"') and page.count("<svg") == 1
    assert "<b>x" not in page and "A &lt;paper&gt;" in page
    assert "(figure-04.svg)" in text and "(table-03.svg)" not in text
    assert "needs" in page and "People" in page and "Not made" in text
    assert shown.rows == [["Table 5", "people"]] and "Table 3, Figure 4" in shown.notes[0]
    assert "| label | mean |" in (out / "LEADERBOARD.md").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO((out / "table-03.csv").read_text("utf-8"))))  # with all digits
    assert rows == [{"label": NASTY, "mean": repr(1 / 3), "n": "3"}, {"label": "a,b", "mean": "", "n": "0"}]


def test_two_exhibits_of_one_name_are_refused(tmp_path):
    with pytest.raises(BadInput, match="'table-03'"):
        write_exhibits(tmp_path, "P", [nasty(), nasty()])


@pytest.mark.parametrize("n", [0, 1, 500])
def test_a_table_of_any_length_becomes_a_picture(n):
    with drawing():
        text = svg(table_picture(Table(["a", "b"], [[f"row {i}", str(i)] for i in range(n)])))
    assert ElementTree.fromstring(text.encode()).tag.endswith("svg")
    assert ("500 rows in all" in text) == (n == 500)


def test_a_full_disk_leaves_the_folder_as_it_was(tmp_path):
    with full_disk(3_000), pytest.raises(OSError, match="new") as error:
        write_exhibits(tmp_path / "new", "P", [nasty(), nasty("Figure 4", drawn)])
    assert error.value.filename == str(tmp_path / "new") and not list(tmp_path.iterdir())
    write_exhibits(tmp_path / "old", "P", [nasty()])
    (tmp_path / "old" / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    with full_disk(3_000), pytest.raises(OSError, match="old"):
        write_exhibits(tmp_path / "old", "P2", [nasty(), nasty("Figure 4", drawn)])
    assert {path: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before
