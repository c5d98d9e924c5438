"""Table 6: the simulation against exact expectations, against events drawn one by one, and against the paper."""

import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from epbench.files.packaged import packaged
from epbench.reports.reported import read_reported
from epbench.tulving.paper.repetitions import REPEATS, expected_counts, expected_table

BINS = ("1", "2", "3-5", "6+")
REPORTED = read_reported(packaged("epbench.tulving", "reported_books.json"), "tulving")
(TABLE_6,) = [row for row in REPORTED if row.table == "Table 6"]
PAPER = [(20, "geometric"), (200, "geometric"), (20, "uniform"), (200, "uniform")]


def shares(size, law):
    weights = [1.0] * size if law == "uniform" else [0.9**i for i in range(size)]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(("n", "law"), PAPER)
def test_the_papers_numbers_come_out(n, law):
    found = expected_counts(n, 100, law)
    for bin_, one in found.items():
        assert (
            abs(one.mean - TABLE_6.scores[f"{n}.{law}.{bin_}"]) < 0.53
        )  # rounded in the paper, and 7.5 is drawn there too
        assert abs(one.sd - TABLE_6.deviations[f"{n}.{law}.{bin_}"]) < 0.11


@pytest.mark.parametrize(("n", "law"), PAPER)
def test_means_are_the_exact_expectations(n, law):
    found = expected_counts(n, 100, law)
    p = np.array(shares(100, law))
    exact = [binom.pmf(1, n, p), binom.pmf(2, n, p), binom.cdf(5, n, p) - binom.cdf(2, n, p), binom.sf(5, n, p)]
    for one, chances in zip(found.values(), exact, strict=True):
        assert one.mean == pytest.approx(chances.sum(), abs=5 * max(one.sd, 0.01) / REPEATS**0.5)


def test_draws_one_by_one_agree():
    draws, weights = random.Random(4), shares(100, "geometric")
    seen = []
    for _ in range(1500):
        times = Counter(draws.choices(range(100), weights, k=60)).values()
        seen.append([sum(n in bin_ for n in times) for bin_ in ((1,), (2,), (3, 4, 5), range(6, 61))])
    found = list(expected_counts(60).values())
    for at, one in enumerate(found):
        column = [counts[at] for counts in seen]
        assert np.mean(column) == pytest.approx(one.mean, abs=5 * one.sd / 1500**0.5)
        assert np.std(column, ddof=1) == pytest.approx(one.sd, rel=0.12)


def test_the_same_seed_gives_the_same_numbers_whatever_the_blocks(monkeypatch):
    first = expected_counts(20, 100, repeats=300)
    assert first == expected_counts(20, 100, repeats=300) != expected_counts(20, 100, repeats=300, seed=1)
    monkeypatch.setattr("epbench.tulving.paper.repetitions._BLOCK", 700)
    assert expected_counts(20, 100, repeats=300) == first


def test_a_universe_that_is_no_larger_than_the_events_allow():
    assert [one.mean for one in expected_counts(7, 1, repeats=3).values()] == [0, 0, 0, 1]
    assert [one.sd for one in expected_counts(1, 5, repeats=3).values()] == [0, 0, 0, 0]


def test_the_table_shows_what_its_records_say():
    table = expected_table([], repeats=40, seed=2)
    assert [list(row[:3]) for row in table.table.rows] == [
        ["20", "100", "geometric"], ["200", "100", "geometric"], ["20", "100", "uniform"], ["200", "100", "uniform"],
    ]  # fmt: skip
    cells = [cell for row in table.table.rows for cell in row[3:]]
    assert cells == [f"{record['mean']:.1f} ± {record['sd']:.1f}" for record in table.records]
    assert {record["n"] for record in table.records} == {40}
    again = expected_counts(200, 100, "uniform", repeats=40, seed=2)
    assert [one.mean for one in again.values()] == [record["mean"] for record in table.records[-4:]]
