"""The shapes of the files in a run's folder; a file of another shape is damaged, or another tool's.

Shapes that only one benchmark has, such as that of its scores, live with the benchmark.
"""

from __future__ import annotations

from types import NoneType

from epbench.files.shapes import MAYBE_NUMBER, MAYBE_TEXT, NUMBER, Each, Items, Kind, Shape

_USAGE = Shape({}, {"prompt": (int,), "cached": (int,), "completion": (int,)})
_COST: dict[str, Kind] = {"usage": _USAGE, "seconds": MAYBE_NUMBER, "failure": MAYBE_TEXT}
_ANSWER = Shape(
    {"id": (str,), "repeat": (int,)},
    {
        **_COST, "answer": (str,), "partial": (str,), "ended": (str,), "reasoning": MAYBE_TEXT,
        "probabilities": Each(MAYBE_NUMBER), "missing": (bool,), "setup": (str,),
    },
    (("answer",), ("failure",), ("missing",)),
)  # fmt: skip

JOURNALS: dict[str, Shape] = {
    "answers.jsonl": _ANSWER,
    "judge_calls.jsonl": _ANSWER,
    "prompt_answers.jsonl": _ANSWER,
    "replies.jsonl": _ANSWER,
    "judgements.jsonl": Shape(  # a verdict on every item of an answer, or one yes or no
        {"id": (str,), "judge": (str,)},
        {
            **_COST, "prompt_hash": MAYBE_TEXT, "items": Items((str,)), "scores": Items(NUMBER), "order": Items((str,)),
            "verdict": (bool,), "reason": (str,), "kind": (str,), "raw": Items((str,)), "setup": (str,),
        },
        (("items", "scores", "order"), ("verdict",), ("failure",)),
    ),
    "stored.jsonl": Shape(
        {"store": (str,)},
        {
            "conversation": (str,), "units": Items((str,)), "again": (bool,), "lost": (bool,), "failure": MAYBE_TEXT,
            "memories": (int,), "changed": (bool,), "seconds": MAYBE_NUMBER, "of": (str,), "counts": Each((int,)),
        },
    ),
    "system_calls.jsonl": Shape(  # a request of a memory system to its models
        {
            **dict.fromkeys(("method", "store", "item", "path", "reply"), (str,)),
            **dict.fromkeys(("status", "tokens_in", "tokens_out"), (int,)),
            **dict.fromkeys(("retry", "unparsable"), (bool,)), "seconds": NUMBER,
        },
    ),
    "retrieved.jsonl": Shape(  # memories of a memory system, or passages
        {},
        {
            "question": (str,), "k": (int,), "store": (str,), "of": (str,), "memories": Items((str,)),
            "failure": MAYBE_TEXT, "seconds": MAYBE_NUMBER, "counts": Each((int,)), "id": (str,), "query": (str,),
            "passages": Items(Items((int,), 2)), "ranks": Items((int, NoneType), 2), "both": (bool,), "in_order": (bool,),
        },
        (("of", "memories"), ("failure",), ("id", "query", "ranks", "both", "in_order")),
    ),
    "passages.jsonl": Shape({"id": (str,), "passages": Items(Items((int,), 2))}),  # chapter and paragraph of each
    "training.jsonl": Shape(  # a step of the optimizer
        {
            **dict.fromkeys(("step", "epoch", "samples", "tokens", "learned"), (int,)),
            **dict.fromkeys(("loss", "rate", "seconds", "tokens_per_second"), NUMBER),
        },
        {"gradient_norm": MAYBE_NUMBER, "mfu": MAYBE_NUMBER, "mfu_causal": MAYBE_NUMBER},
    ),
    "measures.jsonl": Shape({"epoch": (int,)}),  # what a checkpoint was worth; each benchmark measures something else
}  # fmt: skip
"""The shape of a record in each journal of a run, by the name of the file."""
