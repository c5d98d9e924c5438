import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from epbench.booksort.paper.results.rates import p_text, rate_of, smallest_above_chance, stars
from epbench.booksort.scores.question_files import table_of

OUTCOMES = st.lists(st.sampled_from(["right", "wrong", "failed"]), min_size=1, max_size=40)


def frame(outcomes, per_excerpt=4):
    n = len(outcomes)
    return table_of([
        {"id": f"q{i}", "book_idx": 1, "excerpt_length": 250, "segment_length": 20, "excerpt_idx": i // per_excerpt,
         "outcome": outcomes[i], "seg1_pos": i, "seg2_pos": i, "answer": "A"}
        for i in range(n)
    ])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(OUTCOMES)
def test_a_rate_is_a_share_or_a_range(outcomes):
    rate = rate_of(frame(outcomes))
    right, failed = outcomes.count("right"), outcomes.count("failed")
    assert (rate.n, rate.n_failed) == (len(outcomes) - failed, failed)
    if failed:
        assert (rate.accuracy, rate.interval, rate.p) == (None, None, None) and "(incomplete)" in rate.text()
        assert rate.bounds == pytest.approx((right / len(outcomes), (right + failed) / len(outcomes)))
    else:
        assert rate.accuracy == pytest.approx(right / len(outcomes)) and rate.bounds is None
        assert rate.p == pytest.approx(binomtest(right, len(outcomes)).pvalue) and rate.units == len(outcomes)
        assert (rate.interval is None) == (len(outcomes) <= 4)
        if rate.interval:
            assert 0 <= rate.interval[0] <= rate.interval[1] <= 1


def test_no_question_is_no_rate():
    assert rate_of(frame(["right"]).iloc[:0]) is None


def test_the_smallest_accuracy_is_found_with_the_power_that_is_said():
    """By simulation of the exact test at that accuracy, by its distribution: between 75 and 85 %."""
    for n in (60, 400, 3000):
        accuracy = smallest_above_chance(n)
        rejected = [k for k in range(n + 1) if abs(k - n / 2) >= norm.ppf(0.975) * math.sqrt(n) / 2]
        from scipy.stats import binom

        assert 0.74 < binom.pmf(rejected, n, accuracy).sum() < 0.86
    assert smallest_above_chance(0) is None and smallest_above_chance(4) is None


def test_a_mean_over_models_at_chance_everywhere_is_no_finding():
    questions = frame(["right", "wrong"] * 8).assign(right=0.5)
    assert rate_of(questions, pooled=True).p == 1.0


def test_stars_and_p_values_as_texts():
    assert [stars(p) for p in (None, 0.2, 0.05, 0.049, 0.01, 0.009)] == ["", "", "", "*", "*", "**"]
    assert [p_text(p) for p in (None, 0.2, 0.021, 0.0004)] == ["–", "0.200", "0.021*", "< 0.001**"]
