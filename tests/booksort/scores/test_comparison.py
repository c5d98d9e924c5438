"""Log ratios compared in both directions, and effects that are planted in simulated runs."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from epbench.booksort.scores.comparison import compare_log_ratios, compare_runs
from epbench.statistics.paired import holm
from tests.booksort.simulated_runs import log_odds, simulated, table


def outcomes(log_ratios, correct=None, per_excerpt=4):
    """A table of questions, four to an excerpt, with these log ratios; all are right unless told otherwise."""
    n = len(log_ratios)
    return pd.DataFrame({
        "id": [f"q{i}" for i in range(n)], "pair": [f"q{i}" for i in range(n)],
        "excerpt": [f"e{i // per_excerpt}" for i in range(n)],
        "outcome": ["right" if right else "wrong" for right in correct or [True] * n],
        "log_ratio": pd.Series(log_ratios, dtype="float64"), "right": pd.Series(1.0, range(n)),
        "answer": ["AB"[i % 2] for i in range(n)], "log_odds": pd.Series(math.nan, range(n)),
    })  # fmt: skip


def test_both_directions_are_those_of_scipy():
    random = np.random.default_rng(0)
    one, other = random.normal(-0.5, 0.2, 80), random.normal(-0.55, 0.2, 80)
    found = compare_log_ratios(outcomes(one), outcomes(other))
    assert found["n"] == 80 and found["difference"] == pytest.approx((one - other).mean())
    assert found["p"] == pytest.approx(ttest_rel(one, other, alternative="greater").pvalue)
    assert found["p_less"] == pytest.approx(ttest_rel(one, other, alternative="less").pvalue)
    low, high = found["interval"]
    by_excerpt = (one - other).reshape(20, 4).mean(axis=1)
    half = 1.96 * by_excerpt.std() / math.sqrt(20)
    assert (low, high) == pytest.approx((found["difference"] - half, found["difference"] + half), abs=0.01)


def test_what_has_no_test():
    values = [-0.5, -0.4, -0.3, -0.2, -0.1]
    same = compare_log_ratios(outcomes(values), outcomes(values))
    assert same == {"n": 5, "difference": 0.0, "interval": (0.0, 0.0), "p": None, "p_less": None}
    shifted = compare_log_ratios(outcomes(values), outcomes([v - 0.1 for v in values]))  # equal but for rounding
    assert shifted["p"] is shifted["p_less"] is None and shifted["difference"] == pytest.approx(0.1)
    for some in ([], values[:1], [None, None, -0.1]):
        assert compare_log_ratios(outcomes(some), outcomes(values)) is None
    one_excerpt = compare_log_ratios(outcomes(values[:3]), outcomes([-0.1, -0.1, -0.4]))
    assert one_excerpt["interval"] is None and 0 < one_excerpt["p"] < 1


log_ratios = st.integers(-300, 0).map(lambda n: n / 100)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.tuples(log_ratios, log_ratios), min_size=2, max_size=20))
def test_the_directions_are_mirrors(values):
    one, other = (outcomes(of_run) for of_run in zip(*values, strict=True))
    there, back = compare_log_ratios(one, other), compare_log_ratios(other, one)
    assert there["difference"] == pytest.approx(-back["difference"])
    if there["p"] is None:
        assert back["p"] is None and len({round(a - b, 6) for a, b in values}) == 1
    else:
        assert there["p"] == pytest.approx(back["p_less"]) and there["p"] + there["p_less"] == pytest.approx(1)
    if there["interval"]:
        assert there["interval"] == pytest.approx((-back["interval"][1], -back["interval"][0]))


def run_of(seed, accuracy=0.6, surer=0.0, n=400):
    """A run whose accuracy, and whose log odds of the right segment, are known.

    Accuracy is planted apart from the log odds, so that each test has an effect of its own to find.
    """
    random = np.random.default_rng(seed)
    correct, odds = random.random(n) < accuracy, random.normal(0.4 + surer, 0.8, n)
    ratios = (-np.log1p(np.exp(-odds))).tolist()
    return outcomes(ratios, correct.tolist())


def test_an_advantage_of_a_simulated_reader_is_found_through_its_answers():
    def told(row):
        """A reader whose probabilities agree with its answers, and leave a tenth to other tokens."""
        p_a = 0.7 if row.predicted == "A" else 0.2
        return replace(row, p_a=p_a, p_b=0.9 - p_a)

    better, worse = (
        table(map(told, simulated(lambda *_, p=p: log_odds(p), seed=seed, lengths=(250,), excerpts=10)))
        for seed, p in ((0, 0.85), (1, 0.6))
    )
    assert set(better["log_ratio"].round(6)) == {round(math.log(p / 0.9), 6) for p in (0.7, 0.2)}
    (pair,) = compare_runs({"better": better, "worse": worse})
    assert pair["log_ratio"]["p_holm"] == pytest.approx(2 * pair["log_ratio"]["p"])  # the other direction counts too
    assert pair["n"] == 360 and pair["p"] < 1e-6 and pair["log_ratio"]["p"] < 1e-6
    assert pair["interval"][0] <= 0.25 <= pair["interval"][1]
    expected = 0.25 * math.log(0.7 / 0.2)  # what a wrong answer that turns right is worth
    assert pair["log_ratio"]["interval"][0] <= expected <= pair["log_ratio"]["interval"][1]


def test_holm_corrects_both_directions_together():
    runs = {"a": run_of(1), "b": run_of(2, surer=0.2), "c": run_of(3, surer=0.05), "same as c": run_of(3, surer=0.05)}
    found = compare_runs(runs)
    ratios = [pair["log_ratio"] for pair in found]
    tested = [ratio for ratio in ratios if ratio["p"] is not None]
    expected = holm([ratio[name] for ratio in tested for name in ("p", "p_less")])
    assert [ratio[name] for ratio in tested for name in ("p_holm", "p_less_holm")] == expected
    assert len(expected) == 10 and max(expected) <= 1
    (untested,) = (pair for pair in found if pair["log_ratio"]["p"] is None)
    assert untested["runs"] == ["c", "same as c"] and untested["log_ratio"]["p_holm"] is None
    assert untested["p"] == untested["p_corrected"] == 1.0 and untested["log_ratio"]["p_less_holm"] is None
    none = runs["a"].assign(log_ratio=math.nan)
    assert [pair["log_ratio"] for pair in compare_runs({"a": runs["a"], "none": none})] == [None]
