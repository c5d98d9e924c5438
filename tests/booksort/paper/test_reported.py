"""The paper's numbers that the package carries, against the text of the paper where it lies beside the checkout."""

import re
from pathlib import Path

import pytest

from epbench.booksort.paper.inputs import reported_numbers
from epbench.booksort.scores.report import HUMANS

_BESIDE = Path(__file__).parents[4] / "shared" / "seeds"
PAPER = next(iter(_BESIDE.glob("004_*.txt")), None)
needs_paper = pytest.mark.skipif(PAPER is None, reason="the text of the paper does not lie beside the checkout")


def rows(table):
    return [row for row in reported_numbers() if row.table == table]


def between(start, end):
    text = PAPER.read_text("utf-8")
    return text[text.index(start) : text.index(end, text.index(start))]


def cells_of(text):
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]


def value_and_half(cell):
    found = re.fullmatch(r"\$?([\d.]+) *(?:\\pm|±) *([\d.]+)\$?", cell)
    return (float(found[1]), float(found[2])) if found else None


def check(row, score, cell):
    expected = value_and_half(cell)
    if expected is None:
        assert cell == "/" and score not in row.scores
        return
    value, half = expected
    assert row.scores[score] == value
    assert row.intervals[score] == pytest.approx([value - half, value + half])


@needs_paper
def test_table_1():
    lines = [cells for cells in cells_of(between("Table 1: Baseline", "Figure 2: Human")) if value_and_half(cells[1])]
    assert [cells[0] for cells in lines] == [row.model for row in rows("Table 1")] and len(lines) == 11
    for cells, row in zip(lines, rows("Table 1"), strict=True):
        check(row, "accuracy_s20", cells[1])
        check(row, "accuracy_s50", cells[2])
        assert (row.memory, row.dataset) == ("none", "book-sort")


@needs_paper
def test_table_2():
    lines = [cells for cells in cells_of(between("Table 2: Mean", "### 5.3")) if value_and_half(cells[3])]
    assert [cells[0] for cells in lines] == [row.model for row in rows("Table 2")] and len(lines) == 10
    for cells, row in zip(lines, rows("Table 2"), strict=True):
        check(row, "accuracy", cells[3])
        check(row, "accuracy_extend", cells[4])
        assert cells[1] in row.note and cells[2] in row.note and row.memory == "in-context"


@needs_paper
@pytest.mark.parametrize(("table", "start", "end", "n"), [
    ("Table 11", "Table 11: Accuracy", "### D.3", 36), ("Table 12", "Table 12: Accuracy", "Figure 8: Average", 54),
])  # fmt: skip
def test_tables_11_and_12(table, start, end, n):
    lines = [cells[-6:] for cells in cells_of(between(start, end)) if len(cells) >= 6 and cells[-5].isdigit()]
    assert len(lines) == len(rows(table)) == n
    for cells, row in zip(lines, rows(table), strict=True):
        assert (row.model, row.dataset) == (cells[0], f"book {cells[1]}")
        for score, cell in zip(
            ("accuracy_s20", "accuracy_s50", "accuracy_extend_s20", "accuracy_extend_s50"), cells[2:], strict=True
        ):
            check(row, score, cell)


@needs_paper
def test_people():
    text = between("## 5.2 HUMAN", "Table 2: Mean")
    for value, where in (
        (0.64, "segments of 50 words"),
        (0.56, "segments of 20 words"),
        (0.76, "greater than 25,000 words"),
    ):
        assert re.search(rf"{value}[^.]*{where}", text), where
    assert "155" in PAPER.read_text("utf-8")


def test_people_are_the_same_everywhere():
    (people,) = rows("Figure 2")
    assert list(HUMANS.values()) == [
        people.scores[name] for name in ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")
    ]


def test_settings_are_those_of_the_paper():
    found = {}
    for row in reported_numbers():
        for name, value in row.scores.items():
            found.setdefault((row.table, name.rstrip("0123456789").rstrip(".")), []).append(value)
    assert found["Table 5", "mmlu"] == [80.06, 66.60, 77.77, 72.28, 60.10, 60.07, 68.90, 45.30, 64.30]
    assert found["Table 7", "prompt"] == [4, 3, 4, 7, 8, 3, 2, 10, 7, 7]
    assert found["Table 8", "recall_at_10"] == [
        0.728, 0.817, 0.869, 0.875, 0.802, 0.799, 0.782, 0.865, 0.906, 0.858,
    ]  # fmt: skip
    assert found["Table 10", "reading"] == [7, 7, 3, 6]
    assert found["Appendix F.5", "accuracy"] == [0.93, 0.90, 0.88, 0.91]
