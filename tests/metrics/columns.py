"""What every metric takes, read from its folder, and values that it accepts."""

from __future__ import annotations

import inspect
from typing import Any

from epbench.metric_folders import metric_module

GOOD: dict[str, dict[str, Any]] = {
    "episodic_f1": {
        "predictions": ["May 7, 2024"], "references": ["May 07, 2024"], "matching_scores": [1.0], "bins": "1",
    },
    "episodic_kendall_tau": {"predictions": ["a", "b"], "references": ["b", "a"]},
    "memory_failures": {"predictions": "correct", "groups": "2"},
    "sort_accuracy": {"predictions": "A", "references": "B", "groups": "near", "clusters": "one"},
}  # fmt: skip
"""By metric and column, a value of one row that the metric computes."""


def new_metric(name: str) -> Any:
    """An instance of the one metric class in a folder."""
    module = metric_module(name)
    (cls,) = [c for c in vars(module).values() if inspect.isclass(c) and hasattr(c, "_compute")]
    return cls(keep_in_memory=True)


def required_columns(name: str) -> list[str]:
    """The columns without which a metric computes nothing: its features."""
    return list(new_metric(name)._info().features)


def columns_of(name: str) -> list[str]:
    """All columns of a metric: the required ones, then those that may be left out."""
    return [*inspect.signature(new_metric(name)._compute).parameters]


def good_values(name: str) -> dict[str, Any]:
    """A good value for each column of a metric."""
    columns, good = columns_of(name), GOOD.get(name, {})
    assert set(good) == set(columns), f"{name} in {__file__}: a new metric needs good values here, of {columns}"
    return good
