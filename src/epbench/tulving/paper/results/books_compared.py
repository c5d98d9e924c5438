"""Books by two writers, and a book in two orders, each with one-sided tests (paper: Tables 20 to 23)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table
from epbench.statistics.paired import holm
from epbench.tulving.paper.lines import Line, runs_among
from epbench.tulving.paper.results.cells import bin_table, judge_notes
from epbench.tulving.paper.results.recall import with_reported_once

if TYPE_CHECKING:
    import pandas as pd

ORDERED = "-ordered"
ALL_ROWS = "All questions count, whatever they ask for (get = all, latest and chronological), as in the paper."
GET_ALL = "Only questions that ask for all items count (get = all), as in the paper."
_TEST = (
    "Mann–Whitney U, one-sided: whether F1 of the first is higher than of the second. Effect: the probability that a question "
    "of the first has a higher F1 than one of the second, ties counted half; 0.5 is no difference."
)
_HOLM = (
    "p (Holm) is corrected for all rows of this table. Smallest effect: what so many questions show with 80 % power at p < 0.05, "
    "without a correction; a smaller effect may be there though p is large."
)
_PAIRED = (
    "As in the paper, the samples count as independent, although both readers answer questions about the same events; a "
    "comparison question by question finds smaller differences."
)


@dataclass(frozen=True)
class Contrast:
    """Two samples of questions, the first of which is expected to have the higher F1.

    Attributes:
        about: What is held fixed, such as the book.
        first: What the first sample is.
        second: What the second sample is.
        samples: Their questions.
    """

    about: str
    first: str
    second: str
    samples: tuple[pd.DataFrame, pd.DataFrame]


def contrast_table(
    name: str, title: str, about: str, contrasts: Sequence[Contrast], notes: Sequence[str], lines: Sequence[Line]
) -> Exhibit:
    """One-sided Mann–Whitney tests with Holm's correction over the rows of the table.

    Args:
        name: The name of the exhibit.
        title: Its title.
        about: The title of the first column.
        contrasts: The rows; every sample has an answered question.
        notes: Sentences that come first among the notes.
        lines: Whose judges are named.
    """
    from epbench.statistics.smallest_difference import mann_whitney

    answered = [[_answered(sample) for sample in contrast.samples] for contrast in contrasts]
    tests = [mann_whitney(first, second, alternative="greater") for first, second in answered]
    corrected = holm([test.p for test in tests])
    records: list[dict[str, Value]] = []
    rows = []
    for contrast, test, p_holm in zip(contrasts, tests, corrected, strict=True):
        lost = sum(int((sample["outcome"] == "failed").sum()) for sample in contrast.samples)
        records.append({
            about: contrast.about, "first": contrast.first, "second": contrast.second, "alternative": "first > second",
            "n_first": test.n[0], "n_second": test.n[1], "n_lost": lost, "mean_first": test.means[0],
            "mean_second": test.means[1], "u": test.u, "p": test.p, "p_holm": p_holm, "effect": test.effect,
            "smallest_effect": 0.5 + test.smallest_difference,
        })  # fmt: skip
        rows.append([
            contrast.about, f"{contrast.first} > {contrast.second}", " / ".join(map(str, test.n)),
            " / ".join(f"{mean:.3f}" for mean in test.means), f"{test.effect:.3f}", _p(test.p), _p(p_holm),
            f"{0.5 + test.smallest_difference:.3f}",
        ])  # fmt: skip
    head = [about, "first > second", "n", "mean F1", "effect", "p", "p (Holm)", "smallest effect"]
    table_notes = [*notes, _TEST, _HOLM, *_lost_note(records), *judge_notes(lines)]
    return Exhibit(name, title, records, Table(head, rows, notes=table_notes, text_columns=2))


def _answered(questions: pd.DataFrame) -> list[float]:
    return [float(value) for value in questions.loc[questions["outcome"] != "failed", "f1"]]


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _lost_note(records: Sequence[dict[str, Value]]) -> list[str]:
    lost = sum(int(record["n_lost"] or 0) for record in records)
    return [f"{lost} questions without an answer or a verdict are left out of the tests."] if lost else []


def books_by_writer(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 20 and 21: readers of two books of one name by different writers, and tests between the readers of each."""
    title = "Books by different writers: F1 by the number of events that match the cue"
    tests = "Books by different writers: tests between the readers of each book"
    chosen = _readers_of_two(with_reported_once(lines))
    if not runs_among(chosen):
        needs = (
            "runs of one model and memory on two books of one name by different writers, such as short by two models"
        )
        return [Missing("Table 20", title, needs), Missing("Table 21", tests, needs)]
    ordered = sorted(chosen, key=lambda line: (line.source == "reported", line.book, line.text))
    made: list[Exhibit | Missing] = [bin_table("Table 20", title, ordered)]
    runs = runs_among(ordered)
    contrasts = [
        Contrast(first.text, first.who, second.who, (first.questions, second.questions))
        for pair in combinations(runs, 2)
        for first, second in [_gpt_first(*pair)]
        if first.text == second.text and first.memory == second.memory and first.model != second.model
    ]
    if not contrasts:
        return [*made, Missing("Table 21", tests, "runs of two models with one memory on each of these books")]
    direction = (
        "Expected to be higher: a GPT beside a Claude, as in the paper; of other pairs, the run that is named first."
    )
    return [*made, contrast_table("Table 21", tests, "book", contrasts, [ALL_ROWS, direction, _PAIRED], runs)]


def _readers_of_two(lines: Sequence[Line]) -> list[Line]:
    """The lines of readers that read books of one name by two writers; a reported book without a writer is the paper's."""
    writers: dict[object, set[str | None]] = {}
    for line in lines:
        if line.writer is not None or line.reported is not None:
            writers.setdefault(_reader(line), set()).add(line.writer)
    return [
        line
        for line in lines
        if (line.writer is not None or line.reported is not None) and len(writers[_reader(line)]) > 1
    ]


def _reader(line: Line) -> tuple[str, ...]:
    return line.source, line.memory, line.model, line.book


def _gpt_first(one: Line, other: Line) -> tuple[Line, Line]:
    """The direction of the paper's tests, which ask whether a GPT does better than a Claude."""
    return (other, one) if "claude" in one.model.lower() and "gpt" in other.model.lower() else (one, other)


def books_by_order(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 22 and 23: a book in chronological order beside the same book in the order of its story, and tests."""
    title = (
        "Chapters in chronological order, and in the order of the story: F1 by the number of events that match the cue"
    )
    tests = "Chapters in chronological order beside the order of the story: tests by reader"
    pairs = _order_pairs(with_reported_once(lines))
    runs = [pair for pair in pairs if pair[0].run is not None]
    if not runs:
        needs = "runs of one model and memory on a book and on its ordered version, such as short and short-ordered"
        return [Missing("Table 22", title, needs), Missing("Table 23", tests, needs)]
    both = list({id(line): line for side in (0, 1) for pair in pairs for line in [pair[side]]}.values())
    rows = sorted(
        both, key=lambda line: (line.source == "reported", line.book.removesuffix(ORDERED), not _is_ordered(line))
    )
    contrasts = [
        Contrast(
            f"{first.model}, {first.memory}", f"{first.who} on {first.text}", f"{second.who} on {second.text}",
            (_asked_for_all(first), _asked_for_all(second)),
        )
        for first, second in runs
    ]  # fmt: skip
    contrasts = [each for each in contrasts if all(_answered(sample) for sample in each.samples)]
    return [
        bin_table("Table 22", title, rows),
        contrast_table(
            "Table 23", tests, "reader", contrasts, [GET_ALL, _PAIRED], [line for pair in runs for line in pair]
        ),
    ]


def _is_ordered(line: Line) -> bool:
    return line.book.endswith(ORDERED)


def _order_pairs(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """Each line on an ordered book, with each line of the same reader on the book that it reorders."""
    return [
        (ordered, other)
        for ordered in lines
        for other in lines
        if _is_ordered(ordered)
        and other.book == ordered.book.removesuffix(ORDERED)
        and (ordered.source, ordered.memory, ordered.model, ordered.writer)
        == (other.source, other.memory, other.model, other.writer)
    ]


def _asked_for_all(line: Line) -> pd.DataFrame:
    return line.questions[line.questions["get"] == "all"]
