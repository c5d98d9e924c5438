"""What a paper reports, as reference rows of a table; the numbers come from the package, or from files of the user.

A file has success rates, or counts of errors by stage, or both kinds of rows are in files of their own: then they are put
together by config, system, internal model and k.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.packaged import packaged
from epbench.files.text import shown
from epbench.files.typed import fields, typed
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.reports.tables import Runs
from epbench.statistics.intervals import wilson

_TABLES = ("Conditional-Facts", "Conditional-Facts (Hard)", "Coexisting-Facts", "Persona-Retrieval", "Long-Hop")
_CONFIGS = dict(zip(_TABLES, CONFIGS, strict=True))  # by the name of a table of success rates
_PANELS = {
    "conditional": ("conditional_facts_easy", ""),
    "conditional_hard": ("conditional_facts_hard", ""),
    "coexisting": ("coexisting_facts", ""),
    "persona_retrieval_nonmisleading": ("persona_retrieval", "direct"),
    "persona_retrieval_misleading": ("persona_retrieval", "misleading"),
    "long_hop": ("long_hop", ""),
}
"""Config and kind of question by the name of a figure of errors."""
_COUNTS = {error: error.removesuffix("_error") for error in ERRORS}
_CORRECT = "correct_or_unanalysed"
_TOKENS = "mean_tokens_per_graded_question"
_STAGES = (*_COUNTS.values(), _CORRECT)
_MOST = 10**9
_Positive = Annotated[int, Meta(ge=1, le=_MOST)]
_Count = Annotated[int, Meta(ge=0, le=_MOST)]

_FILE = fields({"rows": list[dict[str, Any]]})
_ANY_ROW = {**dict.fromkeys(("dataset", "system", "internal_model"), str), "k": _Positive, "n": _Positive}
_USED = {_TOKENS: Annotated[float, Meta(ge=0.0, le=_MOST)] | None}
_RATE_ROW = fields({**_ANY_ROW, "success_rate": Annotated[float, Meta(ge=0.0, le=1.0)]}, _USED)
_ERRORS_ROW = fields(_ANY_ROW | dict.fromkeys(_STAGES, _Count), _USED)

PAPER = Path("paper")  # stands for the numbers of the paper on MemFail, which the package holds

Row = Mapping[str, Any]
Place = tuple[str, str, str, str]  # config, system, internal model and k


def read_reported(*paths: Path) -> dict[str, dict[str, Any]]:
    """Read reported numbers in the form of runs, by label; they have 95 % intervals (Wilson).

    Args:
        paths: `PAPER`, or JSON files with a list `rows` of objects with dataset, system, internal_model, k and n (the number of
            questions), and either success_rate (0 to 1) and perhaps mean_tokens_per_graded_question, or the numbers of
            questions storage, summary, retrieval, reasoning and correct_or_unanalysed, which add up to n.

    Returns:
        By label: config, system, system_model, reported, and by_k as in scores.json, with success_rate and the share of
        each stage's errors where a file has them, and tokens_per_question. The two kinds of persona questions are pooled,
        and each has its own scores under `direct` and `misleading`. Where no file has a success rate, it is the share of
        the questions that have no error.
        BadInput if there is no such file, it is not JSON, or a row lacks one of these values.
    """
    # By `rate`, or the kind of the questions whose errors are counted.
    cells: dict[Place, dict[str, dict[str, Any]]] = defaultdict(dict)
    for path in paths:
        for where, row in _rows(path):
            of_rate, who = "success_rate" in row, (row["system"], row["internal_model"])
            config, kind = (_CONFIGS[row["dataset"]], "rate") if of_rate else _PANELS[row["dataset"]]
            cell = cells[config, *who, str(row["k"])]
            if kind in cell and of_rate:
                raise BadInput(f"{where}: {_label(*who)} has two rates at k = {row['k']} on {row['dataset']}")
            if kind in cell:
                raise BadInput(f"{where}: {row['dataset']} has two rows of {row['system']} at k = {row['k']}")
            cell[kind] = _rate(row) if of_rate else _shares({name: row[name] for name in _STAGES})
    runs: dict[str, dict[str, Any]] = {}
    for place in sorted(cells, key=lambda place: (*place[:3], int(place[3]))):
        config, system, model, k = place
        about = {"config": config, "system": system, "system_model": model, "reported": True, "by_k": {}}
        run = runs.setdefault(f"{_label(system, model)} ({config})", about)
        run["by_k"][k] = _merged_cell(cells[place].pop("rate", None), cells[place])
    return runs


def sources_of(*paths: Path) -> dict[str, str]:
    """What files of reported numbers say of their source, by the name of the file; empty for one that says nothing."""
    return {path.name: str(read_json(path).get("source", "")) for path in map(_file, paths)}


def _file(path: Path) -> Path:
    return packaged("epbench.memfail", "reported_rates.json") if path == PAPER else path


def _label(system: str, model: str) -> str:
    return f"{system}, {model}, reported"


def _rate(row: Row) -> dict[str, Any]:
    rate, n = float(row["success_rate"]), row["n"]
    scores = {"success_rate": rate, "n": n, "intervals": _intervals({"success_rate": round(rate * n)}, n)}
    return scores | ({} if row.get(_TOKENS) is None else {"tokens_per_question": float(row[_TOKENS])})


def _shares(counts: Mapping[str, int]) -> dict[str, Any]:
    """The scores of a number of questions with these counts."""
    n = sum(counts.values())
    named = {"success_rate": counts[_CORRECT], **{error: counts[name] for error, name in _COUNTS.items()}}
    rates = {name: count / n for name, count in named.items()}
    return {**rates, "n": n, "counts": dict(counts), "intervals": _intervals(named, n)}


def _intervals(counts: Mapping[str, int], n: int) -> dict[str, list[float]]:
    return {name: list(interval) for name, count in counts.items() if (interval := wilson(count, n))}


def _merged_cell(rate: Mapping[str, Any] | None, parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One cell of rates and errors; a success rate that is reported as such comes first."""
    if not parts:
        return dict(rate or {})
    pooled = _shares({name: sum(part["counts"][name] for part in parts.values()) for name in _STAGES})
    by_kind = {kind: {**part} for kind, part in parts.items() if kind}
    if rate is None or rate["n"] != pooled["n"]:  # half of the persona questions, for example
        return {**by_kind, **pooled} if rate is None else {**by_kind, **rate}
    return {**by_kind, **pooled, **rate, "intervals": {**pooled["intervals"], **rate["intervals"]}}


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    path = _file(path)
    for number, row in enumerate(read_json(path, _FILE)["rows"]):
        where, with_errors = f"{path}, row {number}", "storage" in row
        typed(where, row, _ERRORS_ROW if with_errors else _RATE_ROW)
        names: Sequence[str] = tuple(_PANELS if with_errors else _CONFIGS)
        if row["dataset"] not in names:
            raise BadInput(f"{where}, field 'dataset': expected one of {', '.join(names)}, got {shown(row['dataset'])}")
        if with_errors and sum(row[name] for name in _STAGES) != row["n"]:
            raise BadInput(f"{where}: expected {', '.join(_STAGES)} to add up to n = {row['n']}")
        yield where, row


def beside(runs: Runs, reported: Runs) -> dict[str, dict[str, Any]]:
    """The runs, followed by the reported rates that were measured on the same config at one of the same k."""
    ks = defaultdict(set)
    for scores in runs.values():
        ks[scores["config"]].update(scores["by_k"])
    joined = {label: dict(scores) for label, scores in runs.items()}
    for label, rates in reported.items():
        if by_k := {k: cell for k, cell in rates["by_k"].items() if k in ks[rates["config"]]}:
            joined[label] = {**rates, "by_k": by_k}
    return joined
