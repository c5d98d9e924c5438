"""Reading run.json and scores.json of MemFail runs; other tools' files and damaged ones are refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.runs import folder as runs
from epbench.runs.several import runs_in

IDENTITY = fields(
    {},
    {
        **dict.fromkeys(("system", "model", "system_model", "embedder"), str | None), "fingerprint": str, "config": str,
        "control": bool,
    },
)  # fmt: skip
"""The field `identity` of run.json."""

_RATES = (
    "success_rate", "answer_accuracy", "storage_error", "summary_error", "retrieval_error", "reasoning_error",
)  # fmt: skip
_RATED = {
    **dict.fromkeys(_RATES, Number | None), **dict.fromkeys(("vacuous", "failed", "n"), Whole), "facts": dict[str, Whole],
    "intervals": dict[str, Interval],
}  # fmt: skip
_MORE = {
    **dict.fromkeys(("success_earned", "words_per_memory", "tokens_per_memory"), Number | None), "memories": Number,
    "vacuous_wrong": Whole,
}  # fmt: skip
_GROUP: Any = fields(_RATED, _MORE)
_AT_K: Any = fields(_RATED, {**_MORE, "by_group": dict[str, _GROUP]})

SCORES = fields(
    {"config": str, "by_k": dict[str, _AT_K]},
    {
        "system": str | None, "floor": fields({"success_rate": Number, "answer_accuracy": Number}),
        "unnoticed": fields({"n": Whole, "misplaced": Whole, "of": Whole, "share": Number | None}),
        "not_judgeable": fields({"n": Whole, "of": Whole}), "warnings": list[str],
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)


def run_folders(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """The runs in some folders; each folder is a run, or holds one for each config.

    Returns:
        Pairs of the given folder and the folder of a run in it.

    Raises:
        BadInput: A folder holds no run of MemFail, a run did not end, or runs of one config are on different rows.
    """
    found: list[tuple[Path, Path]] = []
    rows: dict[str, tuple[Path, Any]] = {}
    for folder in folders:
        own = [run for run in runs_in(folder) if runs.read_run(run)["identity"].get("benchmark") == "memfail"]
        if not own:
            raise BadInput(f"{folder}: expected a run of MemFail, or a folder of such runs")
        for run in own:
            config, fingerprint = runs.read_scores(run, SCORES)["config"], read_run(run)["identity"].get("fingerprint")
            first, expected = rows.setdefault(config, (run, fingerprint))
            if fingerprint != expected:
                raise BadInput(f"{first} and {run} are on different rows of {config}")
            found.append((folder, run))
    return found
