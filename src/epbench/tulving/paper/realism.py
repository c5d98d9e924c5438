"""How realistic the events of a book are, as a model judges them, and Tables 24 and 25, which group questions by it.

Paper: Appendix E.7. `epbench.tulving.judging.realism` is the judge; here its ratings are kept, and questions grouped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from epbench.errors import BadInput
from epbench.files.typed import Whole, fields
from epbench.journals.journal import Journal, Record
from epbench.judges.protocol import JudgeIdentity, about_judge, judge_open
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.reports.exhibit import Exhibit, Missing
from epbench.runs.folder import open_run
from epbench.tulving.judging.realism import MAX_TOKENS, RATINGS, RatedEvent, Rating, RealismJudge, RealismPrompts
from epbench.tulving.paper.books import PaperBook
from epbench.tulving.paper.comparisons import Contrast, answered, contrast_table, reported_tests
from epbench.tulving.paper.inputs import Line, grouped_by, runs_among
from epbench.tulving.paper.recall import BIN, recall_table
from epbench.tulving.paper.rows import ALL_ROWS, Side, f1_rows, for_each, papers_on

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
    max_tokens: int = MAX_TOKENS,
) -> dict[int, Rating | None]:
    """Have a model rate the events of a book; what the folder holds already is not asked again.

    Every reply and every rating is in the folder before the next is awaited, so that a killed process loses none.

    Args:
        book: The book.
        model: The judge.
        folder: Takes run.json, the calls and the ratings of this judge on this book; it may hold some of them.
        progress: Shows how many ratings there are.
        prompts: Ours by default.
        max_tokens: Most tokens of one reply, at least 1.

    Returns:
        The rating of each chapter's event by the chapter's number; None where the judge failed, which is no rating of any
        kind. The next start asks again for these.

    Raises:
        BadInput: The folder holds something else or another judge's ratings, or a prompt exceeds the model's window.
        RunFailed: The model's endpoint broke down, or turned all requests away; the replies so far are kept.
    """
    judge = RealismJudge(model, prompts, max_tokens=max_tokens)
    inputs = [RatedEvent(chapter.number, chapter.event) for chapter in book.chapters]
    judge.plan(inputs)
    identity = {"benchmark": "tulving", "realism_of": book.fingerprint, **about_judge(judge, "judge")}
    with open_run(folder, identity, {"book": book.name}):
        journal = Journal(folder / JOURNAL, _RECORD)
        try:
            judge_open(journal, inputs, judge, progress, "ratings", _describe, folder / CALLS)
        finally:
            journal.close()
        return _ratings(journal.records, inputs, judge)


def realism_of(chapters: Collection[int], ratings: Mapping[int, Rating | None]) -> Realism | None:
    """The group of a question in Table 24.

    Args:
        chapters: The numbers of the chapters that match its cue.
        ratings: The rating of each chapter's event; None where the judge failed.

    Returns:
        `empty` without chapters, `realistic` or `non-realistic` if all their events are of that class, `mixed` if there are
        both, and None if that cannot be said because a rating is missing.
    """
    found = [ratings.get(chapter) for chapter in chapters]
    classes = {rating in REALISTIC for rating in found if rating is not None}
    if not found:
        return "empty"
    if len(classes) == 2:
        return "mixed"
    if None in found:
        return None
    return "realistic" if True in classes else "non-realistic"


def _describe(one: RatedEvent, seconds: float) -> Record:
    return {"chapter": one.chapter, "seconds": round(seconds, 4)}


def _ratings(
    records: Mapping[str, Record], inputs: Sequence[RatedEvent], judge: JudgeIdentity
) -> dict[int, Rating | None]:
    found = {one.chapter: records.get(one.key(judge), {}).get("rating") for one in inputs}
    if unknown := next((rating for rating in found.values() if rating not in (*RATINGS, None)), None):
        raise BadInput(f"{JOURNAL}, field 'rating': expected one of {', '.join(RATINGS)}, found {unknown!r}")
    return {chapter: cast("Rating | None", rating) for chapter, rating in found.items()}


# Tables 24 and 25

Ratings = Mapping[str, Mapping[int, Rating | None]]
"""The rating of the event of each chapter of a book, by the book's fingerprint; None where the judge failed."""

_REALISM = Side("realism", {name: name for name in ("empty", "non-realistic", "mixed", "realistic")}, "events")
_UNRATED = "not rated"
_WORDS = (
    "Realistic: every matching chapter was rated realistic or moderately realistic; non-realistic: every one somewhat "
    "realistic, non-realistic or impossible; mixed: both kinds."
)


def by_realism(lines: Sequence[Line], realism: Ratings | None) -> list[Exhibit | Missing]:
    """F1 by how realistic the matching events are, and whether questions about unrealistic ones are answered better.

    Args:
        lines: The runs, and the rows of papers.
        realism: The ratings; None if nobody has rated a book. A book whose chapters are rated has both tables.
    """

    def recall(name: str, title: str, runs: Sequence[Line]) -> Exhibit:
        papers = papers_on(lines, runs[0].book, _REALISM, BIN)
        shown = [*(line for line in runs if f1_rows([line], _REALISM, BIN)), *papers]
        selection = f"{_WORDS} Only questions that ask for all items count (get = all)."
        return recall_table(name, title, shown, _REALISM, BIN, selection=selection, notes=_unrated_notes(shown))

    def tests(name: str, title: str, runs: Sequence[Line]) -> Exhibit:
        groups = ("non-realistic", "realistic")
        parts = [(line, [line.questions[line.questions["realism"] == group] for group in groups]) for line in runs]
        contrasts: list[Contrast] = [(line.who, groups, (first, second)) for line, (first, second) in parts]
        notes = [ALL_ROWS, f"{_WORDS} Mixed and empty questions are left out.", *_unrated_notes(runs)]
        contrasts = [each for each in contrasts if all(answered(each))]
        papers = reported_tests(
            lines, runs, lambda line, first, second: (line.who, (first, second)), lambda _: groups[0]
        )
        return contrast_table(name, title, "run", contrasts, notes, runs, papers)

    found, title = _rated(lines, realism or {}), "Questions about realistic and other events: {}"
    needs = "ratings of how realistic each chapter of the book of a run is"
    by_bin, by_run = map(title.format, ("F1 by the number of events that match the cue", "tests by run"))
    tested = for_each("Table 25", by_run, needs, found, tests)
    both = "answered questions about realistic and about other chapters"
    return [
        *for_each("Table 24", by_bin, needs, found, recall),
        *(one if isinstance(one, Missing) or one.records else Missing(one.name, by_run, both) for one in tested),
    ]


def _rated(lines: Sequence[Line], realism: Ratings) -> dict[str, list[Line]]:
    """The runs on each book whose chapters are rated, with a column `realism` of their questions."""
    found = []
    for line in runs_among(lines):
        if ratings := realism.get(line.fingerprint):
            chapters = line.questions["chapters"]
            groups = [realism_of([int(chapter) for chapter in of], ratings) or _UNRATED for of in chapters]
            found.append(replace(line, questions=line.questions.assign(realism=groups)))
    return grouped_by(found, lambda line: line.text)


def _unrated_notes(lines: Sequence[Line]) -> list[str]:
    """How many questions of each run are about a chapter without a rating."""
    counts = {line.who: int((line.questions["realism"] == _UNRATED).sum()) for line in runs_among(lines)}
    left_out = [f"{n} of {who}" for who, n in counts.items() if n]
    return [f"Questions about chapters without a rating are left out: {', '.join(left_out)}."] if left_out else []
