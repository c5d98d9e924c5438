"""Dates in several formats: what is written is found again, as the same day."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.tulving.events.dates import FORMATS, find_dates, in_words

DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))


@given(DAYS, st.sampled_from(FORMATS))
def test_every_format_is_found(day, written):
    text = f"On {written(day)}, they came; nobody counted 12 hats."
    found = list(find_dates(text))
    assert [one for _, one, _ in found] == [day]
    assert text[found[0][0] :].startswith(found[0][2])


@given(DAYS)
def test_the_formats_differ(day):
    assert len({written(day) for written in FORMATS}) == len(FORMATS) and FORMATS[0] is in_words


@pytest.mark.parametrize("text", ["2025-02-31", "February 30, 2025", "the 31st of June 2025", "May 2025", "12 apples"])
def test_what_is_no_date_is_passed_over(text):
    assert list(find_dates(text)) == []


def test_several_dates_in_their_order():
    text = "Between the third of May, 2024 and 2024-06-01, or on Friday, June 7th, 2024."
    assert [day for _, day, _ in find_dates(text)] == [date(2024, 5, 3), date(2024, 6, 1), date(2024, 6, 7)]
