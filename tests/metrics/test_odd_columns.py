"""Whatever stands in a column, a metric computes or says with a ValueError what it expected."""

import random

import numpy as np
import pytest

from epbench.metric_folders import metric_names
from tests.metrics.columns import columns_of, good_values, new_metric, required_columns

VALUES = [
    None, True, 0, 1, -1, 0.5, 1e400, float("nan"), 10**400, 1j, "", "A", "B", "correct", "May 7, 2024", "\ud83d", "0", b"A",
    [], [None], ["A"], ["A", "B"], ["A", 7], [["A"]], [0.5], [1, 0], [float("nan")], ["0.5"], (), ("A",), {}, {"A": 1}, {0: 1},
    set(), {"A"}, range(2), object(), np.array(["A"]), np.array([0.5, 1.0]), np.array(3), np.array([]), np.float64(0.5),
]  # fmt: skip


def odd_call(chance: random.Random) -> tuple[str, dict[str, object]]:
    """A metric and columns for it, some of them odd."""
    name = chance.choice(metric_names())
    n = chance.choice([0, 1, 1, 2, 3])
    columns: dict[str, object] = {}
    good, required = good_values(name), required_columns(name)
    for column in columns_of(name):
        if column not in required and chance.random() < 0.5:
            continue
        columns[column] = [chance.choice(VALUES) if chance.random() < 0.3 else good[column] for _ in range(n)]
        if chance.random() < 0.15:
            columns[column] = chance.choice(VALUES)
    return name, columns


def compute_all(seed: int, n: int) -> dict[str, int]:
    """Compute n odd inputs; how many were computed, and refused with a ValueError. Anything else is raised."""
    chance, outcomes = random.Random(seed), {"computed": 0, "refused": 0}
    metrics = {name: new_metric(name) for name in metric_names()}
    for _ in range(n):
        name, columns = odd_call(chance)
        try:
            metrics[name].compute(**columns)
            outcomes["computed"] += 1
        except ValueError:
            outcomes["refused"] += 1
            metrics[name] = new_metric(name)
        except Exception as error:
            raise AssertionError(f"{name}: {columns}") from error
    return outcomes


@pytest.mark.slow
def test_no_column_ends_in_another_error():
    outcomes = compute_all(0, 1500)
    assert outcomes["computed"] >= 200 and outcomes["refused"] >= 800


@pytest.mark.parametrize("name", metric_names())
def test_good_values_are_computed(name):
    good = {column: [value] for column, value in good_values(name).items()}
    assert new_metric(name).compute(**good)
    assert new_metric(name).compute(**{column: good[column] for column in required_columns(name)})


@pytest.mark.parametrize("name", metric_names())
@pytest.mark.parametrize("column", ["A", 7, {"a": 1}, {"A"}, object(), b"A", np.array(3)])
def test_a_column_that_is_no_list_is_named(name, column):
    with pytest.raises(ValueError, match="predictions: expected a list with one entry per question, found"):
        new_metric(name).compute(**dict.fromkeys(required_columns(name), column))
