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

# Archive, the scores that the code of the paper gives to its runs.
ARCHIVES = [
    (archive, expected)
    for archive, expected in ((OURS, OURS_EXPECTED), (_BESIDE / "released_n20.zip", _BESIDE / "expected_n20.json"))
    if archive.exists() and expected.exists()
]
# Archive, length of its book, numbers of questions with an answer, for fine-tuning, and selected.
BOOKS = [
    (archive, book, counts)
    for archive, book, counts in (
        (OURS, "short", (564, 468, 456)),
        (_BESIDE / "released_n20.zip", "short", (564, 468, 456)),
        (_BESIDE / "released_n200.zip", "long", (3886, 3199, 686)),
    )
    if archive.exists()
]


def published_cases(name: str) -> Any:
    """Content of a JSON file of cases recorded from the code of the paper; empty where it does not lie there."""
    path = _BESIDE / name
    return json.loads(path.read_text("utf-8")) if path.exists() else []
