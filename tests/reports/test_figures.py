"""Figures: error bars from the ends of intervals, and the same bytes each time."""

import math

import pytest

from epbench.reports.figures import COLOURS, colour_of, drawing, error_bars, figure_html, new_figure, svg

pytestmark = pytest.mark.usefixtures("pictures_with_layout")


def ends_of(axes):
    """The ends of each error bar that is drawn, as ((x, y), (x, y))."""
    (bars,) = axes.containers[0][2]
    return [tuple(map(tuple, segment)) for segment in bars.get_segments()]


def test_error_bars_reach_from_low_to_high():
    _, axes = new_figure(4, 3)
    error_bars(axes, [1, 2], [0.5, 0.9], [[0.4, 0.8], None])
    first, second = ends_of(axes)
    assert first == (pytest.approx((1, 0.4)), pytest.approx((1, 0.8)))
    assert second[0] == second[1]  # without an interval it has no length
    _, axes = new_figure(4, 3)
    error_bars(axes, [1], [0.5], [(0.4, 0.8)], horizontal=True)
    assert ends_of(axes) == [(pytest.approx((0.4, 1)), pytest.approx((0.8, 1)))]


def test_odd_values_are_drawn():
    """Rounding puts a value outside its interval, and a bin without questions has no value."""
    figure, axes = new_figure(4, 3)
    error_bars(axes, [1, 2], [1.0, math.nan], [(0.2, 1.0 - 1e-16), None])
    with drawing():
        assert "<svg" in svg(figure)


def test_a_figure_is_the_same_each_time():
    def drawn():
        with drawing():
            figure, axes = new_figure(4, 3)
            axes.plot([1, 2], label="a$\\frac$")
            figure.legend()
            return figure_html(figure, "<caption>")

    assert drawn() == drawn() and "a$\\frac$" in drawn() and "&lt;caption&gt;" in drawn()


def test_colours_begin_again():
    assert colour_of(0) == colour_of(len(COLOURS)) == COLOURS[0] and len(set(COLOURS)) == 8
