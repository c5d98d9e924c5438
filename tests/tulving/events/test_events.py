"""Events of a universe, and their dates in several formats."""

from collections import Counter
from datetime import date
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.tulving.events.dates import FORMATS, find_dates, in_words
from epbench.tulving.events.universe import draw_events, draw_layouts, load_universe
from tests.refusals import refusal

UNIVERSE = load_universe()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(0, 10_000), st.sampled_from(["geometric", "uniform"]))
def test_no_two_events_share_time_and_person_or_time_and_place(n, seed, distribution):
    events = draw_events(UNIVERSE, n, seed=seed, distribution=distribution)
    assert len(events) == n
    assert len({(event.time, event.entity) for event in events}) == n
    assert len({(event.time, event.space) for event in events}) == n
    assert all(event.detail in UNIVERSE.details[event.content] for event in events)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 100))
def test_the_first_events_of_a_longer_run_are_the_same(n, more, seed):
    assert draw_events(UNIVERSE, n + more, seed=seed)[:n] == draw_events(UNIVERSE, n, seed=seed)


def test_a_dropped_candidate_occupies_nothing():
    """With the next candidates in a row, each event is the first whose two pairs are free of accepted events."""
    from epbench.draws import UnitStream
    from epbench.tulving.events.universe import _accept, _cumulative

    size, bounds = 4, _cumulative(4, "uniform")
    units = UnitStream("x").take(5 * 300).reshape(-1, 5)
    expected, te, ts = [], set(), set()
    for row in units:
        t, e, s, c = (int(sum(value >= bounds)) for value in row[:4])
        if (t, e) not in te and (t, s) not in ts:
            te.add((t, e))
            ts.add((t, s))
            expected.append((t, e, s, c, float(row[4])))
    assert _accept(UnitStream("x"), bounds, size, len(expected)) == expected


# Table 6: items that occur once, twice, three to five, six times or more among n draws of a universe of 100, and the
# standard deviation. The table's draws are free; ours may not repeat a pair, which spreads the dates a little.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "distribution", "expected", "deviation"),
    [
        (20, "geometric", (8, 3, 2, 0), (2.4, 1.5, 0.9, 0.2)),
        (200, "geometric", (9, 5, 7, 13), (2.7, 1.9, 2.2, 1.4)),
        (20, "uniform", (16, 2, 0, 0), (2.3, 1.1, 0.3, 0.0)),
        (200, "uniform", (27, 27, 31, 2), (4.0, 4.5, 3.2, 1.2)),
    ],
)
def test_counts_per_bin_agree_with_the_paper(n, distribution, expected, deviation):
    def bins(values):
        counts = Counter(values).values()
        return [sum(low <= count <= high for count in counts) for low, high in ((1, 1), (2, 2), (3, 5), (6, n))]

    runs = [draw_events(UNIVERSE, n, seed=seed, distribution=distribution) for seed in range(60)]
    for element in ("time", "space", "entity", "content"):
        found = [mean(column) for column in zip(*(bins(getattr(e, element) for e in run) for run in runs), strict=True)]
        spread = 1.2 if element == "time" else 0.5
        for one, other, d in zip(found, expected, deviation, strict=True):
            assert abs(one - other) <= 0.6 + spread * d, (element, found)


def test_the_draw_is_this_on_every_machine():
    first = draw_events(UNIVERSE, 1)[0]
    assert (first.day, first.space, first.entity) == ("March 25, 2026", "Gantry Plaza State Park", "Birtukan Gardonyi")
    assert (first.content, first.detail) == ("Sailing Regatta", "Dropped a winch handle overboard")


def test_too_many_events_are_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr("epbench.tulving.events.universe.MOST_CANDIDATES", 200_000)
    for n, message in (
        (9000, " of 9000 events"),
        (10_001, "only 10000 pairs"),
        (0, "expected at least 1 event, found 0"),
    ):
        assert message in refusal(draw_events, UNIVERSE, n)


@pytest.mark.slow
def test_a_universe_of_1000_holds_20_000_events():
    assert len(draw_events(load_universe("default", 1000), 20_000)) == 20_000


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 1000))
def test_plans_are_possible_and_prefix_stable(n, more, seed):
    layouts = draw_layouts(n, ["b", "a"], seed=seed)
    for layout in layouts:
        assert 1 <= layout.n_paragraphs <= 10
        assert all(1 <= at <= layout.n_paragraphs for at in (layout.space, layout.time, layout.entity, layout.content))
    assert draw_layouts(n + more, ["a", "b"], seed=seed)[:n] == layouts


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
