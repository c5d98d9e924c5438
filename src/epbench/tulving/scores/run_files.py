"""Reading run.json and scores.json of runs on Tulving books; other tools' files and damaged ones are refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from epbench.errors import BadInput
from epbench.files.shapes import MAYBE_NUMBER, MAYBE_TEXT, NUMBER, Each, Items, Shape
from epbench.runs import folder as runs

IDENTITY = Shape({}, {"fingerprint": (str,), "repeats": (int,), "released": (str,), "run": (str,)})
"""The field `identity` of run.json."""

_NUMBERS = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_SHARES = ("sensitivity", "specificity", "order")
_INTERVAL, _COUNTS = Items(NUMBER, 2), Each((int,))
_JUDGE = Shape(
    {"name": (str,), "prompt_hash": MAYBE_TEXT, "passport": (dict, NoneType)},
    {
        "setup": (str,),
        "one_score": Shape({"score": NUMBER, "answers": (int,)}),
        **dict.fromkeys(_SHARES, MAYBE_NUMBER),
        **{f"{share}_interval": (list, NoneType) for share in _SHARES},
    },
)

NAMING = ("items_ratio", "latest_several", "harsh_simple_recall_score")
"""Fields of scores.json about how many items the answers name."""

SCORES = Shape(
    {
        **dict.fromkeys(_NUMBERS, MAYBE_NUMBER), "f1_by_bin": Each(NUMBER), "n_questions": (int,), "n_failed": (int,),
        "n_by_bin": _COUNTS, "intervals": Each(_INTERVAL),
    },
    {
        **dict.fromkeys(NAMING, MAYBE_NUMBER),
        "coverage": _COUNTS, "possible": Each(_INTERVAL), "failed_by_bin": _COUNTS, "incomplete": Each(_INTERVAL),
        "notes": Items((str,)), "judge": _JUDGE,
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
read_scores = partial(runs.read_scores_to_show, shape=SCORES)
