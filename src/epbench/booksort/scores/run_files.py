"""The files of a run of Book-SORT, as they are read; files of other tools and damaged ones are refused."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.dataset.load import SWAPPED
from epbench.booksort.judging import ScoredPair
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.runs import benchmark
from epbench.runs import folder as runs
from epbench.runs.results import Columns

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = fields(
    {"fingerprint": str},
    {
        "config": list[str], "books": list[Any] | None, "both_orders": bool | None, "query": Whole,
        **dict.fromkeys(("split", "memory", "model", "retriever"), str),
        **dict.fromkeys(("prompt", "reading"), Whole | str),
    },
)  # fmt: skip
"""The field `identity` of run.json."""

APART = ("auc", "auc_low", "auc_high", "auc_p_value", "calibrated_accuracy")
"""How well the log odds of A tell the questions apart; fields of scores.json that earlier versions did not write."""

_BOUNDS = fields({"accuracy": Interval, "greedy_accuracy": Interval})
_SUMMARY: Any = fields(
    {
        **dict.fromkeys(("accuracy", "ci_low", "ci_high", "share_a", "p_value"), Number | None),
        **dict.fromkeys(("n", "n_invalid", "n_failed"), Whole),
    },
    {
        **dict.fromkeys(("greedy_accuracy", "greedy_invalid", "label_mass", "low_mass", *APART), Number | None),
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
        "warnings": list[str], **dict.fromkeys(("label_mass", "consistency", *APART), Number | None), "n_label_mass": Whole,
        "incomplete": _BOUNDS, "both_orders": dict[str, Number | None], "retrieval": dict,
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)


# questions.parquet

LONG_EXCERPT = 5000  # words; longer excerpts have other bins of distance, and the paper calls them SORT-extend
SORT, EXTEND = "SORT", "SORT-extend"
"""The two parts of the paper: excerpts of up to 2,500 words, and longer ones."""

COLUMNS: Columns = {
    "id": "string",
    **dict.fromkeys(("book_idx", "excerpt_idx", "distance", "distance_bin", "excerpt_length", "segment_length"), "int32"),
    **dict.fromkeys(("seg1_pos", "seg2_pos"), "int32"),
    **dict.fromkeys(("answer", "predicted", "outcome", "failure"), "string"),
    **dict.fromkeys(("p_a", "p_b", "label_mass"), "double"), **dict.fromkeys(("greedy", "written"), "string"),
    **dict.fromkeys(("retrieved_both", "retrieved_order"), "bool"),
}  # fmt: skip
"""The columns, with the meanings that they have in `ScoredPair`; what is unknown or does not apply is null.

id ends in `/swapped` where a pair is asked a second time with its segments swapped. outcome is `right`, `wrong` or `failed`;
predicted and written are null for a failed question. label_mass is the sum of p_a and p_b.
"""


def record_of(row: ScoredPair) -> dict[str, Any]:
    """The row of questions.parquet about one question, with the fields of `COLUMNS`."""
    return {name: getattr(row, name, None) for name in COLUMNS} | {
        "predicted": None if row.failed else row.predicted,
        "outcome": "failed" if row.failed else "right" if row.correct else "wrong",
        "greedy": row.greedy or None,
        "written": None if row.failed else row.written,
    }


def table_of(records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The table of questions with these rows, as `read_questions` returns it."""
    import pandas as pd

    return _measured(pd.DataFrame(list(records), columns=list(COLUMNS)))


def read_questions(folder: Path) -> pd.DataFrame:
    """Read questions.parquet of a run; BadInput if it cannot be made, is no Parquet file, or lacks a column.

    The table has the columns of `COLUMNS`, and: part (of the paper: `SORT` or `SORT-extend`), excerpt (which excerpt the
    question is about; its questions share one reading, and so their errors), pair (the id of the pair; with both orders,
    two questions ask about each), swapped (whether it is the second asking of its pair), right (1, 0, or NaN if the
    question failed), share (the part of p(A) + p(B) that the right segment has), log_ratio (its logarithm; NaN if that is
    unknown, or the question failed), and log_odds (log p(A) - log p(B), whichever is right; infinite where one of them is
    0, NaN where the probabilities are unknown or both 0).
    """
    return _measured(benchmark.read_questions(folder, COLUMNS))


def about_whole_books(questions: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each question is of a config such as `book_s50`, which its id names."""
    return questions["id"].str.contains("-book_s", regex=False)


def share(values: pd.Series[Any]) -> float | None:
    """Return the share of True values, 0 to 1; None without any value."""
    return int(values.sum()) / len(values) if len(values) else None


def _measured(table: pd.DataFrame) -> pd.DataFrame:
    p_a, p_b = (table[label].astype("float64") for label in ("p_a", "p_b"))
    share, failed = p_a.where(table["answer"] == "A", p_b) / (p_a + p_b), table["outcome"] == "failed"
    places = zip(*(table[of] for of in ("book_idx", "excerpt_length", "segment_length", "excerpt_idx")), strict=True)
    return table.assign(
        part=(table["excerpt_length"] >= LONG_EXCERPT).map({False: SORT, True: EXTEND}),
        excerpt=[" ".join(map(str, place)) for place in places],
        pair=table["id"].str.removesuffix(SWAPPED),
        swapped=table["id"].str.endswith(SWAPPED),
        right=(table["outcome"] == "right").astype("float64").mask(failed),
        share=share,
        log_ratio=[math.log(part) if part > 0 else math.nan for part in share.mask(failed)],
        log_odds=_logarithms(p_a) - _logarithms(p_b),
    )


def _logarithms(probabilities: pd.Series[float]) -> pd.Series[float]:
    return probabilities.map(lambda p: -math.inf if p == 0 else math.log(p), na_action="ignore")
