"""The draws of the cluster bootstrap: each resample draws as many clusters as there are, and draws are shared."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from epbench.draws import UnitStream
from epbench.statistics import intervals
from epbench.statistics.intervals import bootstrap_values, cluster_bootstrap, weighted_mean, wilson


@pytest.mark.parametrize("seed", [0, 3])
def test_clusters_are_drawn_as_by_hand(seed):
    random = np.random.default_rng(seed)
    clusters, values = random.integers(0, 7, 40).tolist(), random.normal(size=40)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    k = len(numbers)
    draws = iter(UnitStream("bootstrap", seed).take(200 * k))
    means = []
    for _ in range(200):
        drawn = [int(next(draws) * k) for _ in range(k)]
        weights = np.array([drawn.count(numbers[name]) for name in clusters])
        means.append((weights * values).sum() / weights.sum() if weights.sum() else np.nan)
    expected = np.quantile([mean for mean in means if not np.isnan(mean)], [0.025, 0.975])
    found = cluster_bootstrap(lambda w: weighted_mean(w, values), clusters, resamples=200, seed=seed)
    assert found == pytest.approx(tuple(expected))


def test_shared_draws_are_not_changed_by_a_statistic():
    def greedy(weights):
        found = weighted_mean(weights, np.arange(5.0))
        weights[:] = 0
        return found

    first = cluster_bootstrap(greedy, range(5), resamples=50)
    assert cluster_bootstrap(greedy, range(5), resamples=50) == first is not None
    assert cluster_bootstrap(greedy, range(5), resamples=50, seed=1) != first


@pytest.mark.parametrize(("block", "kept"), [(1, 0), (100, 0), (100, 1 << 20)])
def test_blocks_of_draws_change_nothing(monkeypatch, block, kept):
    clusters, values = [i // 2 for i in range(30)], np.arange(30.0) ** 2
    whole = bootstrap_values(lambda w: weighted_mean(w, values), clusters, resamples=70)
    monkeypatch.setattr(intervals, "_BLOCK", block)
    monkeypatch.setattr(intervals, "_KEPT", kept)
    assert bootstrap_values(lambda w: weighted_mean(w, values), clusters, resamples=70) == pytest.approx(whole)


def test_memory_does_not_grow_with_questions_times_resamples():
    values = np.arange(10_000.0)
    cluster_bootstrap(lambda w: weighted_mean(w, values[:5]), range(5))  # what is imported at the first use
    tracemalloc.start()
    try:
        assert cluster_bootstrap(lambda w: weighted_mean(w, values), range(len(values)), resamples=1000) is not None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6  # all weights at once would take 80 MB


@given(
    st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_the_interval_is_that_of_scipy(shares, level):
    right, n = shares
    expected = binomtest(right, n).proportion_ci(level, method="wilson")
    assert wilson(right, n, level=level) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert wilson(0, 0) is None


def test_one_cluster_has_no_interval_and_nothing_no_mean():
    assert cluster_bootstrap(lambda weights: weights.sum(axis=1), ["a", "a"]) is None
    assert np.isnan(weighted_mean(np.zeros((1, 2)), np.ones(2))[0])


@pytest.mark.parametrize(("value", "least"), [(0.0, 0.0), (1.0, 0.0), (1.0, -1.0)])
def test_questions_that_all_agree_do_not_make_a_mean_certain(value: float, least: float) -> None:
    values = np.full(3, value)
    low, high = cluster_bootstrap(lambda w: weighted_mean(w, values), range(3), bounds=(least, 1.0)) or (0.0, 0.0)
    exact = binomtest(3, 3).proportion_ci(method="exact").low  # what three successes of three leave open
    few = cluster_bootstrap(lambda w: weighted_mean(w, np.full(9, value)), range(9), bounds=(least, 1.0), seen=3)
    assert few == (low, high)
    assert (low, high) == pytest.approx((0.0, 1 - exact) if value == 0 else (1 - (1 - least) * (1 - exact), 1.0))
