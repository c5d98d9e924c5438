"""The shipped numbers of the paper and of its README, cell by cell against their texts where these lie beside the checkout."""

import json

import pytest

from epbench.files.packaged import packaged
from epbench.reports.reported import read_reported
from epbench.tulving.paper.inputs import MEMORIES, size_of
from tests.tulving.paper.seed_tables import SEEDS, leaderboard, paper_tables

FILE = packaged("epbench.tulving") / "reported.json"
PAPER, README = (next(iter(SEEDS.glob(f"{number}_*.txt")), None) for number in ("000", "001"))
needs_texts = pytest.mark.skipif(
    not PAPER or not README, reason="the texts of the paper do not lie beside the checkout"
)


def shipped():
    """The rows by table, without the notes, which are ours."""
    tables = json.loads(FILE.read_text("utf-8"))["tables"]
    return {
        table["table"]: [{name: value for name, value in row.items() if name != "note"} for row in table["rows"]]
        for table in tables
    }


@needs_texts
@pytest.mark.parametrize(
    ("table", "n"),
    [("Table 3", 11), ("Table 4", 11), ("Table 13", 11), ("Table 14", 11), ("Table 20", 8), ("Table 22", 8), ("Table 24", 4), ("Table 27", 6)],
)  # fmt: skip
def test_every_cell_of_the_paper(table, n):
    assert shipped()[table] == paper_tables(PAPER)[table] and len(shipped()[table]) == n


@needs_texts
def test_every_row_of_the_ranking():
    assert shipped()["leaderboard"] == leaderboard(README) and len(shipped()["leaderboard"]) == 21


def test_the_rows_are_in_our_words():
    rows = read_reported(FILE, "tulving")
    assert len(rows) == 114
    assert {row.memory for row in rows} <= set(MEMORIES)
    assert {row.dataset for row in rows} == {
        "short", "long", "short-ordered", "news-short", "news-long", "scifi-short", "scifi-long", "short by gpt-4o"
    }  # fmt: skip
    assert all(size_of(row.dataset.partition(" by ")[0]) for row in rows)
    for row in rows:
        assert all(-1 <= value <= 1 for value in row.scores.values()) and row.source.startswith("Huet et al.")
        assert set(row.deviations) <= set(row.scores) and set(row.counts) <= set(row.scores)


def test_a_number_that_the_paper_repeats_is_the_same_everywhere():
    found = {}
    for row in read_reported(FILE, "tulving"):
        for score, value in row.scores.items():
            about = row.dataset, row.model, row.memory, score
            assert found.setdefault(about, value) == value, about
