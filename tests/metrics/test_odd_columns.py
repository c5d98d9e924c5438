"""Whatever stands in a column, a metric computes or says with a ValueError what it expected."""

import random

import numpy as np
import pytest

from epbench.metric_folders import metric_module, metric_names

CLASSES = {
    "episodic_f1": "EpisodicF1",
    "episodic_kendall_tau": "EpisodicKendallTau",
    "memory_failures": "MemoryFailures",
    "sort_accuracy": "SortAccuracy",
}
COLUMNS = {
    "episodic_f1": ("predictions", "references", "matching_scores", "bins"),
    "episodic_kendall_tau": ("predictions", "references"),
    "memory_failures": ("predictions", "groups"),
    "sort_accuracy": ("predictions", "references", "groups", "clusters"),
}
GOOD = {
    "episodic_f1": (["May 7, 2024"], ["May 07, 2024"], [1.0], "1"),
    "episodic_kendall_tau": (["a", "b"], ["b", "a"]),
    "memory_failures": ("correct", "2"),
    "sort_accuracy": ("A", "B", "near", "one"),
}
VALUES = [
    None, True, 0, 1, -1, 0.5, 1e400, float("nan"), 10**400, 1j, "", "A", "B", "correct", "May 7, 2024", "\ud83d", "0", b"A",
    [], [None], ["A"], ["A", "B"], ["A", 7], [["A"]], [0.5], [1, 0], [float("nan")], ["0.5"], (), ("A",), {}, {"A": 1}, {0: 1},
    set(), {"A"}, range(2), object(), np.array(["A"]), np.array([0.5, 1.0]), np.array(3), np.array([]), np.float64(0.5),
]  # fmt: skip


def odd_call(chance: random.Random) -> tuple[str, dict[str, object]]:
    """A metric and columns for it, some of them odd."""
    name = chance.choice(sorted(COLUMNS))
    n = chance.choice([0, 1, 1, 2, 3])
    columns: dict[str, object] = {}
    for place, column in enumerate(COLUMNS[name]):
        if place > 1 and chance.random() < 0.5:
            continue
        columns[column] = [chance.choice(VALUES) if chance.random() < 0.3 else GOOD[name][place] for _ in range(n)]
        if chance.random() < 0.15:
            columns[column] = chance.choice(VALUES)
    return name, columns


def compute_all(seed: int, n: int) -> dict[str, int]:
    """Compute n odd inputs; how many were computed, and refused with a ValueError. Anything else is raised."""
    chance, outcomes = random.Random(seed), {"computed": 0, "refused": 0}
    metrics = {name: getattr(metric_module(name), CLASSES[name])(keep_in_memory=True) for name in COLUMNS}
    for _ in range(n):
        name, columns = odd_call(chance)
        try:
            metrics[name].compute(**columns)
            outcomes["computed"] += 1
        except ValueError:
            outcomes["refused"] += 1
            metrics[name] = getattr(metric_module(name), CLASSES[name])(keep_in_memory=True)
        except Exception as error:
            raise AssertionError(f"{name}: {columns}") from error
    return outcomes


def test_no_column_ends_in_another_error():
    assert set(COLUMNS) == set(metric_names())
    outcomes = compute_all(0, 1500)
    assert outcomes["computed"] >= 200 and outcomes["refused"] >= 800


@pytest.mark.parametrize("name", sorted(COLUMNS))
@pytest.mark.parametrize("column", ["A", 7, {"a": 1}, {"A"}, object(), b"A", np.array(3)])
def test_a_column_that_is_no_list_is_named(name, column):
    metric = getattr(metric_module(name), CLASSES[name])(keep_in_memory=True)
    columns = {"predictions": column, "references": column}
    with pytest.raises(ValueError, match="predictions: expected a list with one entry per question, found"):
        metric.compute(**{key: value for key, value in columns.items() if key in COLUMNS[name]})
