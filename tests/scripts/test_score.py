"""`epbench.score`: whatever the benchmark, the scores are those of a run with the same answers."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import epbench
from epbench import BadInput, RunFailed
from tests.scripts.run_files import lines_of, read, rows_of, scores_of


def test_book_sort_is_scored_as_its_run(small_sets, small_runs):
    rows = rows_of(small_sets / "booksort", "e250_s20")
    answers = {record["id"]: record["answer"] for record in lines_of(small_runs / "booksort/answers.jsonl")}
    scored = epbench.score(rows, answers)
    written = scores_of(small_runs / "booksort")
    assert json.loads(json.dumps(scored.scores)) == written and len(scored.questions) == len(rows)
    first = rows[0]["id"]
    other = {"A": "Segment B", "B": "Segment A"}[rows[0]["answer"]]
    worse = epbench.booksort.score(rows, answers | {first: other})
    assert not worse.questions[0].correct and worse.scores["accuracy"] < written["accuracy"]
    lost = epbench.booksort.score(rows, answers | {first: None})
    assert lost.questions[0].failed and lost.scores["n_failed"] == 1
    missing = epbench.booksort.score(rows, {id_: answer for id_, answer in answers.items() if id_ != first})
    assert missing.questions[0].predicted == "X" and missing.scores["n_failed"] == 0


def test_probabilities_decide_where_they_are_given(small_sets):
    rows = rows_of(small_sets / "booksort", "e250_s20")
    sure = {"A": {"A": 0.8, "B": 0.1}, "B": {"A": 0.2, "B": 0.7}}
    scored = epbench.score(rows, {row["id"]: sure[row["answer"]] for row in rows})
    assert scored.scores["accuracy"] == 1 and scored.scores["label_mass"] == pytest.approx(0.9)
    for wrong in ({"A": 0.8}, {"A": 0.8, "B": 2}, {"A": "x", "B": 0.1}):
        with pytest.raises(BadInput, match="expected probabilities of A and B from 0 to 1"):
            epbench.score(rows, {rows[0]["id"]: wrong})


def test_memfail_is_scored_as_its_run(small_sets, small_runs):
    run = small_runs / "memfail"
    rows = rows_of(small_sets / "memfail", "long_hop")
    table = pq.read_table(run / "questions.parquet").to_pylist()
    answers = {row["id"]: row["answer"] for row in table}
    retrieved = {row["id"]: row["retrieved"] for row in table}
    (stored,) = read(run, "memories.json").values()
    scored = epbench.score(rows, answers, config="long_hop", retrieved=retrieved, stored=stored)
    written = scores_of(run)
    for name in ("config", "floor", "n_questions", "n_failed"):
        assert json.loads(json.dumps(scored.scores[name])) == written[name]
    (k,) = written["by_k"]
    found = json.loads(json.dumps(scored.scores["by_k"]))[k]
    assert {name: written["by_k"][k][name] for name in found} == found
    assert [one.label for one in scored.questions] == [row["label"] for row in table]
    empty = epbench.memfail.score(rows, answers, config="long_hop", retrieved={}, stored=[])
    assert {one.label for one in empty.questions} == {"storage_error"}
    first = table[0]["id"]
    refusal = "I'm sorry, but I can't help with that."
    for answer, label in ((None, "failed"), (refusal, "failed"), ("", "reasoning_error")):
        more = answers | {first: answer}
        asked = epbench.memfail.score(rows, more, config="long_hop", retrieved={first: stored}, stored=stored)
        assert asked.questions[0].label == label


def test_what_does_not_fit_is_refused(small_sets):
    sort, hops = rows_of(small_sets / "booksort", "e250_s20"), rows_of(small_sets / "memfail", "long_hop")
    more = {"config": "long_hop", "retrieved": {}, "stored": []}
    with pytest.raises(BadInput, match="expected rows of a dataset of tulving, booksort or memfail, found x, y"):
        epbench.score([{"x": 1, "y": 2}], {})
    with pytest.raises(BadInput, match="found no rows"):
        epbench.score([], {})
    for rows, given in ((sort, {}), (hops, more)):
        with pytest.raises(BadInput, match="answers: no question has the id 'x'"):
            epbench.score(rows, {"x": "A"}, **given)
    with pytest.raises(BadInput, match=r"answers, id '.*': expected a text, or None for a failure, found int"):
        epbench.score(sort, {sort[0]["id"]: 1})
    with pytest.raises(BadInput, match="rows, field 'id': expected each question once"):
        epbench.score([sort[0], sort[0]], {})
    with pytest.raises(BadInput, match="unknown config 'short_hop'"):
        epbench.score(hops, {}, **more | {"config": "short_hop"})
    with pytest.raises(BadInput, match="retrieved: no question has the id 'x'"):
        epbench.score(hops, {}, **more | {"retrieved": {"x": []}})
    with pytest.raises(RunFailed, match="all"):
        epbench.score(sort, dict.fromkeys((row["id"] for row in sort), None))


def test_each_benchmark_has_its_own_without_another_import():
    names = ("tulving", "booksort", "memfail")
    code = f"import epbench; print(*(getattr(epbench, name).score.__module__ for name in {names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"epbench.{name}.answers" for name in names]
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = epbench.scores
    with pytest.raises(AttributeError, match="no attribute 'rate'"):
        _ = epbench.tulving.rate
