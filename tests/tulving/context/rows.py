"""Questions as the memories see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def asked(id_: str, question: str, n_chapters: int, chapters: Sequence[int] = ()) -> dict[str, Any]:
    """A row with what decides how a question is asked."""
    return {"id": id_, "question": question, "n_chapters": n_chapters, "chapters": list(chapters)}
