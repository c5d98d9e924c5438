"""Reading run.json and scores.json of runs on Tulving books; other tools' files and damaged ones are refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.runs import folder as runs

IDENTITY = fields({}, {**dict.fromkeys(("fingerprint", "released", "run"), str), "repeats": Whole})
"""The field `identity` of run.json."""

_NUMBERS = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_SHARES = ("sensitivity", "specificity", "order")
_JUDGE = fields(
    {"name": str, "prompt_hash": str | None, "passport": dict[str, Any] | None},
    {
        "setup": str,
        "one_score": fields({"score": Number, "answers": Whole}),
        **dict.fromkeys(_SHARES, Number | None),
        **{f"{share}_interval": list[Any] | None for share in _SHARES},
    },
)

NAMING = ("items_ratio", "latest_several", "harsh_simple_recall_score")
"""Fields of scores.json about how many items the answers name."""

SCORES = fields(
    {
        **dict.fromkeys(_NUMBERS, Number | None), "f1_by_bin": dict[str, Number], "n_questions": Whole, "n_failed": Whole,
        "n_by_bin": dict[str, Whole], "intervals": dict[str, Interval],
    },
    {
        **dict.fromkeys(NAMING, Number | None), **dict.fromkeys(("coverage", "failed_by_bin"), dict[str, Whole]),
        **dict.fromkeys(("possible", "incomplete"), dict[str, Interval]), "notes": list[str], "judge": _JUDGE,
    },
)  # fmt: skip
"""The content of scores.json."""

LATER = (("coverage", "possible"), NAMING)
"""Fields of scores.json that earlier versions did not write, those of one version together."""


def check_same_book(described: Mapping[Path, Mapping[str, Any]]) -> list[Path]:
    """Check that runs are on one book.

    Args:
        described: The content of run.json by the folder of the run.

    Returns:
        The folders of which it is not known whether their chapters are those of the others; see `UNKNOWN_CHAPTERS`.

    Raises:
        BadInput: The runs are on different questions, or on different chapters.
    """
    # A run on a dataset has the fingerprint of its rows in its identity, a released run beside it.
    rows = {folder: run["identity"].get("fingerprint", run.get("fingerprint")) for folder, run in described.items()}
    chapters = {
        folder: run["identity"]["chapters"] for folder, run in described.items() if "chapters" in run["identity"]
    }
    for prints in (rows, chapters):
        if len(set(prints.values())) > 1:
            named = ", ".join(f"{folder}: {print_}" for folder, print_ in prints.items())
            raise BadInput(f"the runs are on different {'datasets' if prints is rows else 'chapters'}: {named}")
    own = [folder for folder, run in described.items() if "released" not in run["identity"]]
    return [folder for folder in own if chapters and folder not in chapters]


UNKNOWN_CHAPTERS = (
    "an earlier version made this run and did not note the text of the chapters, so it is unknown whether it is that of "
    "the other runs"
)

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)
