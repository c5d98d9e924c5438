"""What stands beside the F1 of two runs that are compared: harsh F1, and how many items they name."""

from dataclasses import replace

import pandas as pd
import pytest

from epbench.reports.comparison import comparison_html, comparison_tables
from epbench.statistics.paired import Comparison, notes_on
from epbench.tulving.judging.verdicts import ScoredAnswer
from epbench.tulving.scores.comparison import compare_runs, naming_warnings
from epbench.tulving.scores.scoring import harsh_f1_of, question_measures


def table_of(answers):
    """The rows of questions.parquet about judged answers, as far as they are compared."""
    names = ("time", "space", "entity", "content")
    measures = question_measures(answers)
    return pd.DataFrame(
        [
            {"id": a.id, **dict(zip(names, a.cue, strict=True)), "outcome": "wrong", "f1": m["f1"],
             "harsh_f1": harsh_f1_of(a), "items": a.items, "reference": a.reference}
            for a, m in zip(answers, measures, strict=True)
        ]
    )  # fmt: skip


BASE = ScoredAnswer("q", "all", "1", 1, ("a", None, None, None), ["x"], items=["x"], scores=[1.0], order=[])


def test_a_run_that_names_too_much_is_pointed_out_and_so_is_a_rank_that_hangs_on_it():
    questions = [replace(BASE, id=str(i), cue=(str(i), None, None, None)) for i in range(8)]
    many = [replace(question, items=["x", "a", "b", "c"]) for question in questions]
    few = [replace(question, scores=[float(i % 4 > 0)]) for i, question in enumerate(questions)]
    alone = replace(BASE, id="alone", items=["x", "y"])
    (pair,) = compare_runs({"many": table_of([*many, alone]), "few": table_of(few)})
    assert pair["means"] == (1.0, 0.75)
    assert pair["beside"] == {"harsh F1": [pytest.approx(0.4), 0.75], "named per true item": [34 / 9, 1.0]}
    said = naming_warnings([pair])
    assert [line.partition(":")[0] for line in said] == ["many", "many / few"]
    assert "name 3.8 items for each true one" in said[0] and "rank them differently" in said[1]
    comparison = Comparison("F1", [pair], left_out=said)
    assert notes_on(comparison)[-2:] == said and "rank them differently" in comparison_html(comparison)
    (table,) = comparison_tables(comparison)
    assert dict(zip(table.head, table.rows[0], strict=True))["harsh F1"] == "0.400 / 0.750"
    assert naming_warnings(compare_runs({"few": table_of(few), "same": table_of(few)})) == []
