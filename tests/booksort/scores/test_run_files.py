import json

import pytest

from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.scores.run_files import COLUMNS, read_questions
from tests.paper.sort_runs import answers_of, make_run, mostly_right


def some_failed(pair):
    if pair.distance_bin == 200:
        return {"failure": "timeout"}
    if pair.distance_bin == 300:
        return {"answer": "Neither of them."}
    return mostly_right(0.7)(pair)


def test_each_question_is_a_row_with_what_its_journal_says(tmp_path, dataset):
    folder = make_run(tmp_path / "r", dataset, some_failed)
    found = read_questions(folder)
    pairs, said = load_pairs(dataset, ["all"]), answers_of(folder)
    assert list(found["id"]) == [pair.id for pair in pairs] and list(found.columns)[: len(COLUMNS)] == list(COLUMNS)
    rows = [json.loads(row) for row in found.to_json(orient="records", lines=True, double_precision=15).splitlines()]
    for pair, row in zip(pairs, rows, strict=True):
        for name in "book_idx excerpt_idx distance distance_bin excerpt_length segment_length answer".split():
            assert row[name] == getattr(pair, name)
        assert (row["seg1_pos"], row["seg2_pos"]) == pair.positions
        record = said[pair.id]
        if "failure" in record:
            assert (row["outcome"], row["failure"], row["greedy"]) == ("failed", "timeout", None)
            assert {row[name] for name in ("predicted", "written", "p_a", "p_b", "label_mass")} == {None}
        elif "probabilities" not in record:
            assert (row["outcome"], row["predicted"], row["written"]) == ("wrong", "X", "X")
            assert (row["greedy"], row["label_mass"], row["failure"]) == ("Neither of them.", None, None)
        else:
            known = record["probabilities"]
            assert row["predicted"] == record["answer"] == row["written"]
            assert row["outcome"] == ("right" if record["answer"] == pair.answer else "wrong")
            assert (row["p_a"], row["p_b"]) == pytest.approx((known["A"], known["B"]))
            assert row["label_mass"] == pytest.approx(sum(known.values()))
        assert row["retrieved_both"] is None and row["retrieved_order"] is None


def test_what_was_retrieved_stands_beside_each_question(tmp_path, dataset):
    found = lambda pair: (pair.distance_bin > 100, pair.distance_bin > 200)  # noqa: E731
    rows = read_questions(make_run(tmp_path / "r", dataset, mostly_right(0.5), memory="rag", retrieved=found))
    assert list(rows["retrieved_both"]) == list(rows["distance_bin"] > 100)
    assert list(rows["retrieved_order"]) == list(rows["distance_bin"] > 200)
