"""Reading run.json and scores.json of MemFail runs; other tools' files and damaged ones are refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.shapes import MAYBE_NUMBER, MAYBE_TEXT, NUMBER, Each, Items, Kind, Shape
from epbench.runs import folder as runs
from epbench.runs.several import runs_in

IDENTITY = Shape({}, {"fingerprint": (str,), "system": MAYBE_TEXT, "config": (str,), "control": (bool,)})
"""The field `identity` of run.json."""

_RATES = (
    "success_rate", "answer_accuracy", "storage_error", "summary_error", "retrieval_error", "reasoning_error",
)  # fmt: skip
_AT_K: dict[str, Kind] = {
    **dict.fromkeys(_RATES, MAYBE_NUMBER), "vacuous": (int,), "failed": (int,), "n": (int,), "facts": Each((int,)),
    "intervals": Each(Items(NUMBER, 2)),
}  # fmt: skip
_MORE_AT_K: dict[str, Kind] = {
    "success_earned": MAYBE_NUMBER, "memories": NUMBER, "words_per_memory": MAYBE_NUMBER,
    "tokens_per_memory": MAYBE_NUMBER, "vacuous_wrong": (int,),
}  # fmt: skip

SCORES = Shape(
    {"config": (str,), "by_k": Each(Shape(_AT_K, {**_MORE_AT_K, "by_group": Each(Shape(_AT_K, _MORE_AT_K))}))},
    {
        "system": MAYBE_TEXT, "floor": Shape({"success_rate": NUMBER, "answer_accuracy": NUMBER}),
        "unnoticed": Shape({"n": (int,), "misplaced": (int,), "of": (int,), "share": MAYBE_NUMBER}),
        "not_judgeable": Shape({"n": (int,), "of": (int,)}),
        "warnings": Items((str,)),
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, shape=SCORES)


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
