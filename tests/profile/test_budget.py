"""What a budget buys of each part of a profile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.models.estimate import Price, Prices
from epbench.profile.plan import FEW, PILOT, RESERVE, Asked, allocate, pilot, read_budget, variance_of
from epbench.statistics.estimate import Estimate

PARTS = st.dictionaries(
    st.sampled_from("abcde"),
    st.builds(
        lambda limit, more, cost, variance: Asked(limit, limit + more, cost, variance),
        st.integers(1, 30), st.integers(0, 500), st.floats(0, 100), st.floats(0, 50),
    ),
    min_size=1,
)  # fmt: skip


def test_a_budget_is_a_time_tokens_or_a_price():
    assert (read_budget("90m", None).kind, read_budget("90m", None).total) == ("time", 5400)
    assert read_budget("1.5M-tokens", None).total == 1_500_000
    prices = Prices("USD", {"m": Price(1.0)})
    assert (read_budget("5usd", prices).kind, read_budget("5usd", prices).total) == ("cost", 5)
    for text, given_prices in (("5", None), (".m", None), ("5usd", None), ("5eur", prices)):
        with pytest.raises(BadInput, match="budget"):
            read_budget(text, given_prices)


@given(st.integers(2, 8), st.lists(st.floats(0.01, 50), min_size=2, max_size=8), st.floats(500, 5000))
def test_every_part_gets_its_share_of_a_tight_budget(first, costs, budget):
    left, dearest = budget - first * costs[0], costs[0]
    for at, cost in enumerate(costs[1:], 1):
        asked = pilot(left, len(costs) - at, dearest)
        assert FEW <= asked <= PILOT
        assert asked == FEW or asked * dearest <= left / (len(costs) - at)
        left, dearest = left - asked * cost, max(dearest, cost)


def test_the_first_part_is_asked_few_questions_as_nobody_knows_what_they_cost():
    assert pilot(600, 5, 0.0) == FEW < PILOT == pilot(600, 4, 1.0)


@given(PARTS, st.floats(0, 1e5))
def test_what_is_given_out_fits_and_takes_nothing_back(parts, left):
    limits = allocate(parts, left)
    assert all(parts[name].limit <= limits[name] <= parts[name].most for name in parts)
    assert sum((limits[name] - part.limit) * part.cost for name, part in parts.items()) <= RESERVE * left + 1e-6


def test_a_start_for_one_more_question_is_not_worth_it():
    parts = {"dear": Asked(12, 120, 50.0, 1.0), "cheap": Asked(12, 100, 0.1, 1.0)}
    assert allocate(parts, 100) == {"dear": 12, "cheap": 100}


def test_a_large_budget_buys_everything():
    assert allocate({"a": Asked(4, 90, 2.0, 1.0), "b": Asked(4, 70, 5.0, 0.1)}, 1e6) == {"a": 90, "b": 70}


def test_no_other_numbers_of_the_same_price_give_narrower_intervals():
    parts = {"cheap": Asked(5, 1000, 1.0, 2.0), "dear": Asked(5, 1000, 9.0, 2.0), "wide": Asked(5, 1000, 1.0, 18.0)}
    limits = allocate(parts, 1000)
    spread = sum(part.variance / limits[name] for name, part in parts.items())
    assert limits["wide"] == pytest.approx(3 * limits["cheap"], abs=3)
    assert limits["cheap"] == pytest.approx(3 * limits["dear"], abs=3)
    for more, less in (("cheap", "dear"), ("dear", "cheap"), ("wide", "cheap"), ("cheap", "wide")):
        other = dict(limits)
        other[less] -= max(1, int(20 / parts[less].cost))
        other[more] += max(1, int(20 / parts[more].cost))
        assert sum(part.variance / other[name] for name, part in parts.items()) > spread


def test_few_equal_outcomes_are_not_taken_for_known():
    assert variance_of([Estimate(n=4, mean=1.0, sd=0.0)], 12) > variance_of([Estimate(n=400, mean=1.0, sd=0.0)], 12) > 0
