"""Reading run.json and scores.json of Book-SORT runs; other tools' files and damaged ones are refused."""

from __future__ import annotations

from functools import partial
from types import NoneType

from epbench.files.shapes import MAYBE_NUMBER, NUMBER, Each, Items, Shape
from epbench.runs import folder as runs

IDENTITY = Shape(
    {"fingerprint": (str,)},
    {
        "config": Items((str,)), "split": (str,), "books": (list, NoneType), "both_orders": (bool, NoneType),
        "memory": (str,), "model": (str,), "retriever": (str,), "query": (int,),
        **dict.fromkeys(("prompt", "reading"), (int, str)),
    },
)  # fmt: skip
"""The field `identity` of run.json."""

_INTERVAL = Items(NUMBER, 2)
_BOUNDS = Shape({"accuracy": _INTERVAL, "greedy_accuracy": _INTERVAL})
_SUMMARY = Shape(
    {
        **dict.fromkeys(("accuracy", "ci_low", "ci_high", "share_a", "p_value"), MAYBE_NUMBER),
        **dict.fromkeys(("n", "n_invalid", "n_failed"), (int,)),
    },
    {
        **dict.fromkeys(("greedy_accuracy", "greedy_invalid", "label_mass", "low_mass"), MAYBE_NUMBER),
        "n_label_mass": (int,), "incomplete": _BOUNDS, **dict.fromkeys(("from", "to", "mean"), NUMBER),
    },
)  # fmt: skip
_GROUPS = (
    "book", "distance_bin", "distance", "excerpt_length", "segment_length", "excerpt_length x segment_length", "part",
    "book x part x segment_length",
)  # fmt: skip

SCORES = Shape(
    {
        **dict.fromkeys(("accuracy", "greedy_accuracy", "share_a", "p_value"), MAYBE_NUMBER),
        "n_questions": (int,), "n_invalid": (int,), "n_failed": (int,), "intervals": Each(_INTERVAL),
        "by_group": Shape({name: Each(_SUMMARY) for name in _GROUPS}), "distances": Items(_SUMMARY),
    },
    {
        "warnings": Items((str,)), "label_mass": MAYBE_NUMBER, "n_label_mass": (int,), "consistency": MAYBE_NUMBER,
        "incomplete": _BOUNDS, "both_orders": Each(MAYBE_NUMBER), "retrieval": (dict,),
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, shape=SCORES)
