"""Heat maps of p-values: every cell in its place, and what is below the threshold marked without colour."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from epbench.reports.figures import drawing, svg
from epbench.reports.matrices import p_matrix, p_matrix_figure

pytestmark = pytest.mark.usefixtures("pictures_with_layout")

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


def test_marks_need_no_colour():
    names = ["a", "b"]
    marked, plain = (
        next(element for element in drawn(p_matrix(names, [[None, p], [p, None]], "")) if element.text not in names)
        for p in (0.0499, 0.05)
    )
    assert marked.text == "0.050*" and "700" in marked.get("style")
    assert plain.text == "0.050" and "700" not in plain.get("style")
    strict = p_matrix(names, [[None, 0.0499], [0.001, None]], "", threshold=0.01)
    assert cells_by_place(strict, names) == [["0.050"], ["0.0010*"]] and "p &lt; 0.01." in strict


def test_values_that_are_missing_are_dashes():
    names = ["a", "b"]
    assert cells_by_place(p_matrix(names, [[None, None], [0.5, None]], ""), names) == [["–"], ["0.50"]]
    assert cells_by_place(p_matrix(names, [[None, None], [None, None]], ""), names) == [["–"], ["–"]]


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


def test_a_matrix_is_the_same_each_time_and_has_a_place_for_each_name():
    p = [[None, 0.5], [0.5, None]]
    assert p_matrix(["a", "b"], p, "x") == p_matrix(["a", "b"], p, "x")
    for wrong in ([[None, 0.5]], [[None], [0.5]], []):
        with pytest.raises(ValueError, match="expected 2 rows and columns"):
            p_matrix(["a", "b"], wrong, "x")


def test_corrected_p_values_decide_which_cells_are_marked():
    plain, corrected = [[None, 0.01], [0.04, None]], [[None, 0.02], [0.08, None]]
    with drawing():
        picture = svg(p_matrix_figure(["a", "b"], plain, corrected=corrected))
    assert ">0.010*<" in picture and ">0.040<" in picture
    with pytest.raises(ValueError, match="expected 2 rows and columns"):
        p_matrix_figure(["a", "b"], plain, corrected=[[None]])
