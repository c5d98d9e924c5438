"""Which label a text names, which answer a record of answers.jsonl stands for, and which records have none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.booksort.judging import CUT_OFF, failure_of, parse_answer, predicted

ANSWERS = {
    "A": "A", "b": "B", "(b)": "B", "B.": "B", "**B**": "B", "[A]": "A", "Segment B": "B", "segment a": "A",
    "Segment **A**": "A", "Segment “B”": "B", "SEGMENT B": "B", "Answer: B": "B", "Answer: Segment A": "A",
    "ANSWER: (A)": "A", "The answer is **Segment B**.": "B", "After reading, Segment B": "B", "It's B": "B",
    "A came first": "A", "Segment A's text is first": "A", "A closer look shows that it is B": "B",
    "B\n\nSegment A comes later in the book": "B", "Segment B. Segment A describes the end": "B",
    "Segment B, not Segment A": "B", "Segment B rather than Segment A": "B",
    "Segment A comes before Segment B": "A", "Segment A came after Segment B": "B",
    "Segment B precedes Segment A": "B", "Segment A is later than Segment B": "B",
    "Segment A was earlier in the book than Segment B": "A", "In the book, segment B comes first, followed by Segment A.": "B",
    "The first one is Segment A, then Segment B": "A", "The segment that appears first is Segment B, and Segment A follows": "B",
    'Based on the excerpt, Segment A appears first in the book "X".': "A", "LA is a city, so it must be B": "B",
}  # fmt: skip

NO_ANSWERS = [
    "", "AB", "I cannot tell.", "A segment of the book", "Answer: A segment from the middle", "vitamin B12",
    "Segment A or Segment B?", "Segments A and B", "Neither A nor B", "Segment A and Segment B both appear",
    "A: the letter B: the day", "A. one\nB. two", "Segment A: the man. Segment B: the dog", "a segment", "Not Segment A",
    "Segment A appears first. Segment B appears first.", "I can't do A/B",
    "To determine which of them came first, let's look at Segment A and",
]  # fmt: skip

OPENINGS = ["", "Answer: ", "The answer is ", "After reading, ", "I think it is ", "My choice:\n"]
NAMES = ["Segment {}", "segment {}", "**Segment {}**", '"Segment {}"', "Segment ({})", "({})", "{}"]


@pytest.mark.parametrize("text", [*ANSWERS, *NO_ANSWERS])
def test_an_answer_is_read_and_none_where_none_is(text):
    assert parse_answer(text) == ANSWERS.get(text)


@given(
    st.sampled_from(OPENINGS), st.sampled_from(NAMES), st.sampled_from("AB"), st.sampled_from(["", ".", "\n", " ", "!"])
)
def test_one_label_is_found_in_any_wrapping(opening, name, label, end):
    assert parse_answer(opening + name.format(label) + end) == label


@given(st.text())
def test_any_text_is_read(text):
    assert parse_answer(text) in ("A", "B", None)


@given(st.text(alphabet=st.characters(exclude_characters="abAB")))
def test_without_either_letter_there_is_no_answer(text):
    assert parse_answer(text) is None


@given(st.text(st.sampled_from("cdefg hij.,\n"), max_size=40))
def test_words_around_the_named_segment_change_nothing(words):
    assert parse_answer(f"{words} so Segment B") == "B"


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
