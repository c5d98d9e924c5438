"""Runs of one reader on several books: how much its scores differ from book to book, beside their error on one book."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.judges.protocol import noted_judge
from epbench.models.protocol import name_of
from epbench.reports.tables import Table, cell, interval_cell
from epbench.runs.folder import read_run
from epbench.tulving.paper.book_scores import AllBooks, BookScore, book_score
from epbench.tulving.paper.dots import Point, Series, dots
from epbench.tulving.paper.inputs import Inputs, PaperRun
from epbench.tulving.paper.means import about, as_named, judge_notes, shown
from epbench.tulving.questions.generate import BINS

NAME = "Books of several seeds"
ALL_BOOKS = "all books"
_TITLE = "The same reader on several books: spread between books beside the error within one"
_NEEDS = "runs of the same model and memory on books of other seeds"
SCORES = {
    "simple_recall_score": "simple recall",
    **{f"f1_by_bin.{bin_}": f"bin {bin_}" for bin_ in BINS},
    "latest": "latest",
    "chronological_awareness": "chronological awareness",
}
"""The scores that are compared, by their names in scores.json, with their names in the table."""

_NOTES = (
    "Within a book: the standard error of a score, had other questions been asked about the same book. It is taken from the "
    "score's 95 % interval, for which cues are drawn with replacement: its width over 3.92. In the row of all books it is the "
    "root mean square over the books.",
    "Between books: the standard deviation of the scores that the books would have without that error, by the method of "
    "moments; it is 0 where the errors alone explain how much the books differ. In parentheses its 95 % interval, from the "
    "chi-square distribution of the observed variance, cut at 0.5, the largest deviation that scores of many books can have: "
    "from few books, an estimate of 0 does not show that books are alike.",
    "The value of all books is the mean of those of the books, each counted once. The 95 % interval beside it is where the "
    "score on another book like these is expected (Student's t over the books, cut at 0 and 1).",
    "Books that differ in length, universe or writer differ for that reason too; only books that differ in their seed alone "
    "show what the seed does.",
)
_LEFT_OUT = (
    "A book is not in the row of all books where its score has no interval: it has lost questions, and is shown as a range, or "
    "all questions have one cue."
)
_OF_BOOK = (
    "benchmark",
    "fingerprint",
    "chapters",
    "released",
    "run",
)  # what identities of runs on two books always differ in

Reader = tuple[str, ...]


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """The spread of each score over the books of each reader that has run on two or more."""
    readers = [runs for runs in _readers(as_named(inputs.runs)).values() if len({run.fingerprint for run in runs}) > 1]
    return [_exhibit(readers) if readers else Missing(NAME, _TITLE, _NEEDS)]


def _readers(runs: Sequence[PaperRun]) -> dict[Reader, list[PaperRun]]:
    """The runs by who read with which memory and who judged; a run that does not say who read stands alone."""
    found: dict[Reader, list[PaperRun]] = {}
    for run in runs:
        judge = run.scores.get("judge")
        judged_by = (str(noted_judge(judge)) if judge else "",)
        known = (run.memory, run.model) if run.memory and run.model else (run.label,)
        found.setdefault((run.source, *judged_by, *known), []).append(run)
    return found


def _exhibit(readers: Sequence[Sequence[PaperRun]]) -> Exhibit:
    notes, records, rows = [*_NOTES], [], []
    sections: list[int] = []
    points: dict[tuple[str, str], Point] = {}
    for runs in readers:
        books, left_out = _one_for_each_book(runs)
        notes += [*left_out, *_other_differences(list(books.values()))]
        for score, found in _scores(books):
            whole = AllBooks.of(found)
            records += [*map(_record, found), _summary(runs[0], score, whole)]
            rows += [*map(_row, found), _summary_row(runs[0], score, whole)]
            sections.append(len(rows) - 1)
            name = f"{_who(runs[0])}: {SCORES[score]}"
            points |= {(one.book, name): (one.value, one.interval) for one in found}
            points[ALL_BOOKS, name] = whole.point()
            notes += [_LEFT_OUT] if whole.n_books < len(found) and _LEFT_OUT not in notes else []
    notes += judge_notes([run for runs in readers for run in runs])
    head = ["memory", "model", "score", "book", "value", "95 % interval", "n", "within", "between"]
    table = Table(head, rows, notes=notes, text_columns=4, sections=sections[:-1])
    names = list(dict.fromkeys(name for _, name in points))
    books_first = sorted(dict.fromkeys(book for book, _ in points), key=lambda book: book == ALL_BOOKS)
    series = [
        Series(
            "mean ± deviation between books" if book == ALL_BOOKS else book,
            [points.get((book, name)) for name in names],
        )
        for book in books_first
    ]
    return Exhibit(NAME, _TITLE, records, table, partial(dots, names, series, "score"))


def _one_for_each_book(runs: Sequence[PaperRun]) -> tuple[dict[str, PaperRun], list[str]]:
    """The first run on each book, by the book's name, and a note on each other run."""
    first: dict[str, PaperRun] = {}
    notes = []
    for run in runs:
        if run.fingerprint in first:
            one = first[run.fingerprint]
            notes.append(f"{shown(run)} is left out: it is on the same book as {shown(one)}.")
        else:
            first[run.fingerprint] = run
    names = [run.book for run in first.values()]
    unique = len(set(names)) == len(names)
    return {run.book if unique else f"{run.book}, {print_[:6]}": run for print_, run in first.items()}, notes


def _other_differences(runs: Sequence[PaperRun]) -> list[str]:
    """A note on what the runs of one reader differ in beside the book."""
    identities = [read_run(run.folder)["identity"] for run in runs]
    names = dict.fromkeys(name for identity in identities for name in identity if name not in _OF_BOOK)
    differ = [name for name in names if len({str(identity.get(name)) for identity in identities}) > 1]
    return (
        [
            f"The runs of {_who(runs[0])} differ in more than the book: {', '.join(differ)} (a default may follow from the book)."
        ]
        if differ
        else []
    )


def _scores(books: Mapping[str, PaperRun]) -> Iterator[tuple[str, list[BookScore]]]:
    """Each score that two or more books have questions for, on these books."""
    for score in SCORES:
        found = [one for book, run in books.items() if (one := book_score(book, run, score)).n]
        if len(found) > 1:
            yield score, found


def _who(run: PaperRun) -> str:
    return marked(f"{run.memory}, {name_of(run.model)}", run.source)


def _leading(run: PaperRun, score: str, book: str) -> list[str]:
    return [run.memory, marked(name_of(run.model), run.source), SCORES[score], book]


def _row(one: BookScore) -> list[str]:
    value = interval_cell(one.bounds) if one.value is None else cell(one.value)
    error = cell(one.error)
    return [*_leading(one.run, one.score, one.book), value, interval_cell(one.interval), str(one.n), error, "–"]


def _summary_row(run: PaperRun, score: str, whole: AllBooks) -> list[str]:
    leading = _leading(run, score, f"{ALL_BOOKS} ({whole.n_books})")
    if whole.spread is None:
        return [*leading, *["–"] * 5]
    between = cell(whole.spread.between)
    if whole.between is not None:
        between += f" ({interval_cell(whole.between)})"
    return [
        *leading, cell(whole.spread.mean), interval_cell(whole.interval()), str(whole.n), cell(whole.spread.within), between,
    ]  # fmt: skip


def _record(one: BookScore) -> dict[str, Value]:
    low, high = one.interval or (None, None)
    worst, best = one.bounds or (None, None)
    return about(one.run) | {
        "book": one.book, "score": one.score, "n_books": 1, "value": one.value, "low": low, "high": high,
        "if_failed_wrong": worst, "if_failed_right": best, "n": one.n, "within": one.error, "between": None,
        "between_low": None, "between_high": None,
    }  # fmt: skip


def _summary(run: PaperRun, score: str, whole: AllBooks) -> dict[str, Value]:
    (low, high), spread = whole.interval() or (None, None), whole.spread
    between_low, between_high = whole.between or (None, None)
    return about(run) | {
        "label": ALL_BOOKS, "book": ALL_BOOKS, "score": score, "n_books": whole.n_books,
        "value": spread.mean if spread else None, "low": low, "high": high, "if_failed_wrong": None, "if_failed_right": None,
        "n": whole.n, "within": spread.within if spread else None, "between": spread.between if spread else None,
        "between_low": between_low, "between_high": between_high,
    }  # fmt: skip
