"""Which answer a record of answers.jsonl stands for, and which records have none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.booksort.answers.records import CUT_OFF, failure_of, predicted


@pytest.mark.parametrize(
    ("answer", "probabilities", "expected"),
    [
        (" A", {"A": 0.6, "B": 0.3}, "A"),
        ("B", {"A": 0.35, "B": 0.32}, "A"),  # the most probable token is one spelling of B, but A has two
        ("The", {"A": 0.01, "B": 0.02}, "B"),
        ("The", {"A": 0.0, "B": 0.0}, "X"),
        ("A", {"A": 0.5, "B": 0.5}, "A"),
        ("A closer look says B", {"A": 0.9, "B": 0.1}, "B"),
        ("A segment of the book", {"A": 0.9, "B": 0.1}, "A"),
        ("Answer: B", None, "B"),
        ("I cannot tell", None, "X"),
        ("", None, "X"),
    ],
)
def test_what_counts_as_the_answer(answer, probabilities, expected):
    record = {"answer": answer} | ({} if probabilities is None else {"probabilities": probabilities})
    assert predicted(record) == expected


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_more_probable_label_is_the_answer(a, b):
    said = predicted({"answer": "?", "probabilities": {"A": a, "B": b}})
    assert said == ("X" if a == b else "A" if a > b else "B")


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"answer": "Let me first look at", "ended": "length"}, CUT_OFF),
        ({"answer": "", "ended": "length"}, CUT_OFF),  # all tokens went into the reasoning
        ({"answer": "A closer look at both of", "ended": "length", "probabilities": {"A": 0.9, "B": 0.1}}, CUT_OFF),
        ({"answer": "Segment B came first, because the", "ended": "length"}, None),
        ({"answer": "Neither of them.", "ended": "stop"}, None),  # an answer, and a wrong one
        ({"answer": "Neither of them."}, None),
        (
            {"answer": "The", "ended": "length", "probabilities": {"A": 1e-5, "B": 2e-5}},
            None,
        ),  # one token was asked for
        ({"failure": "timeout"}, "timeout"),
    ],
)
def test_which_records_have_no_answer(record, expected):
    assert failure_of(record) == expected
