"""Where the metric folders are, and the formulas in them.

A metric folder must run alone as a Space, so it imports nothing of ours; we score through it instead,
and so every formula stands in one place.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from epbench.errors import BadInput

_IN_WHEEL = Path(__file__).parent / "metrics"
_IN_CHECKOUT = Path(__file__).parents[2] / "metrics"


def metrics_root() -> Path:
    """The folder that holds one folder per metric, in an installed wheel or in a checkout."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_CHECKOUT


def metric_names() -> list[str]:
    """Names of all metrics that this version carries, sorted."""
    return sorted(path.parent.name for path in metrics_root().glob("*/*.py") if path.stem == path.parent.name)


def metric_path(name: str) -> Path:
    """Folder of a metric, to be given to `evaluate.load(str(path))`: works from any folder, without a network.

    Raises:
        BadInput: there is no metric of that name.
    """
    if name not in metric_names():
        raise BadInput(f"unknown metric {name!r}; this version has: {', '.join(metric_names())}")
    return metrics_root() / name


@cache
def metric_module(name: str) -> ModuleType:
    """The metric's own module, for its formulas."""
    path = metric_path(name) / f"{name}.py"
    module_name = f"epbench_metric_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    with _evaluate_alone():
        spec.loader.exec_module(module)
    return module


@contextmanager
def _evaluate_alone() -> Iterator[None]:
    """Within it, `import evaluate` leaves transformers and torch aside, which cost seconds and which no metric needs.

    They are for its pipelines. Whoever imports `evaluate` later gets a whole one of their own.
    """
    if {"evaluate", "transformers"} & sys.modules.keys():
        yield
        return
    sys.modules["transformers"] = None  # type: ignore[assignment]  # the way to say that it cannot be imported
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == "transformers" or name.split(".")[0] == "evaluate"]:
            del sys.modules[name]
