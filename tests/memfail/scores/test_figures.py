"""Figures by the model inside the system: what is in them, and when there is nothing to show."""

import pytest

from epbench.memfail.scores.figures import errors_by_model, figures, success_by_model
from epbench.reports.figures import drawing


def run(system, model, *, reported=False, ks=(5,), errors=True):
    rates = {
        "success_rate": 0.5,
        "storage_error": 0.2,
        "summary_error": 0.1,
        "retrieval_error": 0.1,
        "reasoning_error": 0.1,
    }
    shown = rates if errors else {"success_rate": 0.5}
    cell = {**shown, "n": 10, "failed": 0, "vacuous": 0, "facts": {}, "intervals": {"success_rate": [0.2, 0.8]}}
    about = {"config": "long_hop", "system": system, "by_k": {str(k): cell for k in ks}}
    return about | ({"system_model": model} if model else {}) | ({"reported": True} if reported else {})


def drawn(make, runs):
    with drawing():
        return make(runs)


def test_a_line_for_each_system_over_the_models_in_the_order_of_the_paper():
    runs = {
        "a": run("mem0", "zeta"),
        "b": run("mem0", "gemini-3.1"),
        "c": run("mem0", "gpt-4.1-mini"),
        "d": run("Mem0", "gpt-4.1-mini", reported=True),
        "e": run("Mem0", "gemini-3.1", reported=True),
        "f": run("lonely", "zeta"),
        "g": run("without", ""),
    }
    html = drawn(success_by_model, runs)
    order = [html.index(f">{model}<") for model in ("gpt-4.1-mini", "gemini-3.1", "zeta")]
    assert order == sorted(order)
    assert ">mem0<" in html and ">Mem0, reported<" in html and "at k = 5" in html
    assert "lonely" not in html and "without" not in html  # a point is no line


def test_two_runs_of_one_system_and_model_are_told_apart_by_their_labels():
    runs = {"first": run("mem0", "a"), "second": run("mem0", "a"), "third": run("mem0", "b")}
    html = drawn(errors_by_model, runs)
    assert ">mem0<" in html and ">second<" in html


def test_errors_have_a_panel_for_each_model():
    runs = {
        "a": run("mem0", "small", ks=(3, 5)),
        "b": run("mem0", "large", ks=(5,)),
        "c": run("x", "large", errors=False),
    }
    html = drawn(errors_by_model, runs)
    for text in (">small<", ">large<", "storage error", "reasoning error", "at k = 5"):
        assert text in html, text
    assert ">x<" not in html


@pytest.mark.parametrize("make", [success_by_model, errors_by_model])
def test_without_internal_models_there_is_nothing_to_show(make):
    assert drawn(make, {"a": run("mine", ""), "b": run("mine", "")}) == ""
    assert drawn(make, {"a": run("mine", "one")}) == ""


def test_they_are_among_the_figures_of_a_config():
    runs = {"a": run("mem0", "small"), "b": run("mem0", "large")}
    page = "".join(figures(runs))
    assert "Success by the model inside the memory system" in page and "What became of the questions, by system" in page
