"""Which fields the files of a run's folder have: whatever else stands there is another tool's, or damaged.

A field that not every version writes is optional; fields that no shape names are let alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import kind_named, kind_of, shown

NUMBER = (int, float)
_MAYBE_TEXT = (str, NoneType)
_MAYBE_NUMBER = (int, float, NoneType)
_LARGEST = 2**62


@dataclass(frozen=True)
class Items:
    """A list whose items all are of one kind; of `n` items, if that is given."""

    of: Kind
    n: int | None = None


@dataclass(frozen=True)
class Each:
    """An object whose fields have any names, and values of one kind."""

    of: Kind


@dataclass(frozen=True)
class Shape:
    """What an object must and may hold.

    Attributes:
        required: by field, the types of its value, or the shape of it.
        optional: the same of fields that may be missing.
        one_of: sets of fields of which one must be there whole, as an answer or the reason why there is none; none where
            this is empty.
    """

    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    one_of: tuple[tuple[str, ...], ...] = ()


Kind = tuple[type, ...] | Items | Each | Shape
"""What a value may be: of one of some types, or a list or an object of such values."""


def check(where: str, found: Any, shape: Shape) -> None:
    """Check an object that was read from a file.

    Args:
        where: how the message names the file, and the line.
        found: what was read.
        shape: what it must be.

    Raises:
        BadInput: it is not an object, lacks a field, or has one of another type.
    """
    if not isinstance(found, dict):
        raise BadInput(f"{where}: expected an object, found {kind_of(found)}")
    for name, kind in shape.required.items():
        if name not in found:
            raise BadInput(f"{where}, field {name!r}: expected {_named(kind)}, found nothing")
        _check_value(where, name, found[name], kind)
    for name, kind in shape.optional.items():
        if name in found:
            _check_value(where, name, found[name], kind)
    if shape.one_of and not any(found.keys() >= set(names) for names in shape.one_of):
        expected = " or ".join(", ".join(map(repr, names)) for names in shape.one_of)
        raise BadInput(f"{where}: expected the fields {expected}, found {', '.join(map(shown, list(found)[:9]))}")


def check_file(path: Path, found: Any) -> None:
    """Check what was read from a file whose name says what it holds; other files may hold anything.

    Raises:
        BadInput: as `check`.
    """
    shape = FILES.get(path.name)
    if isinstance(shape, Shape):
        check(str(path), found, shape)
    elif shape is not None:
        for name, value in found.items():
            _check_value(str(path), name, value, shape.of)


def _check_value(where: str, name: str, value: Any, kind: Kind) -> None:
    place = f"{where}, field {name!r}"
    if isinstance(kind, Shape) and isinstance(value, dict):
        check(place, value, kind)
    elif isinstance(kind, Each) and isinstance(value, dict):
        for inner, item in value.items():
            _check_value(place, inner, item, kind.of)
    elif isinstance(kind, Items) and isinstance(value, list) and kind.n in (None, len(value)):
        for number, item in enumerate(value):
            _check_value(where, f"{name}[{number}]", item, kind.of)
    elif not isinstance(kind, tuple) or not _fits(value, kind):
        raise BadInput(f"{place}: expected {_named(kind)}, found {shown(value)}")


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value has one of these types, and is a number that can be reckoned with if it is one."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in types and not (isinstance(value, int) and abs(value) > _LARGEST)


def _named(kind: Kind) -> str:
    if isinstance(kind, Items):
        return "a list" if kind.n is None else f"a list of {kind.n} values"
    return " or ".join(map(kind_named, kind)) if isinstance(kind, tuple) else "an object"


# The files

_JUDGE = Shape({"name": (str,), "prompt_hash": _MAYBE_TEXT})

RUN = Shape(
    {"identity": Shape({}, {"benchmark": (str,)})},
    {
        "dataset": (str,), "book": (str,), "label": (str,), "fingerprint": _MAYBE_TEXT, "limit": (int, NoneType),
        "shard": _MAYBE_TEXT, "judge": _JUDGE,
    },
)  # fmt: skip
"""run.json, without what its benchmark adds."""

IDENTITIES: dict[str, Shape] = {
    "tulving": Shape({}, {"fingerprint": (str,), "repeats": (int,), "released": (str,), "run": (str,)}),
    "booksort": Shape(
        {"fingerprint": (str,)},
        {"config": Items((str,)), "split": (str,), "books": (list, NoneType), "both_orders": (bool, NoneType)},
    ),
    "memfail": Shape({}, {"fingerprint": (str,), "system": _MAYBE_TEXT, "config": (str,)}),
}
"""By benchmark, the `identity` in run.json."""

SHARDS: dict[str, Shape] = {
    "tulving": Shape(
        {
            **dict.fromkeys(("dataset", "book", "label"), (str,)),
            "identity": Shape({"fingerprint": (str,), "repeats": (int,)}),
        }
    ),
    "booksort": Shape(
        {
            **dict.fromkeys(("dataset", "label"), (str,)),
            "identity": Shape({"config": Items((str,)), "split": (str,), "books": (list, NoneType)}),
        }
    ),
}
"""By benchmark, what must stand in run.json of a shard, so that it can be joined with others."""

_USAGE = Shape({}, {"prompt": (int,), "cached": (int,), "completion": (int,)})
_COST: dict[str, Kind] = {"usage": _USAGE, "seconds": _MAYBE_NUMBER, "failure": _MAYBE_TEXT}
_ANSWER = Shape(
    {"id": (str,), "repeat": (int,)},
    {
        **_COST, "answer": (str,), "partial": (str,), "ended": (str,), "reasoning": _MAYBE_TEXT,
        "probabilities": Each(_MAYBE_NUMBER),
    },
    (("answer",), ("failure",)),
)  # fmt: skip

JOURNALS: dict[str, Shape] = {
    "answers.jsonl": _ANSWER,
    "judge_calls.jsonl": _ANSWER,
    "prompt_answers.jsonl": _ANSWER,
    "replies.jsonl": _ANSWER,
    "judgements.jsonl": Shape(  # of a Tulving book, and with `verdict` of MemFail
        {"id": (str,), "judge": (str,)},
        {
            **_COST, "prompt_hash": _MAYBE_TEXT, "items": Items((str,)), "scores": Items(NUMBER), "order": Items((str,)),
            "verdict": (bool,), "reason": (str,), "kind": (str,), "raw": Items((str,)),
        },
        (("items", "scores", "order"), ("verdict",), ("failure",)),
    ),
    "stored.jsonl": Shape(
        {"store": (str,)},
        {
            "conversation": (str,), "units": Items((str,)), "again": (bool,), "lost": (bool,), "failure": _MAYBE_TEXT,
            "memories": (int,), "changed": (bool,), "seconds": _MAYBE_NUMBER,
        },
    ),
    "retrieved.jsonl": Shape(  # of a memory system, and of the passages of Book-SORT
        {},
        {
            "question": (str,), "k": (int,), "store": (str,), "of": (str,), "memories": Items((str,)),
            "failure": _MAYBE_TEXT, "seconds": _MAYBE_NUMBER, "id": (str,), "query": (str,),
            "passages": Items(Items((int,), 2)), "ranks": Items((int, NoneType)), "both": (bool,), "in_order": (bool,),
        },
        (("of", "memories"), ("failure",), ("id", "query", "ranks", "both", "in_order")),
    ),
}  # fmt: skip
"""By file, the records of a run's journals."""

FILES: dict[str, Each | Shape] = {
    "memories.json": Each(Items((str,))),
    "prompt_selection.json": Shape(
        {"reason": (str,), "tied": Items((int,))},
        dict.fromkeys(("prompt", "reading"), (int, str)) | dict.fromkeys(("prompts", "readings"), Items((dict,))),
        (("prompt", "prompts"), ("reading", "readings")),
    ),
}
"""By name, other files of a run: the memories of each store, and the choice of a prompt of Book-SORT."""


_SPAN = Items(NUMBER, 2)
_COUNTS = Each((int,))
_TULVING_SCORES = ("simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness")
_SHARES = ("sensitivity", "specificity", "order")
_SUMMARY = Shape(
    {
        **dict.fromkeys(("accuracy", "ci_low", "ci_high", "share_a", "p_value"), _MAYBE_NUMBER),
        **dict.fromkeys(("n", "n_invalid", "n_failed"), (int,)),
    },
    {
        **dict.fromkeys(("greedy_accuracy", "greedy_invalid", "label_mass", "low_mass"), _MAYBE_NUMBER),
        "n_label_mass": (int,), "incomplete": Shape({"accuracy": _SPAN, "greedy_accuracy": _SPAN}),
        **dict.fromkeys(("from", "to", "mean"), NUMBER),
    },
)  # fmt: skip
_GROUPS = (
    "book", "distance_bin", "distance", "excerpt_length", "segment_length", "excerpt_length x segment_length", "part",
    "book x part x segment_length",
)  # fmt: skip
_RATES = dict.fromkeys(
    ("success_rate", "answer_accuracy", "storage_error", "summary_error", "retrieval_error", "reasoning_error"),
    _MAYBE_NUMBER,
)
_OF_RATES = {"success_earned": _MAYBE_NUMBER, "memories": NUMBER, "words_per_memory": _MAYBE_NUMBER,
             "tokens_per_memory": _MAYBE_NUMBER}  # fmt: skip
_AT_K: dict[str, Kind] = {
    **_RATES, "vacuous": (int,), "failed": (int,), "n": (int,), "facts": _COUNTS, "intervals": Each(_SPAN),
}  # fmt: skip

SCORES: dict[str, Shape] = {
    "tulving": Shape(
        {
            **dict.fromkeys(_TULVING_SCORES, _MAYBE_NUMBER), "f1_by_bin": Each(NUMBER), "n_questions": (int,),
            "n_failed": (int,), "n_by_bin": _COUNTS, "intervals": Each(_SPAN),
        },
        {
            "failed_by_bin": _COUNTS, "incomplete": Each(_SPAN), "notes": Items((str,)),
            "judge": Shape(
                {"name": (str,), "prompt_hash": _MAYBE_TEXT, "passport": (dict, NoneType)},
                {
                    **dict.fromkeys(_SHARES, _MAYBE_NUMBER),
                    **{f"{share}_interval": (list, NoneType) for share in _SHARES},
                },
            ),
        },
    ),
    "booksort": Shape(
        {
            **dict.fromkeys(("accuracy", "greedy_accuracy", "share_a", "p_value"), _MAYBE_NUMBER),
            "n_questions": (int,), "n_invalid": (int,), "n_failed": (int,), "intervals": Each(_SPAN),
            "by_group": Shape({name: Each(_SUMMARY) for name in _GROUPS}), "distances": Items(_SUMMARY),
        },
        {
            "warnings": Items((str,)), "label_mass": _MAYBE_NUMBER, "n_label_mass": (int,), "consistency": _MAYBE_NUMBER,
            "incomplete": Shape({"accuracy": _SPAN, "greedy_accuracy": _SPAN}), "both_orders": Each(_MAYBE_NUMBER),
            "retrieval": (dict,),
        },
    ),
    "memfail": Shape(
        {"config": (str,), "by_k": Each(Shape(_AT_K, {**_OF_RATES, "by_group": Each(Shape(_AT_K, _OF_RATES))}))},
        {
            "system": _MAYBE_TEXT, "floor": Shape({"success_rate": NUMBER, "answer_accuracy": NUMBER}),
            "warnings": Items((str,)),
        },
    ),
}  # fmt: skip
"""By benchmark, scores.json: what tables and pictures of several runs are made from."""
