"""The regression finds a planted effect of the middle, and says where it cannot."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from epbench.booksort.scores.middle_effect import both_in_the_middle, middle_effect
from tests.booksort.simulated_runs import simulated, table


def planted(middle: float, distance: float, length: float = 0.0):
    def logit(words: int, start: int, far: int, _: int) -> float:
        inside = words / 3 <= start and start + far < 2 * words / 3
        return 1.0 + middle * inside + distance * np.log(far / 300) + length * np.log(words / 1000)

    return logit


@pytest.mark.slow
def test_a_planted_effect_is_recovered_beside_that_of_distance():
    middle, hits = -0.8, {"middle": 0, "distance": 0, "length": 0}
    for seed in range(8):
        rows = simulated(planted(middle, 0.4, -0.3), seed=seed, excerpt_effect=0.3)
        found = middle_effect(table(rows))["terms"]
        for name, true in (("middle", middle), ("distance", 0.4), ("length", -0.3)):
            hits[name] += found[name]["low"] <= true <= found[name]["high"]
            assert found[name]["high"] - found[name]["low"] < 0.6
    assert all(n >= 6 for n in hits.values()), hits


def test_without_distance_its_effect_would_pass_for_one_of_the_middle():
    rows = simulated(planted(0.0, 0.8), seed=3)
    found = middle_effect(table(rows))
    assert found["in_middle"]["accuracy"] < found["elsewhere"]["accuracy"] - 0.1  # by distance alone
    assert found["terms"]["middle"]["p"] > 0.01
    confound = found["confound"]
    assert confound["correlation_with_distance"] < -0.2
    assert confound["share_in_middle_by_distance"]["more"] == 0.0


def test_one_length_of_excerpts_has_no_terms_of_length():
    found = middle_effect(table(simulated(planted(-0.5, 0.3), seed=4, lengths=[1000])))
    assert list(found["terms"]) == ["middle", "distance"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (simulated(lambda *_: 50.0, seed=5, lengths=[250]), "only 0 wrong answers on pairs in the middle"),
        (simulated(lambda *_: 0.0, seed=5, lengths=[250], books=1, excerpts=2), "pairs in the middle"),
        ([replace(row, seg1_pos=0) for row in simulated(lambda *_: 0.0, seed=5, lengths=[250])], "only 0 right"),
        ([], "only 0 right"),
    ],
)
def test_what_cannot_be_estimated_is_said(rows, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = middle_effect(table(rows))
    assert reason in found["not_estimable"] and "terms" not in found


def test_the_middle_third_is_that_of_the_excerpt():
    row = simulated(lambda *_: 0.0, seed=6, lengths=[250], books=1, excerpts=1)[0]
    places = [(100, 199), (99, 150), (120, 200)]
    rows = [replace(row, excerpt_length=300, seg1_pos=first, seg2_pos=second) for first, second in places]
    assert both_in_the_middle(table(rows)).tolist() == [True, False, False]
