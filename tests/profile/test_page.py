"""Two profiles are told apart no more often than their questions allow, however few these are."""

import random
from statistics import fmean

import pytest

from epbench.profile.dimensions import VALUE
from epbench.profile.page import Profile, Score, differences
from epbench.statistics.estimate import drawing_clusters, estimate, framed


def profile_of(parts):
    """A profile with a dimension for each list of scores of questions."""
    dimensions = []
    for number, values in enumerate(parts):
        found = estimate(framed({VALUE: value} for value in values), VALUE, interval=drawing_clusters)
        ends = (found.mean, found.low, found.high, found.lowest, found.highest)
        dimensions.append(Score(str(number), *ends, 0.0, 1.0, found.n, 0, "runs/x"))
    return Profile("a", "quick", 1, "m", "", "", "lexical", dimensions, {}, {})


@pytest.mark.parametrize("n", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5, 8))])
def test_equals_are_not_told_apart_by_few_questions(n):
    draws = random.Random(7)

    def drawn():
        return [[draws.choice([0.0, 0.4, 0.5, 0.67, 1.0]) for _ in range(n)] for _ in range(150)]

    table = differences(profile_of(drawn()), profile_of(drawn()))
    assert not any("*" in row[-1] for row in table.rows)  # corrected for 150 dimensions
    alone = [differences(profile_of(drawn()[:1]), profile_of(drawn()[:1])).rows[0][-1] for _ in range(150)]
    assert fmean("*" in p for p in alone) <= 0.08


def test_what_does_not_vary_has_no_p_value_and_a_clear_difference_is_found():
    one, other = (
        profile_of([[0.5, 0.5], [0.8, 0.9, 1.0, 0.9, 0.8]]),
        profile_of([[0.4, 0.4], [0.1, 0.2, 0.0, 0.1, 0.0]]),
    )
    first, second = differences(one, other).rows
    assert first[-2:] == ["+0.10", "–"]
    assert second[-2] == "+0.80" and second[-1].endswith("**")
