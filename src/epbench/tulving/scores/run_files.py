"""The files of a run on a Tulving book, as they are read: run.json, scores.json, and questions.parquet.

The table has a row for each time that a question was asked. Other tools' and damaged files are refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from epbench.files.typed import Interval, Number, Whole, fields
from epbench.runs import folder as runs
from epbench.runs.results import Columns
from epbench.tulving.calibration.passport import SHARES
from epbench.tulving.scores.scoring import NAMING

IDENTITY = fields({}, {**dict.fromkeys(("fingerprint", "released", "run"), str), "repeats": Whole})
"""The field `identity` of run.json."""

_NUMBERS = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_JUDGE = fields(
    {"name": str, "prompt_hash": str | None, "passport": dict[str, Any] | None},
    {
        "setup": str,
        "one_score": fields({"score": Number, "answers": Whole}),
        **dict.fromkeys(SHARES, Number | None),
        **{f"{share}_interval": list[Any] | None for share in SHARES},
    },
)

SCORES = fields(
    {
        **dict.fromkeys(_NUMBERS, Number | None), "f1_by_bin": dict[str, Number], "n_questions": Whole, "n_failed": Whole,
        "n_by_bin": dict[str, Whole], "intervals": dict[str, Interval],
    },
    {
        **dict.fromkeys(NAMING, Number | None), **dict.fromkeys(("coverage", "failed_by_bin"), dict[str, Whole]),
        **dict.fromkeys(("possible", "incomplete"), dict[str, Interval]), "notes": list[str], "judge": _JUDGE,
        "over_repeats": dict[str, Number],
    },
)  # fmt: skip
"""The content of scores.json."""

LATER = (("coverage", "possible"), NAMING)
"""Fields of scores.json that earlier versions did not write, those of one version together."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)

COLUMNS: Columns = {
    "id": "string", "repeat": "int64", "template": "int64",
    **dict.fromkeys(("cue", "time", "space", "entity", "content", "trace", "get", "bin"), "string"),
    "n_chapters": "int64", "origin": "string", "question": "string", "reference": ["string"], "chapters": ["int64"],
    "outcome": "string", "failure": "string", "answer": "string", "items": ["string"], "scores": ["double"],
    "order": ["string"], "reason": "string", **dict.fromkeys(("f1", "precision", "recall", "harsh_f1", "tau"), "double"),
}  # fmt: skip
"""The columns of questions.parquet.

id, template (0 to 35), cue (the given elements, of `t s e c`), time, space, entity and content (null where not given), trace,
get, bin, n_chapters, origin, question, chapters (all matching chapter numbers) and reference (list of true items; the
dataset's column `answer`) are those of the dataset. repeat counts from 0 how often the question was asked before.
outcome is `right` (F1 is 1), `wrong` (below 1, or no answer in a file of answers) or `failed`; failure is the reason why
there is no answer or no verdict.
answer is what the reader wrote; items, scores, order and reason are the judge's: items found in the answer, a score of 0 to 1
for each true item, the true items found in the order of the answer, and why. f1, precision and recall are those of
`episodic_f1`, harsh_f1 counts every item found, and tau is Kendall's, null unless all items of an ordered list were found.
A missing answer is null, names no items, and has an F1 of 0.
A failed question has no verdict: its columns from items on are null, and so is the answer unless it refuses or says nothing.
"""
