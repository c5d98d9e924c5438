"""Each procedure on many simulated runs: how often it errs where there is nothing to find, and finds what is there."""

from statistics import NormalDist, fmean, stdev

import numpy as np
import pytest

from epbench.statistics.intervals import spread_of_groups
from epbench.statistics.paired import paired_estimate
from epbench.statistics.ranks import rank_methods
from epbench.statistics.smallest_difference import (
    mann_whitney,
    smallest_difference_of_means,
    smallest_difference_of_rates,
)

RUNS = 300


def share(found):
    return sum(found) / len(found)


@pytest.mark.slow
def test_methods_that_do_not_differ_are_told_apart_in_at_most_five_of_a_hundred_runs():
    random = np.random.default_rng(1)
    rejected, paired = [], []
    for _ in range(RUNS):
        ranking = rank_methods({name: random.random(40).tolist() for name in "abcd"})
        rejected.append(ranking.friedman_p < 0.05)
        paired.append(any(pair.different for pair in ranking.pairs))
    assert share(rejected) == pytest.approx(0.05, abs=0.04)
    assert share(paired) <= 0.08


def test_a_method_that_is_better_is_found():
    random = np.random.default_rng(2)
    found = []
    for _ in range(50):
        base = random.random((3, 60))
        values = {"good": (base[0] + 0.4).tolist(), "one": base[1].tolist(), "two": base[2].tolist()}
        ranking = rank_methods(values)
        found.append(next(iter(ranking.ranks)) == "good" and not any("good" in group for group in ranking.groups))
    assert share(found) > 0.9


@pytest.mark.slow
def test_two_sets_that_are_alike_differ_in_five_of_a_hundred_runs():
    random = np.random.default_rng(3)
    found = []
    for _ in range(RUNS):  # F1 has few values, and so many ties
        first, second = (random.choice([0.0, 0.5, 1.0], n).tolist() for n in (50, 80))
        found.append(mann_whitney(first, second).p < 0.05)
    assert share(found) == pytest.approx(0.05, abs=0.035)


def test_the_smallest_effect_of_two_sets_is_found_in_eight_of_ten_runs():
    random = np.random.default_rng(4)
    smallest = mann_whitney(list(range(60)), list(range(60))).smallest_difference
    shift = np.sqrt(2) * NormalDist().inv_cdf(0.5 + smallest)  # two normals this far apart have that effect
    found = []
    for _ in range(RUNS):
        first, second = (random.normal(mean, 1, 60).tolist() for mean in (shift, 0))
        found.append(mann_whitney(first, second).p < 0.05)
    assert share(found) == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("paired", [True, False])
def test_the_smallest_difference_of_means_is_found_in_eight_of_ten_runs(paired):
    from scipy.stats import ttest_1samp, ttest_ind

    random = np.random.default_rng(5)
    n = 50
    spread = random.normal(0, 0.3, 100_000)
    smallest = smallest_difference_of_means(spread[:5000].tolist(), n, paired=paired)
    found = []
    for _ in range(RUNS):
        first, second = random.normal(smallest, 0.3, n), random.normal(0, 0.3, n)
        found.append((ttest_1samp(first, 0) if paired else ttest_ind(first, second)).pvalue < 0.05)
    assert share(found) == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_the_smallest_difference_of_rates_is_found_in_about_eight_of_ten_runs(rate):
    from statsmodels.stats.proportion import proportions_ztest

    random = np.random.default_rng(6)
    n = 200
    smallest = smallest_difference_of_rates(rate, n)
    found = []
    for _ in range(RUNS):
        right = [random.binomial(n, rate + smallest / 2), random.binomial(n, rate - smallest / 2)]
        found.append(proportions_ztest(right, [n, n])[1] < 0.05)
    assert share(found) == pytest.approx(0.8, abs=0.1)


def test_what_cannot_be_told_has_no_smallest_difference():
    assert smallest_difference_of_means([1.0, 2.0], paired=True) is None
    assert smallest_difference_of_means([0.5] * 10, paired=True) is None
    assert smallest_difference_of_rates(0.5, 2) is None
    assert 0 < smallest_difference_of_rates(1.0, 50) < 0.2


def test_the_interval_of_a_difference_covers_it_in_95_of_a_hundred_runs_also_with_clusters():
    random = np.random.default_rng(7)
    plain, clustered = [], []
    for _ in range(RUNS):
        first, second = random.random(60), random.random(60) + 0.1
        low, high = paired_estimate(first.tolist(), second.tolist(), range(60), resamples=400).interval
        plain.append(low <= 0.1 <= high)
        shared = np.repeat(random.normal(0, 0.3, 40), 5)  # five questions share a cue and its error
        second, cues = (shared + random.normal(0.1, 0.1, 200)).tolist(), np.repeat(range(40), 5).tolist()
        low, high = paired_estimate([0.0] * 200, second, cues, resamples=400).interval
        clustered.append(low <= 0.1 <= high)
    assert share(plain) == pytest.approx(0.95, abs=0.035)
    assert share(clustered) == pytest.approx(0.95, abs=0.035)


def test_an_estimate_is_the_mean_difference():
    found = paired_estimate([0.0, 0.5, 1.0], [1.0, 0.5, 1.0], range(3), resamples=100)
    assert (found.n, found.differences, found.mean) == (3, [1.0, 0.0, 0.0], pytest.approx(1 / 3))
    assert len(found.resampled) == 100 and found.interval[0] <= found.mean <= found.interval[1]
    assert found == paired_estimate([0.0, 0.5, 1.0], [1.0, 0.5, 1.0], range(3), resamples=100)


@pytest.mark.slow
@pytest.mark.parametrize("true", [0.0, 0.1])
def test_the_spread_between_books_is_recovered(true):
    random = np.random.default_rng(8)
    found = []
    for _ in range(RUNS):
        books = [random.normal(random.normal(0.5, true), 0.4, 100).tolist() for _ in range(8)]
        found.append(spread_of_groups(list(map(fmean, books)), [stdev(book) / 10 for book in books]))
    assert np.sqrt(fmean(one.between**2 for one in found)) == pytest.approx(true, abs=0.03)
    assert fmean(one.within for one in found) == pytest.approx(0.04, abs=0.003)


def test_a_new_book_lies_in_the_interval_in_95_of_a_hundred_runs():
    random = np.random.default_rng(9)
    inside = []
    for _ in range(RUNS):
        means = random.normal(0.5, 0.1, 6)
        low, high = spread_of_groups(means[:5].tolist(), [0.01] * 5).interval
        inside.append(low <= means[5] <= high)
    assert share(inside) == pytest.approx(0.95, abs=0.035)


def test_one_book_says_nothing_about_the_spread_between_books():
    with pytest.raises(ValueError, match="at least two"):
        spread_of_groups([0.5], [0.1])
