import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import RunFailed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.scoring import Judged, chronological_awareness, score_run

BASE = Judged("q", "all", "1", 1, ("a", None, None, None), ["x"], ["x"], [1.0], [])


def rows():
    return [
        replace(BASE, bin="0", n_chapters=0, truth=[], items=[], scores=[], cue=("0", None, None, None)),
        BASE,
        replace(BASE, scores=[0.0], cue=("b", None, None, None)),
        replace(BASE, get="latest", bin="2", n_chapters=2, scores=[0.5], cue=(None, None, "e", None)),
        replace(BASE, get="latest", bin="1", n_chapters=1, scores=[0.0]),
        replace(BASE, get="chronological", bin="2", n_chapters=2, truth=["x", "y"], scores=[1, 1], order=["y", "x"]),
        replace(BASE, get="chronological", bin="2", n_chapters=2, truth=["x", "y"], scores=[1, 1], order=["x", "y"]),
        replace(BASE, get="chronological", bin="2", n_chapters=2, truth=["x", "y"], scores=[1, 0], order=["x"]),
        replace(BASE, get="chronological", bin="2", n_chapters=2, truth=["x", "x"], scores=[1, 1], order=["x"]),
    ]


def test_scores_count_the_questions_they_are_about():
    scores = score_run(rows(), n_failed=2)
    assert scores["f1_by_bin"] == {"0": 1.0, "1": 0.5}
    assert scores["simple_recall_score"] == 0.75
    assert scores["latest"] == 0.5
    assert scores["all_matched"] == pytest.approx(2 / 3)
    assert scores["kendall_tau"] == 0.0
    assert scores["chronological_awareness"] == 0.25
    assert (scores["n_questions"], scores["n_failed"]) == (11, 2)


def test_failures_are_neither_right_nor_wrong():
    without = {k: v for k, v in score_run(rows()).items() if not k.startswith("n_")}
    assert {k: v for k, v in score_run(rows(), n_failed=50).items() if not k.startswith("n_")} == without


def test_nothing_but_failures_is_an_error():
    with pytest.raises(RunFailed, match="all 3 questions failed"):
        score_run([], n_failed=3)


@pytest.mark.parametrize(
    ("latest", "found", "tau", "awareness"),
    [
        (0.5, 0.5, 1.0, 0.5),
        (0.5, 0.5, -1.0, 0.25),
        (0.5, 0.0, None, 0.25),
        (None, 0.5, 1.0, None),
        (0.5, None, None, None),
    ],
)
def test_a_negative_order_counts_as_none(latest, found, tau, awareness):
    assert chronological_awareness(latest, found, tau) == awareness


def test_intervals_hold_their_scores():
    scores = score_run(rows() * 5)
    for name, (low, high) in scores["intervals"].items():
        value = scores["f1_by_bin"][name.split(".")[1]] if "." in name else scores[name]
        assert low - 1e-9 <= value <= high + 1e-9, name


def test_clusters_widen_the_interval():
    """Ten questions that are right or wrong together say as much as one."""
    values = np.repeat([0.0, 1.0] * 10, 10)

    def width(clusters):
        low, high = cluster_bootstrap(lambda w: weighted_mean(w, values), clusters)
        return high - low

    assert width([i // 10 for i in range(200)]) > 2.5 * width(list(range(200)))


def test_coverage_of_the_interval():
    covered = 0
    for seed in range(200):
        sample = np.random.default_rng(seed).normal(0.3, 1, 40)
        low, high = cluster_bootstrap(lambda w, sample=sample: weighted_mean(w, sample), range(40), resamples=400)
        covered += low <= 0.3 <= high
    assert 0.88 <= covered / 200 <= 0.99


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_the_interval_stays_within_the_values(values):
    low, high = cluster_bootstrap(lambda w: weighted_mean(w, np.array(values)), range(len(values)), resamples=200)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_one_cluster_has_no_interval():
    assert cluster_bootstrap(lambda w: w.sum(axis=1), ["a", "a"]) is None
    assert math.isnan(weighted_mean(np.zeros((1, 2)), np.ones(2))[0])
