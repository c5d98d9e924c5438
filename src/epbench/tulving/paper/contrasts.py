"""One-sided tests between two samples of questions: books by two writers, in two orders, realistic events (Tables 20 to 25)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, p_value
from epbench.statistics.estimate import Value, framed, p_text
from epbench.statistics.paired import holm
from epbench.tulving.judging.realism import Rating
from epbench.tulving.paper.inputs import Line, grouped_by, runs_among
from epbench.tulving.paper.realism import realism_of
from epbench.tulving.paper.recall import BIN, recall_table, with_reported_once
from epbench.tulving.paper.rows import (
    ALL_ROWS,
    Side,
    asked_for_all,
    f1_rows,
    for_each,
    judge_notes,
    papers_on,
    reported_notes,
)

if TYPE_CHECKING:
    import pandas as pd

_TESTS = (
    "Mann–Whitney U, one-sided: whether F1 of the first is higher than of the second. Effect: the probability that a question "
    "of the first has a higher F1 than one of the second, ties counted half; 0.5 is no difference.",
    "p (Holm) is corrected for all rows of this table. Smallest effect: what so many questions show with 80 % power at p < 0.05, "
    "without a correction; a smaller effect may be there though p is large.",
)
_UNCORRECTED = (
    "The paper's p-values are shown as it prints them, <0.01 where it gives no number; Holm's correction is over the tests "
    "of runs alone."
)
_PAIRED = (
    "As in the paper, the samples count as independent, although both readers answer questions about the same events; a "
    "comparison question by question finds smaller differences."
)


@dataclass(frozen=True)
class _Contrast:
    """Two samples of questions, of which the first is expected to have the higher F1."""

    fixed: str  # what is held fixed, such as the book
    first: str  # what the samples are
    second: str
    samples: tuple[pd.DataFrame, ...] = ()  # the questions of both; none of a test that a paper reports
    paper: Line | None = None  # that line
    p: Mapping[str, float] | None = None  # and its p-value, or an upper bound of it as `p_below`

    @property
    def f1(self) -> tuple[list[float], list[float]]:
        """F1 of the questions of each sample that have not failed."""
        first, second = (sample["f1"].dropna().astype(float).tolist() for sample in self.samples)
        return first, second


@dataclass(frozen=True)
class _Tests:
    """How a table of tests is declared."""

    name: str
    title: str
    about: str  # what is held fixed in a row, such as `book`
    notes: Sequence[str]  # what comes first among the notes
    of_paper: Callable[[Line, str, str], tuple[str, str, str]]  # what is fixed and both samples, of a reported test
    first: Callable[[Line], str]  # the first sample of the reported tests that belong here, as their scores name it

    def missing(self, needs: str) -> Missing:
        """What stands for the table if no run can be tested."""
        return Missing(self.name, self.title, needs)

    def table(
        self, contrasts: Sequence[_Contrast], runs: Sequence[Line], lines: Sequence[Line], needs: str
    ) -> Exhibit | Missing:
        """Tests with Holm's correction over the rows of runs, and below them what papers report.

        Args:
            contrasts: The tests; those without answers in both samples are left out.
            runs: The runs that are compared.
            lines: All lines.
            needs: What is missing if no test is left.
        """
        from epbench.statistics.smallest_difference import mann_whitney

        contrasts = [contrast for contrast in contrasts if all(contrast.f1)]
        if not contrasts:
            return self.missing(needs)
        tests = [mann_whitney(*contrast.f1, "greater") for contrast in contrasts]
        papers = self._reported(lines, {run.book for run in runs})
        rows: list[dict[str, Value]] = []
        for contrast, test, p_holm in zip(contrasts, tests, holm([test.p for test in tests]), strict=True):
            (mean, other), (n, n_other) = test.means, test.n
            found = {"first_mean": mean, "first_n": n, "second_mean": other, "second_n": n_other}
            found["n_failed"] = sum(map(len, contrast.samples)) - n - n_other
            found |= {"u": test.u, "effect": test.effect, "p": test.p, "p_holm": p_holm}
            rows.append(self._who(contrast) | found | {"smallest": 0.5 + test.smallest_difference})
        lost = sum(int(row["n_failed"] or 0) for row in rows)
        for one in papers:
            source = one.paper.columns()["paper"] if one.paper else None
            rows.append(self._who(one) | {"p": None, "p_below": None} | dict(one.p or {}) | {"paper": source})
        columns = [
            Column(self.about, self.about, text=True),
            Column("first > second", lambda row: f"{row['first']} > {row['second']}", text=True),
            Column("n", lambda row: _both(row, "{first_n} / {second_n}")),
            Column("mean F1", lambda row: _both(row, "{first_mean:.3f} / {second_mean:.3f}")),
            Column("effect", "effect"),
            Column("p", _p),
            Column("p (Holm)", p_value()),
            Column("smallest effect", "smallest"),
        ]
        notes = [*self.notes, *_TESTS]
        notes += [f"{lost} questions without an answer or a verdict are left out of the tests."] if lost else []
        notes += [*judge_notes(runs), *([_UNCORRECTED] if papers else [])]
        notes += reported_notes([*runs, *(one.paper for one in papers if one.paper)]) if papers else []
        return Exhibit(self.name, self.title, framed(rows), columns, notes)

    def _who(self, contrast: _Contrast) -> dict[str, Value]:
        samples = {"first": contrast.first, "second": contrast.second}
        return {self.about: contrast.fixed, **samples, "alternative": "first > second"}

    def _reported(self, lines: Sequence[Line], books: set[str]) -> list[_Contrast]:
        """What papers report about these books: scores such as `p.gpt-4o>claude-3-haiku` or `p_below.short-ordered>short`."""
        return [
            _Contrast(*self.of_paper(line, *pair.split(">")), paper=line, p={kind: value})
            for line in lines
            if line.reported and line.book in books
            for score, value in line.scores.items()
            for kind, _, pair in [score.partition(".")]
            if kind in ("p", "p_below") and pair.startswith(f"{self.first(line)}>")
        ]


def _both(row: Row, text: str) -> str:
    return "–" if row.get("paper") else text.format(**row)


def _p(row: Row) -> str:
    """A p-value; that of a paper as it is printed, which may be an upper bound."""
    if not row.get("paper"):
        return p_text(row["p"])
    return f"<{row['p_below']:.2f}" if row["p"] is None else f"{row['p']:.2f}"


# Tables 20 and 21: books by different writers

_BY_WRITER = _Tests(
    "Table 21",
    "Books by different writers: tests between the readers of each book",
    "book",
    [
        ALL_ROWS,
        "Expected to be higher: a GPT beside a Claude, as in the paper; of other pairs, the run that is named first.",
        _PAIRED,
    ],
    lambda line, first, second: (line.text, _as_model(line, first), _as_model(line, second)),
    lambda line: line.model,
)


def _as_model(line: Line, model: str) -> str:
    return replace(line, label=f"{model} {line.memory}").who


def books_by_writer(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 20 and 21: readers of two books of one name by different writers, and tests between the readers of each."""
    title = "Books by different writers: F1 by the number of events that match the cue"
    known = [line for line in with_reported_once(lines) if line.writer is not None or line.reported is not None]

    def reader(line: Line) -> tuple[str, ...]:
        return line.source, line.memory, line.model, line.book

    # A reported book without a writer is the paper's.
    several = {who for who, of in grouped_by(known, reader).items() if len({line.writer for line in of}) > 1}
    chosen = [line for line in known if reader(line) in several]
    ordered = sorted(chosen, key=lambda line: (line.source == "reported", line.book, line.text))
    if not (runs := runs_among(ordered)):
        needs = (
            "runs of one model and memory on two books of one name by different writers, such as short by two models"
        )
        return [Missing("Table 20", title, needs), _BY_WRITER.missing(needs)]
    contrasts = [
        _Contrast(first.text, first.who, second.who, (first.questions, second.questions))
        for pair in combinations(runs, 2)
        for first, second in [_gpt_first(*pair)]
        if first.text == second.text and first.memory == second.memory and first.model != second.model
    ]
    needs = "runs of two models with one memory on each of these books"
    return [recall_table("Table 20", title, ordered, BIN), _BY_WRITER.table(contrasts, runs, lines, needs)]


def _gpt_first(one: Line, other: Line) -> tuple[Line, Line]:
    """The direction of the paper's tests, which ask whether a GPT does better than a Claude."""
    return (other, one) if "claude" in one.model.lower() and "gpt" in other.model.lower() else (one, other)


# Tables 22 and 23: books in the order of their dates

_ORDERED = "-ordered"
_BY_ORDER = _Tests(
    "Table 23",
    "Chapters in chronological order beside the order of the story: tests by reader",
    "reader",
    ["Only questions that ask for all items count (get = all), as in the paper.", _PAIRED],
    lambda line, first, second: (_reader(line), f"{line.who} on {first}", f"{line.who} on {second}"),
    lambda line: line.book,
)


def _reader(line: Line) -> str:
    return f"{line.model}, {line.memory}"


def books_by_order(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 22 and 23: a book in chronological order beside the same book in the order of its story, and tests."""
    title = (
        "Chapters in chronological order, and in the order of the story: F1 by the number of events that match the cue"
    )
    known = with_reported_once(lines)
    pairs = [
        (ordered, other)
        for ordered in known
        for other in known
        if ordered.book == other.book + _ORDERED
        and (ordered.source, ordered.memory, ordered.model, ordered.writer)
        == (other.source, other.memory, other.model, other.writer)
    ]
    contrasts = [
        _Contrast(
            _reader(first),
            f"{first.who} on {first.text}",
            f"{second.who} on {second.text}",
            (asked_for_all(first), asked_for_all(second)),
        )
        for first, second in pairs
        if not first.reported
    ]
    needs = "runs of one model and memory on a book and on its ordered version, such as short and short-ordered"
    readers = [line for pair in pairs if not pair[0].reported for line in pair]
    if not readers:
        return [Missing("Table 22", title, needs), _BY_ORDER.missing(needs)]
    both = {id(line): line for side in (0, 1) for pair in pairs for line in [pair[side]]}.values()

    def place(line: Line) -> tuple[bool, str, bool]:
        return line.source == "reported", line.book.removesuffix(_ORDERED), not line.book.endswith(_ORDERED)

    tests = _BY_ORDER.table(contrasts, readers, lines, "questions that both runs of a reader have answered")
    return [recall_table("Table 22", title, sorted(both, key=place), BIN), tests]


# Tables 24 and 25: how realistic the events are that questions are about

Ratings = Mapping[str, Mapping[int, Rating | None]]
"""The rating of the event of each chapter of a book, by the book's fingerprint; None where the judge failed."""

_REALISM = Side("realism", {name: name for name in ("empty", "non-realistic", "mixed", "realistic")}, "events")
_GROUPS = ("non-realistic", "realistic")
_UNRATED = "not rated"
_WORDS = (
    "Realistic: every matching chapter was rated realistic or moderately realistic; non-realistic: every one somewhat "
    "realistic, non-realistic or impossible; mixed: both kinds."
)
_BY_REALISM = _Tests(
    "Table 25",
    "Questions about realistic and other events: tests by run",
    "run",
    [ALL_ROWS, f"{_WORDS} Mixed and empty questions are left out."],
    lambda line, first, second: (line.who, first, second),
    lambda _: _GROUPS[0],
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

    def tests(name: str, title: str, runs: Sequence[Line]) -> Exhibit | Missing:
        contrasts = [
            _Contrast(line.who, *_GROUPS, tuple(line.questions[line.questions["realism"] == of] for of in _GROUPS))
            for line in runs
        ]
        table = replace(_BY_REALISM, name=name, title=title, notes=[*_BY_REALISM.notes, *_unrated_notes(runs)])
        made = table.table(contrasts, runs, lines, "answered questions about realistic and about other chapters")
        return replace(made, title=_BY_REALISM.title) if isinstance(made, Missing) else made

    found = _rated(lines, realism or {})
    needs = "ratings of how realistic each chapter of the book of a run is"
    by_bin = "Questions about realistic and other events: F1 by the number of events that match the cue"
    return [
        *for_each("Table 24", by_bin, needs, found, recall),
        *for_each(_BY_REALISM.name, _BY_REALISM.title, needs, found, tests),
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
