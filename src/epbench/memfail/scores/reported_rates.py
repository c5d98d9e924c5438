"""Success rates that a paper reports, as reference rows of a table; they come from a file of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import kind_named, parse_json, shown
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


def read_reported(path: Path) -> dict[str, dict[str, Any]]:
    """Read reported success rates in the form of runs, by label; they have only success rates and 95 % intervals (Wilson).

    Args:
        path: A JSON file with a list `rows` of objects with dataset, system, internal_model, k, success_rate (0 to 1) and
            n (the number of questions).

    Raises:
        BadInput: There is no such file, it is not JSON, or a row lacks one of these values.
    """
    runs: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(_rows(path)):
        config, rate, n = _CONFIGS[row["dataset"]], float(row["success_rate"]), row["n"]
        label = f"{row['system']}, {row['internal_model']}, reported"
        key = f"{label} ({config})"
        run = runs.setdefault(key, {"config": config, "system": row["system"], "reported": True, "by_k": {}})
        if str(row["k"]) in run["by_k"]:
            raise BadInput(f"{path}, row {number}: {label} has two rates at k = {row['k']} on {row['dataset']}")
        interval = wilson(round(rate * n), n)
        intervals = {"success_rate": list(interval)} if interval else {}
        run["by_k"][str(row["k"])] = {"success_rate": rate, "n": n, "intervals": intervals}
    return runs


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; expected JSON with reported success rates")
    try:
        content = parse_json(path.read_bytes())
    except ValueError as error:
        raise BadInput(f"{path}: expected JSON ({error})") from None
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise BadInput(f"{path}, field 'rows': expected a list of reported rates")
    for number, row in enumerate(rows):
        _check(f"{path}, row {number}", row)
    return rows


def _check(where: str, row: Any) -> None:
    if not isinstance(row, dict):
        raise BadInput(f"{where}: expected an object, got {shown(row)}")
    for field, kind in _FIELDS.items():
        value = row.get(field)
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise BadInput(f"{where}, field {field!r}: expected {kind_named(kind)}, got {shown(value)}")
    if row["dataset"] not in _CONFIGS:
        raise BadInput(f"{where}, field 'dataset': expected one of {', '.join(_CONFIGS)}, got {shown(row['dataset'])}")
    if not 0 <= row["success_rate"] <= 1 or not 1 <= row["n"] <= _MOST:
        raise BadInput(f"{where}: expected a success rate in [0, 1] and 1 to {_MOST:,} questions")
    if not 1 <= row["k"] <= _MOST:
        raise BadInput(f"{where}, field 'k': expected 1 to {_MOST:,}, got {shown(row['k'])}")


def beside(
    runs: Mapping[str, Mapping[str, Any]], reported: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The runs, followed by the reported rates that were measured on the same config at one of the same k."""
    ks: dict[str, set[str]] = {}
    for scores in runs.values():
        ks.setdefault(scores["config"], set()).update(scores["by_k"])
    joined = {label: dict(scores) for label, scores in runs.items()}
    for label, rates in reported.items():
        by_k = {k: cell for k, cell in rates["by_k"].items() if k in ks.get(rates["config"], ())}
        if by_k:
            joined[label] = {**rates, "by_k": by_k}
    return joined
