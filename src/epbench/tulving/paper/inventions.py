"""What answers invent, what they name where nothing matches, partial verdicts, and dialogues (Appendices B.4, E.8, F)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

from epbench.reports.exhibit import Exhibit, Made, Missing, Row, Shown, columns_of, interval
from epbench.reports.plots import grouped_by
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import wilson
from epbench.statistics.smallest_difference import smallest_difference_of_rates
from epbench.tulving.events.dates import in_words
from epbench.tulving.judging.verdicts import first_scores
from epbench.tulving.paper.books import PaperBook
from epbench.tulving.paper.inputs import EVENTS, Line, runs_among
from epbench.tulving.paper.shared import f1_of, forest, judge_notes, named, reported_notes, spreads, value
from epbench.tulving.questions.templates import CUES, Trace
from epbench.tulving.scores.inventions import SOURCES, Traced, Tracer, made_up_turns, trace_row

if TYPE_CHECKING:
    import pandas as pd

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
    tracers = {print_: _tracer_of(of_books[print_]) for print_ in {line.fingerprint for line in runs}}
    rows, points = list[dict[str, Value]](), list[dict[str, Value]]()
    for line in runs:
        judged = _judged(line)
        asked: Any = judged[(judged["trace"] != "full_details") | (judged["bin"] == "0")].to_dict("records")
        found = [(row, trace_row(row, tracers[line.fingerprint])) for row in asked]
        for row, one in ((row, one) for row, traced in found for one in traced):
            about = {name: row[name] for name in ("id", "repeat", "trace", "get", "bin", "origin", "question")}
            about |= {"item": one.item, "item_from": one.source, "chapter": one.chapter}
            points.append({**line.columns(), **about, "shared": one.shared, "distance": one.distance})
        for group, is_empty in GROUPS.items():
            rows += _sources_of(line, group, [traced for row, traced in found if (row["bin"] == "0") == is_empty])
    shown: Shown = {"answers": "answers", "with inventions": "inventing", "items": "items", "away": "away"}
    shown["{}"] = lambda row: "–" if row["mean"] is None else f"{row['mean']:.3f} ({row['found']})"
    columns = [*named("run", "memory", "questions"), *columns_of(shown)]
    left = [line.who for line in runs_among(lines) if line.fingerprint not in of_books]
    notes = [*_TRACED, *judge_notes(runs), *([f"Not traced, without their books: {', '.join(left)}."] if left else [])]
    each = framed(points) if points else None
    return Exhibit(name, title, framed(rows), columns, notes, across="source_of_items", names=_SOURCES, points=each)


def _tracer_of(book: PaperBook) -> Tracer:
    """With the elements of the events, which a text may give in other words."""
    names: dict[int, list[str]] = {}
    for chapter in book.chapters:
        event = chapter.event
        names[chapter.number] = [in_words(event.time), event.space, event.entity, event.content, *chapter.secondary]
    texts_of = ((one.number, "\n".join([one.text, *names[one.number]])) for one in book.chapters)
    return Tracer(texts_of, chain.from_iterable(names.values()))


def _sources_of(line: Line, group: str, found: Sequence[Sequence[Traced]]) -> Iterator[dict[str, Value]]:
    items = list(chain.from_iterable(found))
    away = [one.distance for one in items if one.distance is not None]
    counts = {"answers": len(found), "inventing": sum(map(bool, found)), "items": len(items)}
    about = {**line.columns(), "questions": group, **counts, "away": fmean(away) if away else None}
    for source in SOURCES if found else ():
        from_it = [one.source == source for one in items]
        yield {**about, "source_of_items": source, "found": sum(from_it), **_share_of(from_it)}


def partial_verdicts(lines: Sequence[Line]) -> Made:
    """How many of the judge's scores are neither 0 nor 1."""
    rows = []
    for line in runs_among(lines):
        known = _judged(line)
        scores = [of for one in map(first_scores, known["reference"], known["scores"]) for of in one.values()]
        if scores:
            share = _share_of(0 < score < 1 for score in scores)
            rows.append({**line.columns(), **share, "none": scores.count(0), "whole": scores.count(1)})
    shown: Shown = {"not found": "none", "found": "whole", "true items": "n"}
    note = "Partial: a score above 0 and below 1. Each true item of an answer counts once."
    return _shares_of_runs("B.4", "True items that the judge finds in part", lines, rows, "partial_scores", shown, note)


def dialogues(lines: Sequence[Line]) -> Made:
    """How many answers hold a dialogue that the model made up, and their F1 beside that of the others."""
    rows = []
    for line in runs_among(lines):
        given = line.questions[line.questions["answer"].notna()]
        turns = given["answer"].map(made_up_turns)
        if len(given):
            f1 = {"f1_with": given["f1"][turns > 0].mean(), "f1_without": given["f1"][turns == 0].mean()}
            rows.append({**line.columns(), **_share_of(turns > 0), "most": int(turns.max()), **f1})
    shown: Shown = {"answers": "n", "most turns": "most", "F1 with": "f1_with", "F1 without": "f1_without"}
    title = "Answers that hold a dialogue of the model with itself"
    note = (
        "A turn of a dialogue is a line that begins with Human:, User:, Assistant: or Question:, or a mark of a chat "
        "template; an answer may begin with the last two. The judge reads the whole answer, as in the paper."
    )
    return _shares_of_runs("Appendix F", title, lines, rows, "self_dialogue", shown, note)


def _judged(line: Line) -> pd.DataFrame:
    return line.questions[(line.questions["outcome"] != "failed") & line.questions["answer"].notna()]


def _share_of(known: Iterable[bool]) -> Row:
    """The share of what is so, with Wilson's interval."""
    found = [float(is_so) for is_so in known]
    low, high = (wilson(round(sum(found)), len(found)) if found else None) or (None, None)
    return {"mean": fmean(found) if found else None, "low": low, "high": high, "n": len(found)}


def _shares_of_runs(
    name: str, title: str, lines: Sequence[Line], rows: Sequence[Row], score: str, shown: Shown, note: str
) -> Made:
    if not rows:
        return Missing(name, title, "runs with verdicts")
    papers = [line for line in lines if line.reported is not None and score in line.reported.scores]
    more = [line.columns() | line.reported_score(score).columns("mean", "n") for line in papers]
    columns = [*named("run", "memory"), *columns_of({"share": value(), "95 % interval": interval(), **shown})]
    about = f"{note} Intervals: Wilson's, 95 %, as if all were independent."
    notes = [about, *judge_notes(lines), *reported_notes(papers)]
    return Exhibit(name, title, framed([*rows, *more]), columns, notes, forest(rows, "", "memory", "share"))


BOTH, *_ = ORIGINS = ("both", "inner", "outer")
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
    empty = {line: line.asked_for_all for line in runs_among(lines)}
    asked = {line: part for line, of in empty.items() if len(part := of.loc[of["bin"] == "0", _USED])}
    if not asked:
        return [Missing(name, title, "runs with questions of bin 0 that ask for all items")]
    judges = judge_notes(list(asked))
    papers = [row for line in lines for row in _reported_shares(line)]
    sources = dict.fromkeys(row["paper"] for row in papers)
    said = [f"Rows marked (reported) are from {one}, judged by people or by the paper's judge." for one in sources]
    shown: Shown = {"share": value("share_"), "95 % interval": interval("share_low", "share_high")}
    shown["items"] = "items_mean"
    made: list[Made] = []
    kinds: tuple[tuple[str, Sequence[str], Sequence[str]], ...] = (
        ("origin", (BOTH,), [*_smallest_differences(asked), *judges, *said]),
        ("trace", get_args(Trace), judges),
        ("cue", CUES, [_LETTERS, *judges]),
    )
    for by, values, more in kinds:
        rows = []
        for (line, questions), kind, origin in product(asked.items(), values, ORIGINS):
            part = questions if by == "origin" else questions[questions[by] == kind]
            part = part if origin == BOTH else part[part["origin"] == origin]
            if len(part):
                share, items = _named(part)
                about = _with_share(line.columns() | {by: kind, "origin": origin}, share)
                rows.append(about | items.columns("mean", prefix="items_") | spreads(f1=f1_of(part)))
        drawn = [row for row in rows if by == "origin" or row["origin"] == BOTH]
        drawn.sort(key=lambda row: 0 if by == "origin" else values.index(str(row[by])))
        plot = forest(drawn, "share_", by, "share of answers that name something")
        rows += papers if by == "origin" else []
        notes = [*_NAMED, *([_LOST] if any(row["n_failed"] for row in rows) else []), *more]
        about_rows = named("run", *dict.fromkeys(("memory", by, "origin")))
        columns = [*about_rows, *columns_of(shown), *named("F1", "n", "failed")]
        names = (name, title) if by == "origin" else (f"{name}, {by}s", f"{title}, by {by}")
        made.append(Exhibit(*names, framed(rows), columns, notes, plot))
    return made


def _with_share(about: dict[str, Value], share: Estimate) -> dict[str, Value]:
    shares = share.columns("mean", "low", "high", "lowest", "highest", prefix="share_")
    return about | share.columns("n", "n_failed") | shares


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
        share = line.reported_score("hallucinations" if origin == BOTH else f"hallucinations.{origin}")
        if share.mean is not None:
            low, high = (wilson(round(share.mean * share.n), share.n) if share.n else None) or (None, None)
            yield _with_share(line.columns() | {"origin": origin}, replace(share, low=low, high=high))


def _smallest_differences(asked: Mapping[Line, pd.DataFrame]) -> Iterator[str]:
    """For each book that several runs are about, how far two shares must be apart to be told apart."""
    shares = [(line.book, line.fingerprint, _named(questions)[0]) for line, questions in asked.items()]
    known = [one for one in shares if one[-1].low is not None]
    for (book, _), of in grouped_by(known, lambda one: one[:2]).items():
        found = [share for *_, share in of]
        n, rate = found[0].n or 0, fmean(share.mean or 0.0 for share in found)
        difference = smallest_difference_of_rates(rate, n, paired=True)
        if len(found) > 1 and difference is not None:
            yield (
                f"Smallest difference: two runs on the same {n} questions about {book}, with shares around {rate:.3f}, must "
                f"differ by {difference:.3f} or more for a paired test to find it with power 0.8 at the level 0.05."
            )
