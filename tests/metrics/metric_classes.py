"""The classes that `evaluate` loads, from the metric folders of this checkout."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any


def module_of(name: str) -> ModuleType:
    """The module of a metric, which imports the formulas beside it."""
    return importlib.import_module(f"metrics.{name}.{name}")


def new_metric(name: str) -> Any:
    """An instance of the one metric class in a folder."""
    (cls,) = [c for c in vars(module_of(name)).values() if inspect.isclass(c) and hasattr(c, "_compute")]
    return cls(keep_in_memory=True)
