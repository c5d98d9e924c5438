"""Install metrics in the module cache of `evaluate`.

Afterwards `evaluate.load("episodic_f1")` works from any folder, without a network: the library uses its cache if the Hub
cannot be reached or does not know the name.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from epbench.files.replacing import replacing
from epbench.metric_folders import evaluate_alone, metric_path


def metric_is_installed(name: str, namespace: str = "epbench") -> bool:
    """Whether `evaluate` has this metric in its cache, with the code of this version.

    Raises:
        BadInput: There is no metric with that name.
    """
    return all(_holds(package, name) for package in _packages(name, namespace))


def install_metric(name: str, namespace: str = "epbench") -> list[Path]:
    """Install a metric in the module cache of `evaluate`, as `<name>` and as `<namespace>/<name>`.

    Returns:
        The folders in the cache.

    Raises:
        BadInput: There is no metric with that name.
    """
    code = _code(name)
    version, places = hashlib.sha256(code).hexdigest(), []
    for package in _packages(name, namespace):
        with replacing(package) as draft:
            (draft / version).mkdir()
            (draft / version / f"{name}.py").write_bytes(code)
            (draft / version / f"{name}.json").write_text("{}")
            for folder in (draft, draft / version):
                (folder / "__init__.py").touch()
        places.append(package / version)
    return places


def _code(name: str) -> bytes:
    return (metric_path(name) / f"{name}.py").read_bytes()


def _packages(name: str, namespace: str) -> list[Path]:
    """Where `evaluate` looks for the bare name and for the name with its owner."""
    return [_modules_folder() / "metrics" / f"{owner}--{name}" for owner in ("evaluate-metric", namespace)]


@cache
def _modules_folder() -> Path:
    with evaluate_alone():
        from evaluate.loading import init_dynamic_modules

        return Path(init_dynamic_modules())


def _holds(package: Path, name: str) -> bool:
    code = _code(name)
    file = package / hashlib.sha256(code).hexdigest() / f"{name}.py"
    return len(list(package.glob("*/__init__.py"))) == 1 and file.is_file() and file.read_bytes() == code
