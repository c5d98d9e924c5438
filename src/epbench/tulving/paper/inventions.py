"""Where what answers invent comes from, which verdicts are partial, and dialogue that models make up (Appendices E.8, B.4, F)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, interval
from epbench.statistics.estimate import Value, framed
from epbench.statistics.intervals import wilson
from epbench.tulving.events.dates import in_words
from epbench.tulving.paper.books import PaperBook
from epbench.tulving.paper.inputs import Line, runs_among
from epbench.tulving.paper.rows import RUN, forest, judge_notes, reported, reported_notes, texts, value
from epbench.tulving.scores.inventions import SOURCES, Traced, Tracer, made_up_turns, trace_row

if TYPE_CHECKING:
    import pandas as pd

GROUPS = {"nothing matches": True, "something matches": False}  # whether their bin is 0
_SOURCES = dict(
    zip(SOURCES, ("matching chapter", "near chapter", "far chapter", "question", "nowhere in the book"), strict=True)
)
_TRACED = (
    "Invented: an item that the judge found and that is none of the true ones of its question. Where an item has other words "
    "than a true item that got points, the one that shares the most words with it counts as that item. All questions with a "
    "verdict count, whatever they ask for; full accounts of chapters only where nothing happened.",
    "Sources, by names and words: a chapter that matches the whole cue of the question; a near chapter, which has some of the "
    "elements that the question gives; a far one, which has none of them; the question itself; nowhere in the book. Of several "
    "chapters the nearest counts. “Away” is its mean distance from the nearest matching chapter, in chapters.",
    "Cells are shares of the invented items, with their number in parentheses. The CSV has a row for each item.",
)


def sources(lines: Sequence[Line], books: Sequence[PaperBook]) -> Exhibit | Missing:
    """The shares of invented items by where they come from, for each run whose book is at hand."""
    name, title = "Invented items", "Where the items come from that answers invent"
    of_books = {book.fingerprint: book for book in books}
    tracers: dict[str, Tracer] = {}
    runs = [line for line in runs_among(lines) if line.fingerprint in of_books]
    if not runs:
        return Missing(name, title, "runs whose books are at hand, as with --dataset")
    rows: list[dict[str, Value]] = []
    points: list[dict[str, Value]] = []
    kept = ("id", "repeat", "trace", "get", "bin", "origin", "question")
    for line in runs:
        tracer = tracers.setdefault(line.fingerprint, tracer_of(of_books[line.fingerprint]))
        judged = _judged(line)
        asked: Any = judged[(judged["trace"] != "full_details") | (judged["bin"] == "0")].to_dict("records")
        found = [(row, trace_row(row, tracer)) for row in asked]
        for row, one in ((row, one) for row, traced in found for one in traced):
            where = {"item": one.item, "item_from": one.source, "chapter": one.chapter}
            about = line.columns() | {name: row[name] for name in kept}
            points.append({**about, **where, "shared": one.shared, "distance": one.distance})
        for group, is_empty in GROUPS.items():
            rows += _shares(line, group, [traced for row, traced in found if (row["bin"] == "0") == is_empty])

    def share(row: Row) -> str:
        return "–" if row["mean"] is None else f"{row['mean']:.3f} ({row['found']})"

    counts = (Column("answers", "answers"), Column("with inventions", "inventing"), Column("items", "items"))
    columns = [RUN, *texts("memory", "questions"), *counts, Column("away", "away"), Column("{}", share)]
    left = [line.who for line in runs_among(lines) if line.fingerprint not in of_books]
    notes = [*_TRACED, *judge_notes(runs), *([f"Not traced, without their books: {', '.join(left)}."] if left else [])]
    each = framed(points) if points else None
    return Exhibit(name, title, framed(rows), columns, notes, across="source_of_items", names=_SOURCES, points=each)


def tracer_of(book: PaperBook) -> Tracer:
    """What traces items in a book: its chapters with the elements of their events, which a text may give in other words."""
    names: dict[int, list[str]] = {}
    for chapter in book.chapters:
        event = chapter.event
        names[chapter.number] = [in_words(event.time), event.space, event.entity, event.content, *chapter.secondary]
    texts_of = ((one.number, "\n".join([one.text, *names[one.number]])) for one in book.chapters)
    return Tracer(texts_of, (name for of in names.values() for name in of))


def _shares(line: Line, group: str, found: Sequence[Sequence[Traced]]) -> Iterator[dict[str, Value]]:
    """A row of the frame for each source; nothing without answers."""
    items = [one for traced in found for one in traced]
    away = [one.distance for one in items if one.distance is not None]
    counts = {"answers": len(found), "inventing": sum(map(bool, found)), "items": len(items)}
    about = {**line.columns(), "questions": group, **counts, "away": fmean(away) if away else None}
    for source in SOURCES if found else ():
        from_it = [one.source == source for one in items]
        yield {**about, "source_of_items": source, "found": sum(from_it), **_share_of(from_it)}


# Scores between 0 and 1, and dialogue


def partial_verdicts(lines: Sequence[Line]) -> Exhibit | Missing:
    """How many of the judge's scores are neither 0 nor 1."""
    rows = []
    for line in runs_among(lines):
        known = _judged(line)
        of_answers = zip(known["reference"], known["scores"], strict=True)
        by_item = (dict(reversed(list(zip(true, of, strict=True)))) for true, of in of_answers)
        scores = [score for of in by_item for score in of.values()]
        share = _share_of(0 < score < 1 for score in scores)
        counts: Row = {"none": scores.count(0), "whole": scores.count(1)}
        rows += [{**line.columns(), **share, **counts}] if scores else []
    about = [Column("not found", "none"), Column("found", "whole"), Column("true items", "n")]
    note = "Partial: a score above 0 and below 1. Each true item of an answer counts once."
    return _shares_of_runs("B.4", "True items that the judge finds in part", lines, rows, "partial_scores", about, note)


def dialogues(lines: Sequence[Line]) -> Exhibit | Missing:
    """How many answers hold a dialogue that the model made up, and their F1 beside that of the others."""
    rows = []
    for line in runs_among(lines):
        given = line.questions[line.questions["answer"].notna()]
        turns = given["answer"].map(made_up_turns)
        f1 = {f"f1_{of}": given["f1"][(turns > 0) == has].dropna() for of, has in (("with", True), ("without", False))}
        means = {of: float(found.mean()) if len(found) else None for of, found in f1.items()}
        share = _share_of(turns > 0)
        rows += [{**line.columns(), **share, "most": int(turns.max()), **means}] if len(given) else []
    about = [Column("answers", "n"), Column("most turns", "most")]
    about += [Column("F1 with", "f1_with"), Column("F1 without", "f1_without")]
    title = "Answers that hold a dialogue of the model with itself"
    note = (
        "A turn of a dialogue is a line that begins with Human:, User:, Assistant: or Question:, or a mark of a chat "
        "template; an answer may begin with the last two. The judge reads the whole answer, as in the paper."
    )
    return _shares_of_runs("Appendix F", title, lines, rows, "self_dialogue", about, note)


def _judged(line: Line) -> pd.DataFrame:
    """The questions with an answer and a verdict."""
    return line.questions[(line.questions["outcome"] != "failed") & line.questions["answer"].notna()]


def _share_of(known: Iterable[bool]) -> Row:
    """The share of what is so, with Wilson's interval."""
    found = [float(is_so) for is_so in known]
    low, high = (wilson(round(sum(found)), len(found)) if found else None) or (None, None)
    return {"mean": fmean(found) if found else None, "low": low, "high": high, "n": len(found)}


def _shares_of_runs(
    name: str, title: str, lines: Sequence[Line], rows: Sequence[Row], score: str, about: Sequence[Column], note: str
) -> Exhibit | Missing:
    """A share of each run, and of the papers that report it."""
    if not rows:
        return Missing(name, title, "runs with verdicts")
    papers = [line for line in lines if line.reported is not None and score in line.reported.scores]
    nothing = dict.fromkeys(rows[0])
    more = [nothing | line.columns() | reported(line, score).columns("mean", "n") for line in papers]
    columns = [RUN, *texts("memory"), Column("share", value()), Column("95 % interval", interval()), *about]
    intervals = "Intervals: Wilson's, 95 %, as if all were independent."
    notes = [f"{note} {intervals}", *judge_notes(lines), *reported_notes(papers)]
    return Exhibit(name, title, framed([*rows, *more]), columns, notes, forest(rows, "", "memory", "share"))
