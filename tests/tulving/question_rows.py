"""Questions as memories and judges see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epbench.tulving.questions.generate import bin_of


def asked(id_: str, question: str, n_chapters: int, chapters: Sequence[int] = ()) -> dict[str, Any]:
    """A row with what decides how a question is asked."""
    return {"id": id_, "question": question, "n_chapters": n_chapters, "chapters": list(chapters)}


def row(id_: str, answer: Sequence[str], **more: Any) -> dict[str, Any]:
    """A question of a dataset: who was there at a time of its own, in as many chapters as there are true items."""
    n = len(answer)
    return {
        "id": id_, "question": "Who?", "trace": "entities", "get": "all", "answer": list(answer), "bin": bin_of(n),
        "n_chapters": n, "time": id_, "space": None, "entity": None, "content": None, "template": 2, "cue": "t",
        "chapters": list(range(1, n + 1)), "origin": "book", **more,
    }  # fmt: skip
