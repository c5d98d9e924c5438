"""Published success rates as reference rows of a table, from a file that the user has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown
from epbench.statistics.proportions import wilson

_CONFIGS = {
    "Conditional-Facts": "conditional_facts_easy",
    "Conditional-Facts (Hard)": "conditional_facts_hard",
    "Coexisting-Facts": "coexisting_facts",
    "Persona-Retrieval": "persona_retrieval",
    "Long-Hop": "long_hop",
}
_FIELDS: dict[str, type] = {
    "dataset": str,
    "system": str,
    "internal_model": str,
    "k": int,
    "success_rate": float,
    "n": int,
}
_MOST = 10**9


def read_published(path: Path) -> dict[str, dict[str, Any]]:
    """Runs as tables take them, by label: only success rates with their 95 % intervals (Wilson), marked as published.

    Args:
        path: JSON with a list `rows` of objects with dataset, system, internal_model, k, success_rate, n.

    Raises:
        BadInput: no such file, no JSON, or a row without these values.
    """
    runs: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(_rows(path)):
        config, rate, n = _CONFIGS[row["dataset"]], float(row["success_rate"]), row["n"]
        label = f"{row['system']}, {row['internal_model']}, published"
        key = f"{label} ({config})"
        run = runs.setdefault(key, {"config": config, "system": row["system"], "published": True, "by_k": {}})
        if str(row["k"]) in run["by_k"]:
            raise BadInput(f"{path}, row {number}: {label} has two rates at k = {row['k']} on {row['dataset']}")
        interval = wilson(round(rate * n), n)
        intervals = {"success_rate": list(interval)} if interval else {}
        run["by_k"][str(row["k"])] = {"success_rate": rate, "n": n, "intervals": intervals}
    return runs


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; JSON with published success rates is expected")
    try:
        content = parse_json(path.read_bytes())
    except ValueError as error:
        raise BadInput(f"{path}: no JSON ({error})") from None
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise BadInput(f"{path}, field 'rows': a list of published cells is expected")
    for number, row in enumerate(rows):
        _check(f"{path}, row {number}", row)
    return rows


def _check(where: str, row: Any) -> None:
    if not isinstance(row, dict):
        raise BadInput(f"{where}: {type(row).__name__} found, an object expected")
    for field, kind in _FIELDS.items():
        value = row.get(field)
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise BadInput(f"{where}, field {field!r}: {shown(value)} found, {kind.__name__} expected")
    if row["dataset"] not in _CONFIGS:
        raise BadInput(
            f"{where}, field 'dataset': {shown(row['dataset'])} found, one of {', '.join(_CONFIGS)} expected"
        )
    if not 0 <= row["success_rate"] <= 1 or not 1 <= row["n"] <= _MOST:
        raise BadInput(f"{where}: a success rate in [0, 1] of 1 to {_MOST:,} questions is expected")
    if not 1 <= row["k"] <= _MOST:
        raise BadInput(f"{where}, field 'k': {shown(row['k'])} found, 1 to {_MOST:,} expected")


def beside(runs: Mapping[str, Mapping[str, Any]], published: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The runs, and of the published ones what was measured on the same config at one of the same k."""
    ks: dict[str, set[str]] = {}
    for scores in runs.values():
        ks.setdefault(scores["config"], set()).update(scores["by_k"])
    joined: dict[str, Any] = dict(runs)
    for label, reference in published.items():
        by_k = {k: cell for k, cell in reference["by_k"].items() if k in ks.get(reference["config"], ())}
        if by_k:
            joined[label] = {**reference, "by_k": by_k}
    return joined
