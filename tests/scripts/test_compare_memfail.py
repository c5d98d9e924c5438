"""Runs of MemFail beside each other, by eval_scripts/compare.py and eval_scripts/report.py."""

import json
import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from epbench.memfail.scores.comparison import compare_runs
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import read, scores_of

COMPARE, REPORT, EVALUATE = (f"eval_scripts/{name}.py" for name in ("compare", "report", "memfail"))
CONFIGS = ("conditional_facts_easy", "long_hop")


def evaluate(memfail_set, out, system, *more, configs=CONFIGS):
    ran(EVALUATE, "--dataset", memfail_set, "--config", *configs, "--system", system, *more, "--out", out)
    return out


@pytest.fixture(scope="module")
def runs(memfail_set, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    for system in ("none", "verbatim-bm25", "oracle"):
        evaluate(memfail_set, out / system, system, "--k", 2, 5)
    return out


def outcomes(folder, k):
    records = pq.read_table(folder / "questions.parquet").to_pylist()
    return {record["id"]: record["success"] for record in records if record["k"] == k}


def test_runs_are_compared_for_each_config_and_k(runs, tmp_path):
    ran(COMPARE, *(runs / name for name in ("oracle", "verbatim-bm25", "none")), "--out", tmp_path)
    content = read(tmp_path, "comparison.json")
    found = {(*pair["runs"], pair["config"], pair["k"]): pair for pair in content["pairs"]}
    assert content["benchmark"] == "memfail" and content["judge"] == "lexical" and len(found) == 3 * 2 * 2
    pair = found["oracle", "verbatim-bm25", "long_hop", 2]
    one, other = (outcomes(runs / name / "long_hop", 2) for name in ("oracle", "verbatim-bm25"))
    table = [[sum(one[q] is a and other[q] is b for q in one) for b in (True, False)] for a in (True, False)]
    assert (pair["wins"], pair["losses"], pair["n"]) == (table[0][1], table[1][0], 20)
    assert pair["p"] == mcnemar(table, exact=True).pvalue
    scores = [scores_of(runs / n / "long_hop") for n in ("oracle", "verbatim-bm25")]
    assert pair["means"] == pytest.approx([of_run["by_k"]["2"]["success_rate"] for of_run in scores])
    clear = found["oracle", "none", "conditional_facts_easy", 5]
    assert clear["difference"] >= 0.9 and clear["losses"] == 0 and clear["p"] < clear["p_holm"] < 0.001
    table = (tmp_path / "comparison.md").read_text()
    assert "| runs | config, k | n | success |" in table and "long_hop, 2" in table
    page = (tmp_path / "comparison.html").read_text()
    assert "MemFail: 3 runs compared" in page and "long_hop, 2" in page and "<svg" not in page  # of several configs


@pytest.mark.slow
def test_a_run_of_one_config_and_k_is_compared_where_both_are(memfail_set, runs, tmp_path):
    one = evaluate(memfail_set, tmp_path / "one", "oracle", "--k", 5, 7, "--limit", 12, configs=["long_hop"])
    shown = ran(COMPARE, one, runs / "none", "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    assert (tmp_path / "out/comparison.html").read_text().count("<svg") == 3  # of one config and k
    assert (pair["config"], pair["k"], pair["n"], pair["n_one_sided"]) == ("long_hop", 5, 12, 8)
    assert "8 questions answered by only one are left out; the 12 that remain may be easier" in shown
    assert "only one has long_hop at k = 7, which is left out" in shown
    assert "only none has conditional_facts_easy at k = 2, conditional_facts_easy at k = 5, long_hop at k = 2" in shown
    other = evaluate(memfail_set, tmp_path / "other", "oracle", "--k", 3, configs=["long_hop"])
    refused(script(COMPARE, other, runs / "none"), "other has long_hop at k = 3, none has")


@pytest.mark.slow
def test_questions_that_failed_in_either_run_are_left_out(memfail_set, runs, tmp_path):
    faulty = evaluate(memfail_set, tmp_path / "faulty", "tests/memories/faulty.py:KeepsNothing", configs=["long_hop"])
    table = pq.read_table(faulty / "questions.parquet")
    rows = [row | {"success": None, "outcome": "failed"} if i < 5 else row for i, row in enumerate(table.to_pylist())]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), faulty / "questions.parquet")
    shown = ran(COMPARE, runs / "oracle", faulty, "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    assert pair["n_failed"] == [0, 5] and (pair["n"], pair["n_one_sided"]) == (15, 5)
    assert "oracle / faulty: 0 and 5 failed questions are left out" in shown
    faulty = evaluate(memfail_set, tmp_path / "f", "tests/memories/faulty.py:RaisesInRetrieval", configs=["long_hop"])
    done = script(COMPARE, runs / "oracle", faulty)
    assert done.returncode == 1 and "oracle and f have no answered question in common" in done.stderr


def test_questions_of_one_row_are_drawn_together():
    """The two questions of each row win and lose together: the interval is that of the rows, wider than by questions."""
    places = [(f"{row}/{i}", str(row), "right" if row % 3 else "wrong") for row in range(30) for i in range(2)]
    first = pd.DataFrame(places, columns=["id", "row", "outcome"])
    second = first.assign(outcome="right")
    alone = first.assign(row=first["id"]), second.assign(row=second["id"])
    compared = [compare_runs({"a": {("c", 5): a}, "b": {("c", 5): b}}) for a, b in ((first, second), alone)]
    (by_row,), (by_question,) = compared
    assert by_row["difference"] == by_question["difference"] == pytest.approx(-1 / 3)
    width = [pair["interval"][1] - pair["interval"][0] for pair in (by_row, by_question)]
    assert 1.25 < width[0] / width[1] < 1.6  # the square root of 2


def test_what_cannot_be_compared_is_named(memfail_set, runs, tmp_path):
    refused(script(COMPARE, runs / "none"), "expected two or more runs of memfail, found one")
    copy = shutil.copytree(runs / "none", tmp_path / "copy")
    place = copy / "long_hop/run.json"
    run = json.loads(place.read_text())
    place.write_text(json.dumps(run | {"judge": {"name": "openai:x", "prompt_hash": "0"}}))
    refused(script(COMPARE, runs / "oracle", copy), "the runs have different judges (")
    place.write_text(json.dumps(run | {"identity": run["identity"] | {"fingerprint": "another"}}))
    refused(script(COMPARE, runs / "oracle", copy), "are on different rows of long_hop")
    place.write_text(json.dumps(run))
    (copy / "long_hop/scores.json").unlink()
    refused(script(COMPARE, runs / "oracle", copy), "has no scores.json")


# ---- reports ----


@pytest.fixture(scope="module")
def two_systems(small_sets, tmp_path_factory):
    """A system and a baseline on one config."""
    folder = tmp_path_factory.mktemp("runs")
    for name, system in [("floor", "none"), ("mine", "epbench.memories.example:KeywordMemory")]:
        base = f"--dataset {small_sets / 'memfail'} --config coexisting_facts --system {system} --in-process"
        ran(f"eval_scripts/memfail.py {base} --k 3 5 --out {folder / name}")
    return folder


@pytest.fixture
def reported(tmp_path):
    """Rates and errors in two files, as the paper's numbers are."""
    about = {"system": "Mem0", "internal_model": "gpt-4.1-mini", "k": 5, "n": 100}
    rate = about | {"dataset": "Coexisting-Facts", "success_rate": 0.35, "mean_tokens_per_graded_question": 1381}
    counts = {"storage": 2, "summary": 6, "retrieval": 57, "reasoning": 0, "correct_or_unanalysed": 35}
    files = {"rates.json": rate, "errors.json": about | counts | {"dataset": "coexisting"}}
    for name, row in files.items():
        (tmp_path / name).write_text(json.dumps({"rows": [row]}))
    return [tmp_path / name for name in files]


def test_reported_numbers_prices_and_claims_stand_beside_the_runs(two_systems, reported, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\nmodels.other = { input = 1 }\n')
    out, runs = tmp_path / "report", [two_systems / name for name in ("floor", "mine")]
    done = ran(REPORT, *runs, "--reported", *reported, "--prices", prices, "--out", out)
    table = (out / "table.md").read_text()
    assert "| Mem0, gpt-4.1-mini, reported | 5 | 100 | 35 | 2 | 6 | 57 | 0 | 1,381 |" in table
    assert "| floor | 0.0000 | 0.0000 | 0.0000 | 0.0000 | 0.0000 |" in table
    assert "| mine | – | – | 0.0000 | 0.0000 | – |" in table  # nobody counted what the system asked
    claims = {claim["name"]: claim for claim in read(out, "claims.json")["claims"]}
    grows = claims["coexisting-grows-with-k"]["your runs"]
    scores = scores_of(two_systems / "mine")["by_k"]
    (case,) = grows["cases"]  # of the system, and not of the baseline
    assert case["value"] == pytest.approx(scores["5"]["success_rate"] - scores["3"]["success_rate"])
    assert claims["coexisting-induces-retrieval-errors"]["reported"]["decision"] == "supported"
    assert "On Coexisting-Facts" in (out / "report.html").read_text()
    assert "has no passport yet" in done or "of planted faults" in done


def test_what_cannot_be_shown_is_one_line(two_systems, reported, tmp_path):
    (tmp_path / "bad.toml").write_text("currency = 3")
    for more, message in [
        (["--prices", tmp_path / "bad.toml"], "field 'currency': expected a text"),
        (["--reported", tmp_path / "nowhere.json"], "No such file"),
    ]:
        refused(script(REPORT, two_systems / "mine", *more, "--out", tmp_path / "x"), message)
        assert not (tmp_path / "x").exists()
