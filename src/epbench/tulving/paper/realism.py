"""How realistic the events of a book are, as a model judges them (paper: Appendix E.7).

`epbench.tulving.judging.realism` is the judge; here its ratings are kept, and say which group a question belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal, cast

from epbench.errors import BadInput
from epbench.files.typed import Whole, fields
from epbench.journals.journal import Journal, Record
from epbench.judges.protocol import about_judge, judge_open
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.reports.exhibit import Column
from epbench.runs.folder import open_run
from epbench.statistics.estimate import Value
from epbench.tulving.judging.realism import RATINGS, RatedEvent, Rating, RealismJudge, RealismPrompts
from epbench.tulving.paper.books import BOOK, WRITER, BookTable, PaperBook, in_one_row

Realism = Literal["empty", "realistic", "non-realistic", "mixed"]

REALISTIC = RATINGS[:2]
"""The ratings of class R in the paper; the others are class N."""

JOURNAL, CALLS = "realism.jsonl", "judge_calls.jsonl"

_RECORD = fields(
    {"key": str, "chapter": Whole, "judge": str, "prompt_hash": str | None},
    {"setup": str, "rating": str, "reason": str, "failure": str | None},
    ("rating",),
    ("failure",),
)


def ratings_of(
    book: PaperBook,
    model: Model,
    folder: Path,
    progress: Progress = no_progress,
    *,
    prompts: RealismPrompts | None = None,
) -> dict[int, Rating | None]:
    """Have a model rate the events of a book; what the folder holds already is not asked again.

    Every reply and every rating is in the folder before the next is awaited, so that a killed process loses none.

    Returns:
        The rating of each chapter's event by the chapter's number; None where the judge failed, which the next start asks
        again.

    Raises:
        BadInput: The folder holds something else or another judge's ratings, or a prompt exceeds the model's window.
        RunFailed: The model's endpoint broke down, or turned all requests away; the replies so far are kept.
    """
    judge = RealismJudge(model, prompts)
    inputs = [RatedEvent(chapter.number, chapter.event) for chapter in book.chapters]
    judge.plan(inputs)
    identity = {"benchmark": "tulving", "realism_of": book.fingerprint, **about_judge(judge, "judge")}
    with open_run(folder, identity, {"book": book.name}):
        with closing(Journal(folder / JOURNAL, _RECORD)) as journal:
            judge_open(journal, inputs, judge, progress, "ratings", _describe, folder / CALLS)
        found = {one.chapter: journal.records.get(one.key(judge), {}).get("rating") for one in inputs}
    if unknown := next((rating for rating in found.values() if rating not in (*RATINGS, None)), None):
        raise BadInput(f"{JOURNAL}, field 'rating': expected one of {', '.join(RATINGS)}, found {unknown!r}")
    return {chapter: cast("Rating | None", rating) for chapter, rating in found.items()}


def realism_of(chapters: Collection[int], ratings: Mapping[int, Rating | None]) -> Realism | None:
    """The group of a question in Table 24, by the ratings of the events of the chapters that match its cue.

    It is `empty` without chapters, `mixed` if there are both classes, and None if that cannot be said because a rating is
    missing.
    """
    found = [ratings.get(chapter) for chapter in chapters]
    classes = {rating in REALISTIC for rating in found if rating is not None}
    if not found or len(classes) == 2:
        return "mixed" if found else "empty"
    return None if None in found else "realistic" if True in classes else "non-realistic"


def distribution(ratings: Mapping[str, Mapping[int, Rating | None]]) -> BookTable:
    """The table of how many chapters of each book have each rating; books that nobody has rated are left out."""

    def counted(book: PaperBook) -> dict[str, Value]:
        of_book = Counter(ratings[book.fingerprint].values())
        return {**book.identity, **{name: of_book[name] for name in RATINGS}, "unrated": of_book[None]}

    return BookTable(
        "E.7",
        "How realistic the events of a book are",
        [BOOK, WRITER, *(Column(name, name) for name in RATINGS), Column("not rated", "unrated")],
        own=lambda books: map(counted, books),
        given=in_one_row(RATINGS, unrated=None),
        notes=lambda _: [f"Chapters by the rating of their events; class R of the paper: {', '.join(REALISTIC)}."],
        needs=lambda _: "ratings of how realistic each chapter of a book is (--realism)",
        shows=lambda book: book.fingerprint in ratings,
    )


def _describe(one: RatedEvent, seconds: float) -> Record:
    return {"chapter": one.chapter, "seconds": round(seconds, 4)}
