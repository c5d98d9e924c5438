"""Scores on several books that are not all known."""

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from epbench.tulving.paper.book_scores import AllBooks, BookScore, book_score
from epbench.tulving.paper.inputs import PaperRun

RUN = PaperRun("r", "own", Path("r"), "short", "f", "none", "m", {}, pd.DataFrame())


def score(book, value, half=0.0392):
    interval = None if value is None or half is None else (value - half, value + half)
    return BookScore(book, RUN, "latest", value, interval, None, 10)


def test_books_without_a_score_or_an_interval_are_left_out():
    whole = AllBooks.of([score("a", 0.4), score("b", 0.8), score("c", None), score("d", 0.9, None)])
    assert (whole.n_books, whole.n) == (2, 20) and whole.spread.mean == pytest.approx(0.6)
    assert whole.spread.within == pytest.approx(0.02, rel=1e-4)
    assert whole.spread.between == pytest.approx(math.sqrt(0.08 - 0.0004), rel=1e-4)
    assert whole.interval() == (0.0, 1.0)  # Student's is far wider than the scale
    assert whole.between[0] < whole.spread.between < whole.between[1] == 0.5
    apart = AllBooks.of([score("a", 0.0, 0.0), score("b", 1.0, 0.0)])
    assert apart.spread.between == apart.between[1] == pytest.approx(math.sqrt(0.5))


def test_one_book_has_no_spread():
    whole = AllBooks.of([score("a", 0.4), score("b", None)])
    assert (whole.n_books, whole.spread, whole.between, whole.interval(), whole.point()) == (
        1,
        None,
        None,
        None,
        (None, None),
    )
    assert AllBooks.of([]).n_books == 0


def test_where_no_question_differs_nothing_is_said_of_other_books():
    whole = AllBooks.of([score("a", 1.0, 0.0), score("b", 1.0, 0.0)])
    assert whole.spread.between == 0 and whole.between is None and whole.interval() is None
    assert whole.point() == (1.0, (1.0, 1.0))


def test_the_questions_of_a_score_are_counted():
    questions = pd.DataFrame(
        [
            ("all", "0", 0, []), ("all", "2", 2, ["a", "b"]), ("latest", "1", 1, ["a"]), ("latest", "2", 2, ["a"]),
            ("chronological", "2", 2, ["a", "a"]), ("chronological", "2", 2, ["a", "b"]),
        ],
        columns=["get", "bin", "n_chapters", "reference"],
    )  # fmt: skip
    names = ("simple_recall_score", "latest", "chronological_awareness")
    scores = {"f1_by_bin": {"2": 0.5}, "incomplete": {"latest": [0.1, 0.4]}, "intervals": {}} | dict.fromkeys(names)
    run = replace(RUN, questions=questions, scores=scores)
    counted = {name: book_score("b", run, name).n for name in (*names, "f1_by_bin.0", "f1_by_bin.2", "f1_by_bin.6+")}
    assert list(counted.values()) == [2, 1, 2, 1, 1, 0]
    assert book_score("b", run, "latest").bounds == [0.1, 0.4] and book_score("b", run, "f1_by_bin.2").value == 0.5
