"""What answers name beside the true items: where it comes from, and what it costs (paper: Appendices B.3.2, B.4, E.8, F).

Where the items come from that answers invent, what they name where nothing matches, verdicts that are partial, dialogue that
models make up, and F1 by bin when every item of an answer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, columns_of, exhibit, interval
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean, wilson
from epbench.statistics.smallest_difference import smallest_difference_of_rates
from epbench.tulving.events.dates import in_words
from epbench.tulving.judging.verdicts import first_scores
from epbench.tulving.paper.books import PaperBook
from epbench.tulving.paper.inputs import (
    EVENTS,
    INTERVALS,
    SPREAD,
    Line,
    f1_of,
    forest,
    judge_notes,
    lost_notes,
    named,
    reported_notes,
    runs_among,
    value,
)
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUES, Trace
from epbench.tulving.scores.inventions import SOURCES, Traced, Tracer, made_up_turns, trace_row

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

GROUPS = {"nothing matches": True, "something matches": False}  # whether their bin is 0
_WHERE = ("matching chapter", "near chapter", "far chapter", "question", "nowhere in the book")
_SOURCES = dict(zip(SOURCES, _WHERE, strict=True))
_TRACED = (
    "Invented: an item that the judge found and that is none of the true ones of its question. Where an item has other words "
    "than a true item that got points, the one that shares the most words with it counts as that item. All questions with a "
    "verdict count, whatever they ask for; full accounts of chapters only where nothing happened.",
    "Sources, by names and words: a chapter that matches the whole cue of the question; a near chapter, which has some of the "
    "elements that the question gives; a far one, which has none of them; the question itself; nowhere in the book. Of several "
    "chapters the nearest counts. “Away” is its mean distance from the nearest matching chapter, in chapters.",
    "Cells are shares of the invented items, with their number in parentheses. The CSV has a row for each item.",
)


def sources(lines: Sequence[Line], books: Sequence[PaperBook]) -> Made:
    """The shares of invented items by where they come from, for each run whose book is at hand."""
    name, title = "Invented items", "Where the items come from that answers invent"
    of_books = {book.fingerprint: book for book in books}
    runs = [line for line in runs_among(lines) if line.fingerprint in of_books]
    if not runs:
        return Missing(name, title, "runs whose books are at hand, as with --dataset")
    tracers = {print_: tracer_of(of_books[print_]) for print_ in {line.fingerprint for line in runs}}
    rows, points = list[dict[str, Value]](), list[dict[str, Value]]()
    kept = ("id", "repeat", "trace", "get", "bin", "origin", "question")
    for line in runs:
        judged = _judged(line)
        asked: Any = judged[(judged["trace"] != "full_details") | (judged["bin"] == "0")].to_dict("records")
        found = [(row, trace_row(row, tracers[line.fingerprint])) for row in asked]
        for row, one in ((row, one) for row, traced in found for one in traced):
            where = {"item": one.item, "item_from": one.source, "chapter": one.chapter}
            about = line.columns() | {name: row[name] for name in kept}
            points.append({**about, **where, "shared": one.shared, "distance": one.distance})
        for group, is_empty in GROUPS.items():
            rows += _shares(line, group, [traced for row, traced in found if (row["bin"] == "0") == is_empty])

    def share(row: Row) -> str:
        return "–" if row["mean"] is None else f"{row['mean']:.3f} ({row['found']})"

    counts = (Column("answers", "answers"), Column("with inventions", "inventing"), Column("items", "items"))
    columns = [*named("run", "memory", "questions"), *counts, Column("away", "away"), Column("{}", share)]
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


def partial_verdicts(lines: Sequence[Line]) -> Made:
    """How many of the judge's scores are neither 0 nor 1."""
    rows = []
    for line in runs_among(lines):
        known = _judged(line)
        of_answers = map(first_scores, known["reference"], known["scores"])
        scores = [score for of in of_answers for score in of.values()]
        share = _share_of(0 < score < 1 for score in scores)
        counts: Row = {"none": scores.count(0), "whole": scores.count(1)}
        rows += [{**line.columns(), **share, **counts}] if scores else []
    about = [Column("not found", "none"), Column("found", "whole"), Column("true items", "n")]
    note = "Partial: a score above 0 and below 1. Each true item of an answer counts once."
    return _shares_of_runs("B.4", "True items that the judge finds in part", lines, rows, "partial_scores", about, note)


def dialogues(lines: Sequence[Line]) -> Made:
    """How many answers hold a dialogue that the model made up, and their F1 beside that of the others."""
    rows = []
    for line in runs_among(lines):
        given = line.questions[line.questions["answer"].notna()]
        turns = given["answer"].map(made_up_turns)
        f1 = {f"f1_{of}": given["f1"][(turns > 0) == has].dropna() for of, has in (("with", True), ("without", False))}
        means = {of: float(found.mean()) if len(found) else None for of, found in f1.items()}
        share = _share_of(turns > 0)
        rows += [{**line.columns(), **share, "most": int(turns.max()), **means}] if len(given) else []
    about = columns_of({"answers": "n", "most turns": "most", "F1 with": "f1_with", "F1 without": "f1_without"})
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
) -> Made:
    if not rows:
        return Missing(name, title, "runs with verdicts")
    papers = [line for line in lines if line.reported is not None and score in line.reported.scores]
    nothing = dict.fromkeys(rows[0])
    more = [nothing | line.columns() | line.reported_score(score).columns("mean", "n") for line in papers]
    columns = [*named("run", "memory"), Column("share", value()), Column("95 % interval", interval()), *about]
    intervals = "Intervals: Wilson's, 95 %, as if all were independent."
    notes = [f"{note} {intervals}", *judge_notes(lines), *reported_notes(papers)]
    return Exhibit(name, title, framed([*rows, *more]), columns, notes, forest(rows, "", "memory", "share"))


# What is named where nothing matches

BOTH, INNER, OUTER = ORIGINS = ("both", "inner", "outer")
SCORE = "hallucinations"  # in reported rows; the share of one origin is `hallucinations.inner`

_NAMED = (
    "Questions of bin 0 that ask for all items (get = all): nothing matches, and the right answer names nothing. Inner ones "
    "are made of what happens in the book, but never together; outer ones name something that is nowhere in the book.",
    "An answer hallucinates if the judge found at least one item in it. Its F1 is 0 then, and 1 otherwise; items are the "
    "mean number of different items of all answers, abstentions included.",
    "Intervals of shares: Wilson's, 95 %, as if the questions were independent; several are made from one chapter. There are "
    "none where questions were asked several times. Nothing is tested here.",
)
_LOST = (
    "A range stands for a share that has lost questions: from none of the failed ones naming something to all of them."
)
_USED = ["id", "trace", "cue", "origin", "outcome", "answer", "items", "f1", EVENTS]  # wide frames are slow to divide
_LETTERS = "A cue gives time (t), space (s), entity (e) and content (c), or some of them."


def hallucinations(lines: Sequence[Line]) -> list[Made]:
    """The shares by origin, and the same by the kind of item asked for and by what the cue gives."""
    name, title = "E.8", "Answers that name something although nothing in the book matches"
    empty = [(line, of.loc[of["bin"] == "0", _USED]) for line in runs_among(lines) for of in [line.asked_for_all]]
    asked = [(line, questions) for line, questions in empty if len(questions)]
    if not asked:
        return [Missing(name, title, "runs with questions of bin 0 that ask for all items")]
    judges = judge_notes([line for line, _ in asked])
    papers = [row for line in lines for row in _reported_shares(line)]
    sources = dict.fromkeys(row["paper"] for row in papers)
    said = [f"Rows marked (reported) are from {one}, judged by people or by the paper's judge." for one in sources]
    share = Column("share", value("share_")), Column("95 % interval", interval("share_low", "share_high"))
    made: list[Made] = []
    kinds: tuple[tuple[str, Sequence[str], Sequence[str]], ...] = (
        ("origin", (BOTH,), [*_smallest_differences(asked), *judges, *said]),
        ("trace", get_args(Trace), judges),
        ("cue", CUES, [_LETTERS, *judges]),
    )
    for by, values, more in kinds:
        rows = []
        for (line, questions), kind, origin in product(asked, values, ORIGINS):
            part = questions if by == "origin" else questions[questions[by] == kind]
            part = part if origin == BOTH else part[part["origin"] == origin]
            about = {**line.columns(), by: kind, "origin": origin}
            rows += [_named_row(about, *_named(part), f1_of(part))] if len(part) else []
        drawn = [row for row in rows if by == "origin" or row["origin"] == BOTH]
        drawn.sort(key=lambda row: 0 if by == "origin" else values.index(str(row[by])))
        plot = forest(drawn, "share_", by, "share of answers that name something")
        rows += papers if by == "origin" else []
        lost = [_LOST] if any(row["n_failed"] for row in rows) else []
        about_rows = named("run", *dict.fromkeys(("memory", by, "origin")))
        columns = [*about_rows, *share, Column("items", "items_mean"), *named("F1", "n", "failed")]
        names = (name, title) if by == "origin" else (f"{name}, {by}s", f"{title}, by {by}")
        made.append(Exhibit(*names, framed(rows), columns, [*_NAMED, *lost, *more], plot))
    return made


def _named_row(about: Mapping[str, Value], share: Estimate, items: Estimate, f1: Estimate) -> dict[str, Value]:
    shares = share.columns("mean", "low", "high", "lowest", "highest", prefix="share_")
    named = share.columns("n", "n_failed") | shares | items.columns("mean", prefix="items_")
    return {**about, **named, **f1.columns(*SPREAD, prefix="f1_")}


def _named(questions: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """The share of the answers that name something, and the mean number of their items."""
    # Nothing is known of what a missing answer would have named, although it is wrong.
    known = (questions["outcome"] != "failed") & questions["answer"].notna()
    counts = questions["items"].map(lambda items: 0 if items is None else len(set(items))).astype(float).where(known)
    found = questions.assign(n_items=counts, named=(counts > 0).astype(float).where(known))
    once = not questions["id"].duplicated().any()
    share = estimate(found, "named", interval=(lambda of, _: wilson(round(sum(of)), len(of))) if once else None)
    return share, estimate(found, "n_items")


def _reported_shares(line: Line) -> Iterator[dict[str, Value]]:
    for origin in ORIGINS:
        share = line.reported_score(SCORE if origin == BOTH else f"{SCORE}.{origin}")
        if share.mean is not None:
            low, high = (wilson(round(share.mean * share.n), share.n) if share.n else None) or (None, None)
            about = {**line.columns(), "origin": origin}
            yield _named_row(about, replace(share, sd=None, low=low, high=high), Estimate(), Estimate())


def _smallest_differences(asked: Sequence[tuple[Line, pd.DataFrame]]) -> Iterator[str]:
    """For each book that several runs are about, how far two shares must be apart to be told apart."""
    of_books: dict[tuple[str, str], list[Estimate]] = {}
    for line, questions in asked:
        share, _ = _named(questions)
        if share.low is not None:
            of_books.setdefault((line.book, line.fingerprint), []).append(share)
    for (book, _), found in of_books.items():
        n, rate = found[0].n or 0, fmean(share.mean or 0.0 for share in found)
        difference = smallest_difference_of_rates(rate, n, paired=True)
        if len(found) > 1 and difference is not None:
            yield (
                f"Smallest difference: two runs on the same {n} questions about {book}, with shares around {rate:.3f}, must "
                f"differ by {difference:.3f} or more for a paired test to find it with power 0.8 at the level 0.05."
            )


# F1 by bin when every item counts

ALL_BINS = "all bins"
"""Stands for the simple recall score: the mean of the means of the bins."""

_HARSH = (
    "F1 is the paper's lenient one (Appendix B.3.2): precision counts at most as many items as there are true ones, so that "
    "naming more costs nothing, unless there is no true item. Harsh F1 counts every different item. Recall is the same in "
    "both, and so are answers that name no more items than are true, and all of bin 0.",
    "The loss is F1 less harsh F1 of the same questions; it cannot be negative, and no test is needed to see that it is more "
    "than nothing.",
    "Only questions that ask for all items count (get = all); bins count the matching chapters.",
)


def harsh(lines: Sequence[Line]) -> Made:
    """Both F1 of each run by bin, and over all bins: how much a run owes to items that cost it nothing."""
    name, title = "Harsh F1", "F1 by bin when every item of an answer counts, beside the lenient F1"
    rows = []
    for line in lines:
        questions = line.questions.assign(loss=line.questions["f1"] - line.questions["harsh_f1"])
        parts: dict[Any, pd.DataFrame] = dict(list(questions[questions["get"] == "all"].groupby("bin")))
        for bin_ in (ALL_BINS, *(bin_ for bin_ in BINS if bin_ in parts)) if parts else ():
            f1, harsh_f1, less = (
                over_bins(questions, column) if bin_ == ALL_BINS else f1_of(parts[bin_], column)
                for column in ("f1", "harsh_f1", "loss")
            )
            both = f1.columns(*SPREAD, prefix="f1_") | harsh_f1.columns(*SPREAD, prefix="harsh_f1_")
            loss = less.columns("mean", "sd", "low", "high", prefix="loss_")
            rows.append({**line.columns(), "bin": bin_, **f1.columns("n", "n_failed"), **both, **loss})
    of_loss = Column("loss", "loss_mean"), Column("95 % interval of the loss", interval("loss_low", "loss_high"))
    columns = [*named("run", "bin", "F1", "harsh F1"), *of_loss, *named("n", "failed")]
    notes = [*_HARSH, INTERVALS, *lost_notes(rows), *judge_notes(lines)]
    drawn = sorted(rows, key=lambda row: (ALL_BINS, *BINS).index(str(row["bin"])))
    plot = forest(drawn, "loss_", "bin", "F1 less harsh F1")
    needs = "runs with questions that ask for all items (get = all)"
    return exhibit(name, title, rows, columns, notes, plot, needs=needs, sections="label")


def over_bins(questions: pd.DataFrame, column: str) -> Estimate:
    """The mean of the means of the bins of get = all, as the simple recall score is one, with its interval; no deviation."""
    of_bins = [estimate(part, column) for _, part in questions[questions["get"] == "all"].groupby("bin")]
    n, n_failed = sum(one.n or 0 for one in of_bins), sum(one.n_failed or 0 for one in of_bins)
    if n_failed:
        lowest, highest = (
            fmean(one.mean if one.mean is not None else getattr(one, end) for one in of_bins)
            for end in ("lowest", "highest")
        )
        return Estimate(n, n_failed, lowest=lowest, highest=highest)
    judged = questions[questions["outcome"] != "failed"]  # the cues of all of them are drawn, as in scores.json
    values, bins = judged[column].to_numpy(float), judged["bin"].where(judged["get"] == "all")
    chosen = [(bins == bin_).to_numpy() for bin_ in sorted(bins.dropna().unique())]

    def mean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = sum(weighted_mean(weights * of_bin, values) for of_bin in chosen)  # type: ignore[assignment]
        return total / len(chosen)

    seen = min((judged[EVENTS][of_bin].nunique() for of_bin in chosen), default=None)
    low, high = cluster_bootstrap(mean, judged[EVENTS].tolist(), bounds=(0.0, 1.0), seen=seen) or (None, None)
    return Estimate(n, 0, fmean(one.mean or 0.0 for one in of_bins), low=low, high=high)
