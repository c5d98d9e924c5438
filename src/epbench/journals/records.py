"""What a record of each journal in a run's folder holds; a file of other records is damaged, or another tool's.

What the files of only one benchmark hold, such as its scores, lives with the benchmark.
"""

from __future__ import annotations

from msgspec import Struct

from epbench.files.typed import Number, Whole, fields

_USAGE = fields({}, dict.fromkeys(("prompt", "cached", "completion", "thinking"), Whole))
_COST = {"usage": _USAGE, "seconds": Number | None, "failure": str | None}
_PASSAGES = list[tuple[Whole, Whole]]
ANY_RECORD = fields({"key": str})
"""What every record has."""

_ANSWER = fields(
    {"key": str, "id": str, "repeat": Whole},
    {
        **_COST, **dict.fromkeys(("answer", "partial", "ended", "setup"), str), "reasoning": str | None,
        "probabilities": dict[str, Number | None], "missing": bool,
    },
    ("answer",), ("failure",), ("missing",),
)  # fmt: skip

JOURNALS: dict[str, type[Struct]] = {
    "answers.jsonl": _ANSWER,
    "judge_calls.jsonl": _ANSWER,
    "prompt_answers.jsonl": _ANSWER,
    "replies.jsonl": _ANSWER,
    "judgements.jsonl": fields(  # a verdict on every item of an answer, or one yes or no
        {"key": str, "id": str, "judge": str},
        {
            **_COST, "prompt_hash": str | None, **dict.fromkeys(("items", "order", "raw"), list[str]),
            "scores": list[Number], "verdict": bool, **dict.fromkeys(("reason", "kind", "setup"), str),
        },
        ("items", "scores", "order"), ("verdict",), ("failure",),
    ),
    "stored.jsonl": fields(
        {"key": str, "store": str},
        {
            "conversation": str, "units": list[str], **dict.fromkeys(("again", "lost", "changed"), bool),
            "failure": str | None, "memories": Whole, "seconds": Number | None, "of": str, "counts": dict[str, Whole],
            "bytes": Whole,
        },
    ),
    "system_calls.jsonl": fields(  # a request of a memory system to its models
        {
            **dict.fromkeys(("key", "method", "store", "item", "path", "reply"), str),
            **dict.fromkeys(("status", "tokens_in", "tokens_out"), Whole),
            **dict.fromkeys(("retry", "unparsable"), bool), "seconds": Number,
        },
    ),
    "retrieved.jsonl": fields(  # memories of a memory system, or passages
        {"key": str},
        {
            **dict.fromkeys(("question", "store", "of", "id", "query"), str), "k": Whole, "memories": list[str],
            "failure": str | None, "seconds": Number | None, "counts": dict[str, Whole], "passages": _PASSAGES,
            "ranks": tuple[Whole | None, Whole | None], **dict.fromkeys(("both", "in_order"), bool),
        },
        ("of", "memories"), ("failure",), ("id", "query", "ranks", "both", "in_order"),
    ),
    "batches.jsonl": fields(  # what was submitted to an endpoint's batch API
        {"key": str, "requests": list[str]}, {**dict.fromkeys(("file", "batch"), str), "collected": bool},
    ),
    "shown.jsonl": fields(  # which of the memories a reader is shown
        {"key": str, **dict.fromkeys(("k", "memories", "tokens", "left_out"), Whole)},
    ),
    "passages.jsonl": fields({"key": str, "id": str, "passages": _PASSAGES}),  # chapter and paragraph of each
    "training.jsonl": fields(  # a step of the optimizer
        {
            "key": str, **dict.fromkeys(("step", "epoch", "samples", "tokens", "learned"), Whole),
            **dict.fromkeys(("loss", "rate", "seconds", "tokens_per_second"), Number),
        },
        dict.fromkeys(("gradient_norm", "mfu", "mfu_causal"), Number | None),
    ),
    "measures.jsonl": fields({"key": str, "epoch": Whole}),  # what a checkpoint was worth; each benchmark measures more
}  # fmt: skip
"""The type of a record in each journal of a run, by the name of the file."""
