"""Where the metric folders are, and the formulas in them.

A metric folder must run on its own as a Space, so it imports nothing from this package. The package scores by the
formulas in these folders instead, so that each has one home.
"""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from epbench.errors import BadInput

_IN_WHEEL = Path(__file__).parent / "metrics"
_IN_CHECKOUT = Path(__file__).parents[2] / "metrics"


def metrics_root() -> Path:
    """Return the folder with one folder per metric, in an installed wheel or in a checkout."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_CHECKOUT


def metric_names() -> list[str]:
    """Return the names of all metrics in this version, sorted."""
    return sorted(path.parent.name for path in metrics_root().glob("*/*.py") if path.stem == path.parent.name)


def metric_path(name: str) -> Path:
    """Return the folder of a metric for `evaluate.load(str(path))`, which works from any folder without a network.

    Raises:
        BadInput: There is no metric with that name.
    """
    if name not in metric_names():
        raise BadInput(f"unknown metric {name!r}; this version has: {', '.join(metric_names())}")
    return metrics_root() / name


@cache
def formulas(name: str) -> ModuleType:
    """Return the module with the formulas of a metric, which needs neither `evaluate` nor `datasets`."""
    spec = importlib.util.spec_from_file_location(f"epbench_{name}", metric_path(name) / "formulas.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
