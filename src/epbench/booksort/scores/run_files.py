"""Reading run.json and scores.json of Book-SORT runs; other tools' files and damaged ones are refused."""

from __future__ import annotations

from functools import partial
from typing import Any

from epbench.files.typed import Interval, Number, Whole, fields
from epbench.runs import folder as runs

IDENTITY = fields(
    {"fingerprint": str},
    {
        "config": list[str], "books": list[Any] | None, "both_orders": bool | None, "query": Whole,
        **dict.fromkeys(("split", "memory", "model", "retriever"), str),
        **dict.fromkeys(("prompt", "reading"), Whole | str),
    },
)  # fmt: skip
"""The field `identity` of run.json."""

_BOUNDS = fields({"accuracy": Interval, "greedy_accuracy": Interval})
_SUMMARY: Any = fields(
    {
        **dict.fromkeys(("accuracy", "ci_low", "ci_high", "share_a", "p_value"), Number | None),
        **dict.fromkeys(("n", "n_invalid", "n_failed"), Whole),
    },
    {
        **dict.fromkeys(("greedy_accuracy", "greedy_invalid", "label_mass", "low_mass"), Number | None),
        "n_label_mass": Whole, "incomplete": _BOUNDS, **dict.fromkeys(("from", "to", "mean"), Number),
    },
)  # fmt: skip
_GROUPS = (
    "book", "distance_bin", "distance", "excerpt_length", "segment_length", "excerpt_length x segment_length", "part",
    "book x part x segment_length",
)  # fmt: skip

SCORES = fields(
    {
        **dict.fromkeys(("accuracy", "greedy_accuracy", "share_a", "p_value"), Number | None),
        **dict.fromkeys(("n_questions", "n_invalid", "n_failed"), Whole), "intervals": dict[str, Interval],
        "by_group": fields(dict.fromkeys(_GROUPS, dict[str, _SUMMARY])), "distances": list[_SUMMARY],
    },
    {
        "warnings": list[str], **dict.fromkeys(("label_mass", "consistency"), Number | None), "n_label_mass": Whole,
        "incomplete": _BOUNDS, "both_orders": dict[str, Number | None], "retrieval": dict,
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)
