"""The paper's numbers that the package carries, against the text of the paper where it lies beside the checkout."""

import re
from pathlib import Path

import pytest

from epbench.booksort.paper.inputs import reported_numbers
from epbench.booksort.scores.report import HUMANS

PAPER = next(iter((Path(__file__).parents[4] / "shared" / "seeds").glob("004_*.txt")), None)
needs_paper = pytest.mark.skipif(PAPER is None, reason="the text of the paper does not lie beside the checkout")
LENGTHS = ("accuracy_s20", "accuracy_s50", "accuracy_extend_s20", "accuracy_extend_s50")


def rows(table):
    return [row for row in reported_numbers() if row.table == table]


def value_and_half(cell):
    found = re.fullmatch(r"\$?([\d.]+) *(?:\\pm|±) *([\d.]+)\$?", cell)
    return (float(found[1]), float(found[2])) if found else None


def lines_of(start, end):
    """The rows of a table in the text that hold a value with its interval or a slash in the last column."""
    text = PAPER.read_text("utf-8")
    text = text[text.index(start) : text.index(end, text.index(start))]
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    return [line for line in cells if any(map(value_and_half, line))]


TABLES = {
    "Table 1": ("Table 1: Baseline", "Figure 2: Human", 11, LENGTHS[:2]),
    "Table 2": ("Table 2: Mean", "### 5.3", 10, ("accuracy", "accuracy_extend")),
    "Table 11": ("Table 11: Accuracy", "### D.3", 36, LENGTHS),
    "Table 12": ("Table 12: Accuracy", "Figure 8: Average", 54, LENGTHS),
}
"""Where each table begins and ends in the text of the paper, its number of rows, and the scores in it."""


@needs_paper
@pytest.mark.parametrize("table", TABLES)
def test_reported_values_are_those_of_the_paper(table):
    start, end, n, scores = TABLES[table]
    lines = lines_of(start, end)
    assert len(lines) == len(rows(table)) == n
    for cells, row in zip(lines, rows(table), strict=True):
        *names, model = reversed(cells[: -len(scores)]) if len(scores) == 2 else (*cells[-5:-4], cells[-6])
        assert row.model == model and row.memory == ("none" if table == "Table 1" else "in-context")
        assert row.dataset == (f"book {names[0]}" if len(scores) == 4 else "book-sort")
        assert len(scores) == 4 or all(name in row.note for name in names)
        for score, cell in zip(scores, cells[-len(scores) :], strict=True):
            if (printed := value_and_half(cell)) is None:
                assert cell == "/" and score not in row.scores
            else:
                value, half = printed
                assert row.scores[score] == value
                assert row.intervals[score] == pytest.approx([value - half, value + half])


def test_people_are_the_same_everywhere_and_those_of_the_paper():
    (people,) = rows("Figure 2")
    names = ("accuracy_s50", "accuracy_s20", "accuracy_s50.over_25000")
    assert list(HUMANS.values()) == [people.scores[name] for name in names] == [0.64, 0.56, 0.76]
    if PAPER is not None:
        text = PAPER.read_text("utf-8")
        said = text[text.index("## 5.2 HUMAN") : text.index("Table 2: Mean")]
        places = ("segments of 50 words", "segments of 20 words", "greater than 25,000 words")
        for value, where in zip(HUMANS.values(), places, strict=True):
            assert re.search(rf"{value}[^.]*{where}", said), where
        assert "155" in text


def test_settings_are_those_of_the_paper():
    found = {}
    for row in reported_numbers():
        for name, value in row.scores.items():
            found.setdefault((row.table, name.rstrip("0123456789").rstrip(".")), []).append(value)
    assert found["Table 5", "mmlu"] == [80.06, 66.60, 77.77, 72.28, 60.10, 60.07, 68.90, 45.30, 64.30]
    assert found["Table 7", "prompt"] == [4, 3, 4, 7, 8, 3, 2, 10, 7, 7]
    assert found["Table 8", "recall_at_10"] == [0.728, 0.817, 0.869, 0.875, 0.802, 0.799, 0.782, 0.865, 0.906, 0.858]
    assert found["Table 10", "reading"] == [7, 7, 3, 6]
    assert found["Appendix F.5", "accuracy"] == [0.93, 0.90, 0.88, 0.91]
