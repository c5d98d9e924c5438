"""How a published book was written: the checks of each candidate, as `paragraphs_verif_direct` and `_llm` keep them.

`paragraphs_verif_direct/model_<generator>_e<event>_iter<round>.json` is `[passed, [failed checks]]`. A candidate that
passed has a file of the same name in `paragraphs_verif_llm`, `[passed, [failed facts], …]`; a missing one counts as passed,
as it did there. Books of one experiment share these files, since their events are the first of one list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.tulving.chapters.loop import Iteration
from epbench.tulving.dataset.build import BOOKS
from epbench.tulving.released.archive import ReleasedBook
from epbench.tulving.released.files import Files

Checks = tuple[str, ...]


def published_rounds(files: Files, book: ReleasedBook) -> list[Iteration]:
    """Return the rounds of a published book (Table 7); none if the archive does not hold the checks.

    Raises:
        BadInput: A file of checks is truncated or holds something else.
    """
    exact = _checks(files, book, "paragraphs_verif_direct")
    n_events = n_published_events(files, book)
    exact = {candidate: failed for candidate, failed in exact.items() if candidate[0] < n_events}
    doubts = _checks(files, book, "paragraphs_verif_llm")
    rounds = []
    for number in sorted({number for _, number in exact}):
        here = [candidate for candidate in exact if candidate[1] == number]
        n_exact = sum(bool(exact[candidate]) for candidate in here)
        by_model = [doubts.get(candidate, ()) for candidate in here if not exact[candidate]]
        n_model = sum(map(bool, by_model))
        counts = Counter(name for candidate in here for name in exact[candidate])
        counts.update(f"llm_{fact}" for failed in by_model for fact in failed)
        rounds.append(Iteration(len(here), len(here) - n_exact - n_model, n_exact, n_model, dict(counts.most_common())))
    return rounds


def n_published_events(files: Files, book: ReleasedBook) -> int:
    """Return how many events a published book was to tell, with those that have no chapter.

    No file says so. It is the number of the paper's books of that length, unless later events have chapters or the checks
    know fewer events; then it is that of the last event with a chapter.
    """
    rows = files.table(f"{book.base}/df_book_groundtruth.parquet", fields({"raw_generated_paragraph_idx": Whole}))
    told = 1 + max((row["raw_generated_paragraph_idx"] for row in rows), default=-1)
    checked = {event for event, _ in _names(files, book, "paragraphs_verif_direct")}
    usual = BOOKS[book.book]
    return usual if told <= usual and set(range(usual)) <= checked else told


def _names(files: Files, book: ReleasedBook, folder: str) -> dict[tuple[int, int], str]:
    """The paths of the files of a folder by the number of the event, and that of the round from 0."""
    name = re.compile(rf"model_{re.escape(book.generator)}_e(\d+)_iter(\d+)\.json")
    base = f"{book.experiment}/{folder}"
    found = [(path, name.fullmatch(path)) for path in files.below(base)]
    return {(int(match[1]), int(match[2])): f"{base}/{path}" for path, match in found if match}


def _checks(files: Files, book: ReleasedBook, folder: str) -> Mapping[tuple[int, int], Checks]:
    """The checks that each candidate failed; () for one that passed."""
    return {candidate: _failed(files, path) for candidate, path in _names(files, book, folder).items()}


def _failed(files: Files, path: str) -> Checks:
    content: list[Any] = files.json(path, list[Any])
    passed, failed = (*content[:2], None, None)[:2]
    names = isinstance(failed, list) and all(isinstance(name, str) for name in failed)
    if not isinstance(passed, bool) or not isinstance(failed, list) or not names or passed is not (not failed):
        raise BadInput(f"{files.where(path)}: expected [passed, [names of failed checks]], found {shown(content)}")
    return tuple(failed)
