"""Archives in the published layout: one of ours, which is in the repository, and the published ones where they lie.

The published files may not be copied into the repository. Where they lie beside the checkout they are read in
addition to ours, so that no test needs them and none is skipped without them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent / "data"
_BESIDE = Path(__file__).parents[2] / "shared" / "data" / "tulving"

OURS = _HERE / "ours_n20.zip"
OURS_EXPECTED = _HERE / "ours_n20.json"

_THEIRS, _THEIR_LONG = _BESIDE / "released_n20.zip", _BESIDE / "released_n200.zip"

# Archive, the scores that the code of the paper gives to its runs.
ARCHIVES = [(OURS, OURS_EXPECTED), (_THEIRS, _BESIDE / "expected_n20.json")]
ARCHIVES = [files for files in ARCHIVES if all(path.exists() for path in files)]
# Archive, length of its book, numbers of questions with an answer, for fine-tuning, and selected.
BOOKS = [(archive, "short", (564, 468, 456)) for archive in (OURS, _THEIRS)]
BOOKS = [book for book in (*BOOKS, (_THEIR_LONG, "long", (3886, 3199, 686))) if book[0].exists()]


def published_cases(name: str) -> Any:
    """Content of a JSON file of cases recorded from the code of the paper; empty where it does not lie there."""
    path = _BESIDE / name
    return json.loads(path.read_text("utf-8")) if path.exists() else []
