"""From counts to decisions: intervals against those of statsmodels, and the rules at their edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from epbench.memfail.paper.evidence import Case, Measure, above, below, decide, little_gain, weigh

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_intervals_are_those_of_statsmodels(one, other):
    (share,) = weigh([Measure("share", one)], above(0.5), "most").cases
    assert (share.low, share.high) == pytest.approx(proportion_confint(*one, method="wilson"), abs=1e-6)
    (difference,) = weigh([Measure("difference", one, other)], above(0), "most").cases
    expected = confint_proportions_2indep(*one, *other, method="newcomb", compare="diff")
    assert (difference.low, difference.high) == pytest.approx(expected, abs=1e-6)
    assert difference.value == pytest.approx(one[0] / one[1] - other[0] / other[1])
    assert difference.counts == (one, other)


def test_a_claim_about_all_cases_has_intervals_for_all_of_them_together():
    measures = [Measure(str(i), (30, 100)) for i in range(10)]
    for_all, for_most = (weigh(measures, above(0.5), rule).cases[0] for rule in ("all", "most"))
    assert for_all.low < for_most.low < 0.3 < for_most.high < for_all.high
    assert (for_all.low, for_all.high) == pytest.approx(
        proportion_confint(30, 100, alpha=0.005, method="wilson"), abs=1e-6
    )


def test_a_measure_without_questions_is_no_case():
    assert weigh([Measure("none", (0, 0)), Measure("none", (1, 2), (0, 0))], above(0), "all").cases == ()


def test_what_an_interval_says():
    assert [above(0.5)(0, low, high) for low, high in [(0.6, 1), (0, 0.4), (0.4, 0.6)]] == ["for", "against", "neither"]
    assert [below(0.5)(0, low, high) for low, high in [(0.6, 1), (0, 0.4), (0.4, 0.6)]] == ["against", "for", "neither"]
    assert little_gain(-0.2, -0.4, 0.05) == "for"
    assert little_gain(0.3, 0.1, 0.5) == "against"
    assert little_gain(0.05, 0.01, 0.12) == "neither"  # certain, and small
    assert little_gain(0.3, -0.1, 0.5) == "neither"


@pytest.mark.parametrize(
    ("rule", "n_for", "n_against", "n_neither", "decision"),
    [
        ("all", 3, 0, 2, "supported"),
        ("all", 9, 1, 0, "denied"),
        ("all", 2, 0, 2, "not decided"),
        ("most", 3, 2, 0, "supported"),
        ("most", 2, 3, 0, "denied"),
        ("most", 2, 2, 0, "not decided"),
        ("some", 2, 5, 0, "supported"),
        ("some", 1, 0, 5, "not decided"),
        ("some", 0, 2, 0, "denied"),
        ("all", 0, 0, 0, "not decided"),
        ("most", 0, 0, 0, "not decided"),
        ("some", 0, 0, 0, "not decided"),
    ],
)
def test_rules(rule, n_for, n_against, n_neither, decision):
    sides = ["for"] * n_for + ["against"] * n_against + ["neither"] * n_neither
    evidence = decide([Case("", 0, 0, 0, side) for side in sides], rule)
    assert evidence.decision == decision
    assert evidence.numbers == {"for": n_for, "against": n_against, "neither": n_neither}
