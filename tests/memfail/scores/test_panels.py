"""What figures are made of: stages and lines that differ without colour, and panels with one legend."""

from __future__ import annotations

import pytest

from epbench.memfail.scores.panels import MARKERS, STAGES, line, one_legend, panels_for, stacked
from epbench.memfail.scores.scoring import ERRORS
from epbench.reports.figures import COLOURS, drawing, new_figure

pytestmark = pytest.mark.usefixtures("pictures_with_layout")


@pytest.fixture
def axes():
    with drawing():
        yield new_figure(4, 3)[1]


def test_stages_have_hatches_of_their_own_and_reach_one(axes):
    assert list(STAGES) == ["success_rate", *ERRORS]
    assert len({stage.hatch for stage in STAGES.values()}) == len(STAGES)
    cell = dict(zip(STAGES, (0.5, 0.2, 0.1, 0.1, 0.1), strict=True)) | {"n": 10, "failed": 0, "vacuous": 2}
    stacked(axes, [0, 1], [cell, cell])
    assert len(axes.patches) == 2 * (len(STAGES) + 1)
    top = max(patch.get_y() + patch.get_height() for patch in axes.patches)
    assert top == pytest.approx(1.0) and axes.patches[-1].get_height() == pytest.approx(0.2)


def test_reported_lines_are_dotted_and_hollow_and_lines_of_one_colour_differ(axes):
    point = {"success_rate": 0.5, "intervals": {"success_rate": [0.2, 0.8]}}
    line(axes, {2: point, 1: point}, 0, "mine", reported=False)
    line(axes, {1: point}, len(COLOURS), "ninth", reported=False)
    line(axes, {1: point}, 0, "paper", reported=True)
    line(axes, {1: {"success_rate": None}}, 3, "lost", reported=False)
    mine, ninth, paper = [one for one in axes.lines if one.get_label() in ("mine", "ninth", "paper")]
    assert list(mine.get_xdata()) == [1, 2] and mine.get_linestyle() == "-"
    assert mine.get_color() == ninth.get_color() and mine.get_marker() != ninth.get_marker()
    assert paper.get_linestyle() == ":" and paper.get_markerfacecolor() == "white"
    assert "lost" not in [one.get_label() for one in axes.lines] and len(set(MARKERS)) > len(COLOURS)


def test_panels_stand_in_rows_and_share_one_legend():
    with drawing():
        figure, panels = panels_for(["a", "b", "c", "d"])
        assert [panel.get_title() for panel in panels] == ["a", "b", "c", "d"] and len(figure.axes) == 6
        for panel in panels:
            panel.plot([0], [0], label="one")
        one_legend(figure)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one"]
