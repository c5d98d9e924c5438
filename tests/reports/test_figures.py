"""Figures: error bars from the ends of intervals, and the same bytes each time."""

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from epbench.reports.figures import (
    COLOURS,
    colour_of,
    critical_difference_diagram,
    drawing,
    error_bars,
    figure_html,
    new_figure,
    paired_estimation_plot,
    svg,
)
from epbench.statistics.paired import paired_estimate
from epbench.statistics.ranks import rank_methods

pytestmark = pytest.mark.usefixtures("drawn_pictures")


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


def test_odd_values_are_drawn_and_colours_begin_again():
    """Rounding puts a value outside its interval, and a bin without questions has no value."""
    figure, axes = new_figure(4, 3)
    error_bars(axes, [1, 2], [1.0, math.nan], [(0.2, 1.0 - 1e-16), None])
    with drawing():
        assert "<svg" in svg(figure)
    assert colour_of(0) == colour_of(len(COLOURS)) == COLOURS[0] and len(set(COLOURS)) == 8


def test_a_figure_is_the_same_each_time():
    def drawn():
        with drawing():
            figure, axes = new_figure(4, 3)
            axes.plot([1, 2], label="a$\\frac$")
            figure.legend()
            return figure_html(figure, "<caption>")

    assert drawn() == drawn() and "a$\\frac$" in drawn() and "&lt;caption&gt;" in drawn()


NASTY = "<b>x</b> $y$"


def texts_of(picture):
    root = ElementTree.fromstring(picture.encode())
    return ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]


@pytest.mark.parametrize("k", [2, 3, 11])
def test_every_method_stands_on_the_diagram_with_its_rank(k):
    random = np.random.default_rng(0)
    values = {f"{NASTY} {i}": (random.random(50) + 0.1 * i).tolist() for i in range(k)}
    ranking = rank_methods(values)
    with drawing():
        texts = " | ".join(texts_of(svg(critical_difference_diagram(ranking))))
    for name, rank in ranking.ranks.items():
        assert name in texts and f"({rank:.2f})" in texts
    assert "average rank" in texts
    same = rank_methods({name: [0.5, 0.5, 1.0] for name in "abc"})  # methods of one rank
    with drawing():
        assert "(2.00)" in " ".join(texts_of(svg(critical_difference_diagram(same))))


def test_an_estimation_plot_names_both_runs_and_the_number_of_questions():
    first, second = [0.0, 0.5, 1.0, 0.0], [0.5, 0.5, 1.0, 1.0]
    group = (NASTY, first, "second", second, paired_estimate(first, second, range(4), resamples=200))
    with drawing():
        texts = texts_of(svg(paired_estimation_plot({"bin 0": group, "bin 1": group}, "F1")))
    assert texts.count(NASTY) == 2 and "bin 1" in texts and texts.count("n = 4") == 2
