"""Reading run.json and scores.json of runs on Tulving books; other tools' files and damaged ones are refused."""

from __future__ import annotations

from functools import partial
from types import NoneType

from epbench.files.shapes import MAYBE_NUMBER, MAYBE_TEXT, NUMBER, Each, Items, Shape
from epbench.runs import folder as runs

IDENTITY = Shape({}, {"fingerprint": (str,), "repeats": (int,), "released": (str,), "run": (str,)})
"""The field `identity` of run.json."""

SHARD = Shape(
    {
        **dict.fromkeys(("dataset", "book", "label"), (str,)),
        "identity": Shape({"fingerprint": (str,), "repeats": (int,)}),
    }
)
"""What run.json of a shard must hold, so that it can be merged with others."""

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

SCORES = Shape(
    {
        **dict.fromkeys(_NUMBERS, MAYBE_NUMBER), "f1_by_bin": Each(NUMBER), "n_questions": (int,), "n_failed": (int,),
        "n_by_bin": _COUNTS, "intervals": Each(_INTERVAL),
    },
    {
        "coverage": _COUNTS, "possible": Each(_INTERVAL), "failed_by_bin": _COUNTS, "incomplete": Each(_INTERVAL),
        "notes": Items((str,)), "judge": _JUDGE,
    },
)  # fmt: skip
"""The content of scores.json."""

LATER = ("coverage", "possible")
"""Fields of scores.json that earlier versions did not write."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores, shape=SCORES)
