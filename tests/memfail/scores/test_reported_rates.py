"""Reported success rates and errors, from one file or two, against what they were made of."""

import json

import pytest

from epbench.errors import BadInput
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.scores.reported_rates import read_reported
from epbench.memfail.scores.tables import breakdown_tables

RATE = {
    "dataset": "Coexisting-Facts", "system": "Mem0", "internal_model": "tiny", "k": 5, "success_rate": 0.35, "n": 100,
    "mean_tokens_per_graded_question": 1381,
}  # fmt: skip
COUNTS = {
    "dataset": "coexisting", "system": "Mem0", "internal_model": "tiny", "k": 5, "n": 100, "storage": 2, "summary": 6,
    "retrieval": 57, "reasoning": 1, "correct_or_unanalysed": 34,
}  # fmt: skip
LABEL = "Mem0, tiny, reported (coexisting_facts)"


def file(folder, name, *rows):
    path = folder / name
    path.write_text(json.dumps({"rows": list(rows)}), "utf-8")
    return path


def test_rates_and_errors_are_put_together_and_the_rate_comes_first(tmp_path):
    files = [file(tmp_path, "rates.json", RATE), file(tmp_path, "errors.json", COUNTS, COUNTS | {"k": 20})]
    for order in (files, files[::-1]):
        (run,) = read_reported(*order).values()
        about = {"config": "coexisting_facts", "system": "Mem0", "system_model": "tiny", "reported": True}
        assert about.items() <= run.items() and list(run["by_k"]) == ["5", "20"]
        cell = run["by_k"]["5"]
        assert cell["success_rate"] == 0.35 and [cell[error] for error in ERRORS] == [0.02, 0.06, 0.57, 0.01]
        assert cell["tokens_per_question"] == 1381 and set(cell["intervals"]) == {"success_rate", *ERRORS}
        assert run["by_k"]["20"]["success_rate"] == 0.34 and "tokens_per_question" not in run["by_k"]["20"]


def test_the_two_kinds_of_persona_questions_are_pooled_and_kept(tmp_path):
    direct = COUNTS | {"dataset": "persona_retrieval_nonmisleading"}
    other = COUNTS | {"dataset": "persona_retrieval_misleading", "n": 50, "storage": 0, "retrieval": 9}
    (run,) = read_reported(file(tmp_path, "errors.json", direct, other)).values()
    cell = run["by_k"]["5"]
    assert (cell["n"], cell["direct"]["n"], cell["misleading"]["n"]) == (150, 100, 50)
    assert cell["storage_error"] == pytest.approx(2 / 150) and cell["direct"]["storage_error"] == 0.02
    assert cell["retrieval_error"] == pytest.approx(66 / 150)


def test_half_of_the_questions_are_not_put_beside_the_rate_of_all(tmp_path):
    rate = RATE | {"dataset": "Persona-Retrieval", "n": 300}
    direct = COUNTS | {"dataset": "persona_retrieval_nonmisleading"}
    (run,) = read_reported(file(tmp_path, "rates.json", rate), file(tmp_path, "errors.json", direct)).values()
    cell = run["by_k"]["5"]
    assert (cell["success_rate"], cell["n"]) == (0.35, 300) and "storage_error" not in cell
    assert cell["direct"]["storage_error"] == 0.02


def test_numbers_of_questions_and_tokens_stand_in_a_table(tmp_path):
    runs = read_reported(file(tmp_path, "rates.json", RATE, RATE | {"k": 10}), file(tmp_path, "errors.json", COUNTS))
    (table,) = breakdown_tables(runs)
    assert table.head == [
        "coexisting_facts: questions by stage", "k", "n", "correct", "storage", "summary", "retrieval", "reasoning",
        "tokens/question",
    ]  # fmt: skip
    assert table.rows == [
        ["Mem0, tiny, reported", "5", "100", "35", "2", "6", "57", "1", "1,381"],
        ["Mem0, tiny, reported", "10", "100", "35", "–", "–", "–", "–", "1,381"],
    ]
    assert breakdown_tables({LABEL: {"config": "long_hop", "by_k": {"5": {"success_rate": 0.5, "n": 2}}}}) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (COUNTS, "row 2: coexisting has two rows of Mem0 at k = 5"),
        (COUNTS | {"k": 7, "storage": 3}, "to add up to n = 100"),
        (COUNTS | {"k": 7, "storage": -2, "summary": 10}, "field 'storage': expected a whole number >= 0, found -2"),
        (COUNTS | {"dataset": "Mine"}, "field 'dataset': expected one of conditional, .*, got 'Mine'"),
        (RATE, "two rates at k = 5"),
        (RATE | {"k": True}, "field 'k': expected a whole number, found True"),
        (RATE | {"success_rate": 35}, "row 2, field 'success_rate': expected a number <= 1.0, found 35"),
        (RATE | {"mean_tokens_per_graded_question": -1}, "graded_question': expected a number >= 0.0, found -1"),
    ],
)
def test_bad_rows_are_one_line(tmp_path, row, message):
    with pytest.raises(BadInput, match=message):
        read_reported(file(tmp_path, "both.json", COUNTS, RATE, row))


def test_bad_files_are_one_line(tmp_path):
    (tmp_path / "p.json").write_text('{"rows": 3}', "utf-8")
    with pytest.raises(BadInput, match="field 'rows'"):
        read_reported(tmp_path / "p.json")
    with pytest.raises(BadInput, match="No such file"):
        read_reported(tmp_path / "nowhere.json")
