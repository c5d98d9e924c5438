"""The samplers: the reference's draws with seed 42, and what holds for any seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.memfail.dataset.schema import LETTERS
from epbench.memfail.generation.essays import conditional_specs, drawn_personas, persona_specs
from epbench.memfail.generation.facts import coexisting_specs
from epbench.memfail.generation.long_hop import chain_specs, option_orders, targets
from epbench.memfail.templates.bank import bank

SEEDS = st.integers(0, 2**32)

# Read off the first rows of the published files, so that a clone without them notices a change of a draw.
FIRST_RULES = [("character", "mood"), ("person", "task_type"), ("pet", "prior_activity")]
FIRST_CATEGORIES = [("hat styles", 3), ("bag styles", 4), ("animals", 3)]
FIRST_PERSONAS = [
    ("Yuki Tanaka", ("Noah Brooks", "Ava Thompson", None)),
    ("Felix Andersen", (None, "Ravi Iyer", "Maya Patel")),
]
FIRST_LETTERS = "CEDEBAEABA"


def test_the_first_draws_are_those_of_the_released_rows():
    first = conditional_specs(100)[:3]
    assert [(spec.category, spec.condition_type) for spec in first] == FIRST_RULES
    assert [(spec.category, spec.size) for spec in coexisting_specs(100)[:3]] == FIRST_CATEGORIES
    assert [(spec.entity, spec.strangers) for spec in drawn_personas(100)[:2]] == FIRST_PERSONAS
    assert "".join(LETTERS[order.index(4)] for order in option_orders(92))[:10] == FIRST_LETTERS


def test_seed_42_gives_the_released_draws(published_rows):
    rules = conditional_specs(100)
    for level, n_met in (("easy", 83), ("hard", 100)):
        rows = published_rows[f"conditional_facts_{level}"]
        expected = [(row["entity_category"], row["condition_type"]) for row in rows]
        assert [(spec.category, spec.condition_type) for spec in rules] == expected
        assert sum(spec.target == row["condition_met"] for spec, row in zip(rules, rows, strict=True)) == n_met
    coexisting, personas = (published_rows[config] for config in ("coexisting_facts", "persona_retrieval"))
    sizes = [(row["preference_category"], len(row["preferences"])) for row in coexisting]
    assert [(spec.category, spec.size) for spec in coexisting_specs(100)] == sizes
    asked = [(row["entity"], tuple(asked["distractor"] for asked in row["questions"])) for row in personas]
    assert [(spec.entity, spec.strangers) for spec in drawn_personas(100)] == asked
    letters = [LETTERS[order.index(4)] for order in option_orders(92)]
    assert letters == [row["correct_choice"] for row in published_rows["long_hop"]]


@given(n=st.integers(1, 150), seed=SEEDS)
def test_rules_have_names_of_their_own_and_balanced_targets(n, seed):
    specs = conditional_specs(n, seed)
    assert [spec.number for spec in specs] == [*range(n)]
    assert len({spec.entity for spec in specs}) == n
    assert all(spec.condition_type in bank("pools")["observable_types"] for spec in specs if spec.category == "pet")
    assert abs(Counter(spec.target for spec in specs)["yes"] - n / 2) <= 10 + n / 2 * (n < 20)


@given(n=st.integers(1, 100), seed=SEEDS)
def test_categories_come_once_with_two_to_five_preferences(n, seed):
    specs = coexisting_specs(n, seed)
    assert len({spec.category for spec in specs}) == len(specs) == n
    assert {spec.size for spec in specs} <= {2, 3, 4, 5}
    assert specs == coexisting_specs(100, seed)[:n]


@given(n=st.integers(1, 120), seed=SEEDS)
def test_names_of_personas_are_disjoint_and_the_pattern_is_that_of_the_draw(n, seed):
    drawn, specs = drawn_personas(n, seed), persona_specs(n, seed)
    entities = [spec.entity for spec in specs]
    strangers = [name for spec in specs for name in spec.strangers if name]
    assert len({*entities, *strangers}) == n + len(strangers)
    for one, other in zip(drawn, specs, strict=True):
        assert [name is None for name in one.strangers] == [name is None for name in other.strangers]
        assert one.flavor == other.flavor
    assert specs[0].entity == drawn[0].entity  # the paper's name, where it can stay


@given(n=st.integers(5, 400))
def test_chains_are_asked_for_beyond_their_targets(n):
    wanted, asked = targets(n), Counter(spec.hops for spec in chain_specs(n))
    assert sum(wanted.values()) == n and max(wanted.values()) - min(wanted.values()) <= 1
    assert all(1.375 * wanted[hops] <= asked[hops] < 1.375 * wanted[hops] + 1 for hops in wanted)


@given(n=st.integers(0, 60), seed=SEEDS)
def test_orders_of_options_are_permutations(n, seed):
    orders = option_orders(n, seed)
    assert len(orders) == n and all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert orders == option_orders(n + 1, seed)[:n]


def test_too_many_rows_are_refused():
    with pytest.raises(BadInput, match="there are not enough names for 5000 personas"):
        persona_specs(5000)
    with pytest.raises(BadInput, match="are needed, but the lists give only"):
        conditional_specs(9000)
