"""A cell is the scores of a system at one k, own or reported; failed questions make a range of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.paper.cells import Cell, by_k_rows, cells_of, configs_in, ks_in, labels_in
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.notes import notes_on
from tests.memfail.paper.plain import wilson


def cell(right, wrong, failed=0, *, k=5, config="long_hop", label="mine"):
    judged = right + wrong
    scores = {"n": judged + failed, "failed": failed, "success_rate": right / judged if judged else None}
    return Cell(config, label, "own", "mine", "", "lexical", False, k, scores)


@pytest.mark.slow
@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 50))
def test_a_rate_is_of_the_judged_questions_and_a_range_where_some_failed(right, wrong, failed):
    one = cell(right, wrong, failed)
    assert (one.right, one.judged, one.failed) == (right, right + wrong, failed)
    record, n = one.record(), right + wrong + failed
    assert (record["n"], record["n_failed"], record["n_right"]) == (n, failed, right)
    if not right + wrong:
        assert one.text() == "–" and record["success"] is record["low"] is one.drawn_interval is None
        return
    assert (record["low"], record["high"]) == pytest.approx(wilson(right, right + wrong))
    low, high = one.drawn_interval
    assert low == pytest.approx(wilson(right, n)[0]) and high == pytest.approx(wilson(right + failed, n)[1])
    if failed:
        assert one.text() == f"{right / n:.3f} to {(right + failed) / n:.3f}"
    else:
        assert one.text(interval=False) == f"{right / n:.3f}"


def test_cells_make_rows_with_a_column_for_each_k():
    cells = [
        cell(1, 1, k=20),
        cell(1, 3, k=5),
        cell(0, 4, k=5, label="other"),
        cell(2, 0, k=5, config="coexisting_facts"),
    ]
    assert (ks_in(cells), labels_in(cells)) == ([5, 20], ["mine", "other"])
    assert configs_in(cells) == ["coexisting_facts", "long_hop"]
    head, rows = by_k_rows(cells, interval=False)
    assert head == ["config", "system", "k = 5", "k = 20"]
    assert rows == [
        ["long_hop", "mine", "0.250", "0.500"], ["long_hop", "other", "0.000", ""],
        ["coexisting_facts", "mine", "1.000", ""],
    ]  # fmt: skip


def test_reported_cells_in_which_nothing_was_stored_are_pointed_out():
    errors = {"storage_error": 1.0, "summary_error": 0.0, "retrieval_error": 0.0, "reasoning_error": 0.0}
    by_k = {"5": {"success_rate": 0.0, "n": 92, "intervals": {}, **errors}}
    rates = {"config": "long_hop", "system": "StructMem", "system_model": "small", "reported": True, "by_k": by_k}
    inputs = Inputs(reported={"StructMem, small, reported (long_hop)": rates})
    (one,) = cells_of(inputs)
    assert (one.label, one.source) == ("StructMem, small (reported)", "reported")
    assert any("StructMem, small (reported) on long_hop is a storage error" in note for note in notes_on(inputs, [one]))
    by_k["5"]["storage_error"] = 0.9
    assert not any("storage error" in note for note in notes_on(inputs, cells_of(inputs)))
