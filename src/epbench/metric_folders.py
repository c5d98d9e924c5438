"""Where the metric folders are, and the formulas in them.

A metric folder must run on its own as a Space, so it imports nothing from this package. The package scores through the
metric folders instead, so that every formula has one home.
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
def metric_module(name: str) -> ModuleType:
    """Return the metric's own module, for its formulas."""
    path = metric_path(name) / f"{name}.py"
    module_name = f"epbench_metric_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    with evaluate_alone():
        spec.loader.exec_module(module)
    return module


@contextmanager
def evaluate_alone() -> Iterator[None]:
    """Make `import evaluate` skip transformers and torch, which take seconds to import and which no metric needs.

    They only serve its pipelines. A later `import evaluate` loads the complete package.
    """
    if {"evaluate", "transformers"} & sys.modules.keys():
        yield
        return
    sys.modules["transformers"] = None  # type: ignore[assignment]  # makes `import transformers` fail
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == "transformers" or name.split(".")[0] == "evaluate"]:
            del sys.modules[name]
