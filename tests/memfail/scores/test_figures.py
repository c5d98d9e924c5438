"""Figures by the model inside the system: what is in them, and when there is nothing to show."""

from itertools import starmap

import pytest

from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.scores.report import STAGES, figures, stacked
from epbench.reports.figures import drawing, new_figure
from epbench.reports.plots import FRONTIER, frontier

pytestmark = pytest.mark.usefixtures("drawn_pictures")

BY_MODEL, ERRORS_BY_MODEL = "Success by the model inside the memory system", "What became of the questions, by system"


def run(system, model, *, reported=False, ks=(5,), errors=True):
    rates = dict(zip(STAGES, (0.5, 0.2, 0.1, 0.1, 0.1), strict=True))
    shown = rates if errors else {"success_rate": 0.5}
    cell = {**shown, "n": 10, "failed": 0, "vacuous": 0, "facts": {}, "intervals": {"success_rate": [0.2, 0.8]}}
    about = {"config": "long_hop", "system": system, "by_k": {str(k): cell for k in ks}}
    return about | ({"system_model": model} if model else {}) | ({"reported": True} if reported else {})


def drawn(runs, caption):
    """The figure with this caption as HTML; empty without one."""
    return next((html for html in figures(runs) if caption in html), "")


def test_a_line_for_each_system_over_the_models_in_the_order_of_the_paper():
    own = [("mem0", "zeta"), ("mem0", "gemini-3.1"), ("mem0", "gpt-4.1-mini"), ("lonely", "zeta"), ("without", "")]
    reported = [run("Mem0", model, reported=True) for model in ("gpt-4.1-mini", "gemini-3.1")]
    runs = dict(zip("abcdefg", (*starmap(run, own), *reported), strict=True))
    html = drawn(runs, BY_MODEL)
    order = [html.index(f">{model}<") for model in ("gpt-4.1-mini", "gemini-3.1", "zeta")]
    assert order == sorted(order)
    assert ">mem0<" in html and ">Mem0, reported<" in html and "at k = 5" in html
    assert "lonely" not in html and "without" not in html  # a point is no line


def test_errors_have_a_panel_for_each_model():
    runs = {
        "a": run("mem0", "small", ks=(3, 5)),
        "b": run("mem0", "large", ks=(5,)),
        "c": run("x", "large", errors=False, reported=True),
        "second": run("mem0", "small"),
    }
    html = drawn(runs, ERRORS_BY_MODEL)
    for text in (">small<", ">large<", "storage error", "reasoning error", "at k = 5"):
        assert text in html, text
    assert ">x, reported<" not in html
    assert ">mem0<" in html and ">second<" in html  # two runs of one system and model are told apart by their labels


@pytest.mark.parametrize("caption", [BY_MODEL, ERRORS_BY_MODEL])
def test_without_internal_models_there_is_nothing_to_show(caption):
    assert drawn({"a": run("mine", ""), "b": run("mine", "")}, caption) == ""
    assert drawn({"a": run("mine", "one")}, caption) == ""
    assert drawn({"a": run("mem0", "small"), "b": run("mem0", "large")}, caption)


def test_stages_have_hatches_of_their_own_and_reach_one():
    assert list(STAGES) == ["success_rate", *ERRORS]
    assert len({hatch for _, _, hatch in STAGES.values()}) == len(STAGES)
    cell = dict(zip(STAGES, (0.5, 0.2, 0.1, 0.1, 0.1), strict=True)) | {"n": 10, "failed": 0, "vacuous": 2}
    with drawing():
        axes = new_figure(4, 3)[1]
        stacked(axes, [0, 1], [cell, cell])
    assert len(axes.patches) == 2 * (len(STAGES) + 1)
    top = max(patch.get_y() + patch.get_height() for patch in axes.patches)
    assert top == pytest.approx(1.0) and axes.patches[-1].get_height() == pytest.approx(0.2)


def test_success_stands_against_what_memory_costs():
    def priced(tokens):
        return {"by_k": {"5": {"tokens": tokens}}, "retrieve": {"p50": 0.1}}

    runs = {"a": run("mem0", "") | {"price": priced(10.0)}, "b": run("other", "") | {"price": priced(90.0)}}
    html = drawn(runs, FRONTIER)
    assert ">a<" in html and ">b<" in html and "tokens before the reader" in html and "seconds of a retrieval" in html
    del runs["b"]["price"]
    assert not drawn(runs, FRONTIER)


def test_the_line_goes_through_what_nothing_surpasses():
    points = {
        "cheap": (1.0, 0.2),
        "worse": (2.0, 0.1),
        "better": (3.0, 0.6),
        "dear": (9.0, 0.6),
        "unknown": (None, 0.9),
    }
    rows = [{"label": of, "mean": mean, "low": None, "high": None, "cost": cost} for of, (cost, mean) in points.items()]
    with drawing():
        figure = frontier(rows, {"cost": "tokens"}, "success")
    (step,) = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert list(zip(*step.get_data(), strict=True)) == [(1.0, 0.2), (3.0, 0.6)]


def test_a_long_label_loses_its_middle_in_the_legend():
    runs = {"a/" * 40 + "z": run("mem0", "", ks=(3, 5)), "b": run("mem0", "", ks=(3, 5))}
    html = drawn(runs, "Success by the number of memories asked for")
    assert f">{'a/' * 12}…" in html and html.count("a/" * 20) == 0
