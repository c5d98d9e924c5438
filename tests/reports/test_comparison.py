"""The tables and the page of runs that are compared question by question."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from epbench.reports.comparison import (
    between_parts,
    comparison_page,
    comparison_tables,
    memory_of,
    p_matrix,
    p_matrix_figure,
    point,
)
from epbench.reports.figures import drawing, svg
from epbench.statistics.paired import Comparison, compare_two, with_holm

A, B, C = ({q: float(n >> q & 1) for q in range(12)} for n in (0xFFF, 0x0F0, 0x0FF))
RATIO = {"n": 12, "difference": 0.5, "interval": (0.25, 0.75), "p": 0.01, "p_less": 0.99}
NAMES = ["a", "b", "c"]


def pair(one, other, values, outcomes=True, **more):
    return compare_two((one, other), values, cluster_of=lambda q: q // 2, outcomes=outcomes) | more


def compared(**more):
    found = [pair("a", "b", [A, B], **more), pair("a", "c", [A, C], **more), pair("b", "c", [B, C], **more)]
    return Comparison("accuracy", with_holm(found))


def figures(html):
    return re.findall(r"<figure>.*?</figure>", html, re.S)


@pytest.mark.slow
def test_a_row_for_each_comparison():
    (table,) = comparison_tables(compared())
    head = "runs | n | accuracy | difference, 95 % interval | better / equal / worse | p | p (Holm) | p (chi-square)"
    assert " | ".join(table.head) == head
    assert table.rows[0][:3] == ("a / b", "12", "1.000 / 0.333") and table.rows[0][5:] == ("0.0078", "0.023", "0.013")
    assert table.rows[2][4:6] == ("0 / 8 / 4", "0.12")
    (f1,) = comparison_tables(Comparison("F1", with_holm([pair("a", "b", [A, B], outcomes=False)])))
    assert "p (chi-square)" not in f1.head and "p (Holm)" not in f1.head and f1.head[2] == "F1"


def test_log_ratios_have_a_table_of_their_own():
    same = RATIO | {"difference": 0.0, "interval": (0.0, 0.0), "p": None, "p_less": None}
    ratios = [RATIO | {"p_holm": 0.02, "p_less_holm": 1.0}, same | {"p_holm": None, "p_less_holm": None}, None]
    found = [one | {"log_ratio": ratio} for one, ratio in zip(compared().pairs, ratios, strict=True)]
    _, table = comparison_tables(Comparison("accuracy", found))
    assert table.head[3] == "p (log ratio), higher / lower" and "in nats" in table.title
    assert table.rows == [
        ["a / b", "12", "+0.500 (+0.250 to +0.750)", "0.01 / 0.99", "0.02 / 1"],
        ["a / c", "12", "+0.000 (+0.000 to +0.000)", "– / –", "– / –"],
        ["b / c", "–", "–", "–", "–"],
    ]
    *_, plain, corrected = figures(comparison_page("x", Comparison("accuracy", found)))
    assert cells_by_place(plain, NAMES) == [["0.010*", "–"], ["0.99", "–"], ["–", "–"]]
    assert cells_by_place(corrected, NAMES) == [["0.020*", "–"], ["1.0", "–"], ["–", "–"]]
    assert "row has a higher log ratio" in plain


def test_the_page_shows_any_two_runs_symmetrically():
    comparison = compared()
    html = comparison_page("<title>", comparison)
    exact, chi_square, holm = figures(html)
    assert cells_by_place(exact, NAMES) == [["0.0078*", "0.12"], ["0.0078*", "0.12"], ["0.12", "0.12"]]
    assert cells_by_place(chi_square, NAMES)[0] == ["0.013*", "0.13"]
    assert cells_by_place(holm, NAMES)[0] == ["0.023*", "0.25"]
    assert "McNemar&#x27;s exact test" in exact and "continuity correction" in chi_square and "by Holm" in holm
    assert html.count("<details>") == 2 and "&lt;title&gt;" in html and "<td>a / b</td>" in html
    assert "log ratio" not in html and "trust the interval" in html


@pytest.mark.slow
def test_other_scores_have_their_own_test_and_several_settings_no_figures():
    f1 = with_holm([pair("a", "b", [A, B], outcomes=False)])
    shown = figures(comparison_page("x", Comparison("F1", f1)))
    assert len(shown) == 2 and "Wilcoxon" in shown[0] and "chi-square" not in "".join(shown)
    found = [one | {"config": "easy", "k": k} for k in (2, 5) for one in compared().pairs[:1]]
    html = comparison_page("x", Comparison("success", found, left_out=["only a has <k>"]))
    assert not figures(html) and "only a has &lt;k&gt;" in html and "easy, 5" in html
    assert len(figures(comparison_page("x", Comparison("success", found[:1])))) == 3


pytestmark = pytest.mark.usefixtures("drawn_pictures")

SVG = "{http://www.w3.org/2000/svg}"


def drawn(html):
    """The text elements of the SVG in an HTML figure."""
    root = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    return [element for element in root.iter(f"{SVG}text") if (element.text or "").strip()]


def place_of(element):
    """Where a text is, in points from the left and from the top."""
    if "x" in element.attrib:
        return float(element.get("x")), float(element.get("y"))
    x, y = re.search(r"translate\(([\d.]+) ([\d.]+)\)", element.get("transform")).groups()
    return float(x), float(y)


def cells_by_place(html, names):
    """The texts that are no names, row by row from the top and each row from the left."""
    rows = {}
    for element in drawn(html):
        if element.text not in names:
            x, y = place_of(element)
            rows.setdefault(round(y), []).append((x, element.text))
    return [[text for _, text in sorted(rows[y])] for y in sorted(rows)]


def test_cells_are_in_their_rows_and_columns():
    names = ["one", "two", "three"]
    p = [[None, 0.25, 0.0123], [0.75, None, 1.0], [0.98765, 0.00012, None]]
    html = p_matrix(names, p, "What <it> is.")
    assert cells_by_place(html, names) == [["0.25", "0.012*"], ["0.75", "1.0"], ["0.99", "<0.001*"]]
    assert html.startswith("<figure><svg") and "<image" not in html  # lines and texts, no bitmap
    assert "<figcaption>What &lt;it&gt; is. Bold with an asterisk: p &lt; 0.05.</figcaption>" in html
    rows = sorted((e for e in drawn(html) if e.text in names), key=lambda e: place_of(e)[1])[3:]
    assert [element.text for element in rows] == names  # from top to bottom, below the names of the columns


def test_marks_need_no_colour_and_missing_values_are_dashes():
    names = ["a", "b"]
    for p, text, bold in ((0.0499, "0.050*", True), (0.05, "0.050", False)):
        (cell, *_) = [one for one in drawn(p_matrix(names, [[None, p], [p, None]], "")) if one.text not in names]
        assert cell.text == text and ("700" in cell.get("style")) == bold
    assert cells_by_place(p_matrix(names, [[None, None], [0.5, None]], ""), names) == [["–"], ["0.50"]]


def test_many_runs_and_long_names_do_not_overlap():
    names = [f"$books_{i}, epoch {i} of a long name" for i in range(14)]
    html = p_matrix(names, [[None if i == j else 0.0123 for j in range(14)] for i in range(14)], "")
    assert [len(row) for row in cells_by_place(html, names)] == [13] * 14
    assert all(html.count(f">{name}</text>") == 2 for name in names)  # a row and a column, `$` and all
    cells = [place_of(element) for element in drawn(html) if element.text == "0.012*"]
    columns, rows = (sorted({round(place[axis]) for place in cells}) for axis in (0, 1))
    assert min(b - a for a, b in pairwise(columns)) >= 35  # points: six digits of eight points
    assert min(b - a for a, b in pairwise(rows)) >= 14
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', html).groups())
    assert all(0 <= x <= width and 0 <= y <= height for x, y in map(place_of, drawn(html)))


def test_a_matrix_is_the_same_each_time_and_corrected_values_decide_what_is_marked():
    plain, corrected = [[None, 0.01], [0.04, None]], [[None, 0.02], [0.08, None]]
    assert p_matrix(["a", "b"], plain, "x") == p_matrix(["a", "b"], plain, "x")
    with drawing():
        picture = svg(p_matrix_figure(["a", "b"], plain, corrected=corrected))
    assert ">0.010*<" in picture and ">0.040<" in picture


def run(between, system="mem0", **more):
    return {"system": system, "model": "m", **({"between": between} if between else {}), **more}


def test_runs_that_differ_in_tokens_give_a_curve_for_each_memory():
    points = [point(run(n), 0.9 - n / 10_000, [0.5, 0.95]) for n in (5000, 0)]
    points.append(point(run(0, "none"), None, None, [0.25, 0.5]))
    page, numbers = between_parts(points, "success")
    assert page.count("<svg") == 1 and "tokens of unrelated text" in page and "<td>mem0, m</td>" in page
    assert "| mem0, m | 0.900 | 0.400 |" in numbers and "| none, m | 0.250–0.500 (incomplete) | – |" in numbers
    assert between_parts(points[1:], "success") == ("", "")


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ({"memory": "in-context"}, "in-context"),
        ({"memory": "in-context", "between": 5000}, "in-context, after 5,000 tokens"),
        ({"memory": "mem0", "stored": "book", "between": 9}, "mem0 (whole books), after 9 tokens"),
        (run(0), "mem0"),
        ({}, ""),
    ],
)
def test_a_run_after_unrelated_text_has_a_memory_of_its_own(identity, name):
    assert memory_of(identity) == name
