"""eval_scripts/compare.py on runs of Book-SORT, as a user sees it."""

import json
import math
import shutil

import pytest
from scipy.stats import binomtest, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from epbench.booksort.scores.run_files import read_questions
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import read, scores_of

pytestmark = pytest.mark.slow

COMPARE, EVALUATE = "eval_scripts/compare.py", "eval_scripts/booksort.py"


def evaluate(sort_set, out, *more, memory="none", model="oracle"):
    ran(EVALUATE, "--dataset", sort_set, "--memory", memory, "--model", model, *more, "--out", out)


@pytest.fixture(scope="module")
def runs(sort_set, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    for memory in ("in-context", "rag", "none"):
        evaluate(sort_set, out / memory, memory=memory)
        evaluate(sort_set, out / "both" / memory, "--both-orders", memory=memory)
    return out


def outcomes(folder):
    return read_questions(folder).set_index("id")


def test_runs_are_compared_question_by_question(runs, tmp_path):
    shown = ran(COMPARE, runs / "in-context", runs / "rag", runs / "none", "--out", tmp_path)
    content = read(tmp_path, "comparison.json")
    pairs = {tuple(pair["runs"]): pair for pair in content["pairs"]}
    assert content["benchmark"] == "booksort" and len(pairs) == 3 and content["notes"] == []
    best = pairs["in-context", "none"]
    right, wrong = (int((outcomes(runs / "none")["outcome"] == value).sum()) for value in ("right", "wrong"))
    assert (best["wins"], best["ties"], best["losses"]) == (wrong, right, 0) and best["n"] == 48
    assert best["p"] == mcnemar([[right, wrong], [0, 0]], exact=True).pvalue and best["p"] < 1e-4
    assert best["difference"] == pytest.approx(wrong / 48) and 0 < best["interval"][0] < wrong / 48
    scores = [scores_of(runs / name)["accuracy"] for name in ("in-context", "none")]
    assert best["means"] == pytest.approx(scores) and best["log_ratio"] is None
    assert all(pair["p"] <= pair["p_holm"] <= min(1, 3 * pair["p"]) + 1e-12 for pair in pairs.values())
    assert "p (Holm)" in (tmp_path / "comparison.md").read_text() and "log ratio" not in shown
    page = (tmp_path / "comparison.html").read_text()
    assert "Book-SORT: 3 runs compared" in page and page.count("<svg") == 3 and "in-context / none" in page


def test_runs_in_both_orders_are_compared_by_asking_and_tested_by_pair(runs, tmp_path):
    ran(COMPARE, runs / "both/in-context", runs / "both/none", "--out", tmp_path)
    (pair,) = read(tmp_path, "comparison.json")["pairs"]
    wrong = [id_ for id_, outcome in outcomes(runs / "both/none")["outcome"].items() if outcome != "right"]
    worse = len({id_.removesuffix("/swapped") for id_ in wrong})
    assert pair["n"] == 96 and pair["difference"] == pytest.approx(len(wrong) / 96)
    assert (pair["wins"], pair["losses"], pair["wins"] + pair["ties"]) == (worse, 0, 48)
    assert pair["p"] == pytest.approx(binomtest(worse, worse, 0.5).pvalue)
    shown = ran(COMPARE, runs / "in-context", runs / "both/none")  # one way against both ways: what both were asked
    assert "48 questions answered by only one are left out" in shown and "none alone answered 48" in shown


def test_failed_questions_are_left_out_and_counted(sort_set, runs, tmp_path):
    def faults(number, body):
        return Fault("status", 400, words="filtered") if "Salt and Thunder" in str(body["messages"]) else None

    with LoopbackEndpoint(lambda prompt: "A", script=faults) as endpoint:
        evaluate(sort_set, tmp_path / "lost", "--base-url", endpoint.url, model="openai:tiny")
    shown = ran(COMPARE, runs / "in-context", tmp_path / "lost", "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    assert pair["n_failed"] == [0, 24] and (pair["n"], pair["n_one_sided"]) == (24, 24)
    assert "in-context / lost: 0 and 24 failed questions are left out" in shown
    assert "the 24 that remain may be easier" in shown


def test_log_ratios_are_tested_where_both_runs_have_probabilities(sort_set, tmp_path):
    def told(p_a, p_b):
        top = [{"token": t, "logprob": math.log(p)} for t, p in (("A", p_a), ("B", p_b))]
        return {"choice": {"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}}

    for name, (p_a, p_b) in {"sure": (0.9, 0.05), "torn": (0.5, 0.45)}.items():
        with LoopbackEndpoint(lambda prompt: "A", more=lambda body, p=(p_a, p_b): told(*p)) as endpoint:
            evaluate(sort_set, tmp_path / name, "--limit", 12, "--base-url", endpoint.url, model="openai:tiny")
    ran(COMPARE, tmp_path / "sure", tmp_path / "torn", "--out", tmp_path / "out")
    assert "p (log ratio)" in (tmp_path / "out/comparison.md").read_text()
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    values = [outcomes(tmp_path / name)["log_ratio"][outcomes(tmp_path / "sure").index] for name in ("sure", "torn")]
    assert pair["log_ratio"]["p"] == pytest.approx(ttest_rel(*values, alternative="greater").pvalue)
    assert pair["log_ratio"]["p_less"] == pytest.approx(ttest_rel(*values, alternative="less").pvalue)
    low, high = pair["log_ratio"]["interval"]
    assert low <= pair["log_ratio"]["difference"] <= high
    page = (tmp_path / "out/comparison.html").read_text()
    assert page.count("<svg") == 5 and "row has a higher log ratio" in page
    same = (12, 12, 1.0)  # the same answers, with another confidence
    assert (pair["log_ratio"]["n"], pair["ties"], pair["p"]) == same


def training(folder, sort=(), in_context=()):
    """The folder of a fine-tuning, with these runs as the measures of its epochs, from epoch 0 on."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"identity": {"benchmark": "finetuning"}}))
    for kind, of_kind in (("sort", sort), ("sort-in-context", in_context)):
        for epoch, run in enumerate(of_kind):
            shutil.copytree(run, folder / f"measures/epoch-{epoch}" / kind)
    return folder


def test_a_training_is_compared_epoch_by_epoch(drawn_pictures, runs, tmp_path):
    none, rag, best = (runs / name for name in ("none", "rag", "in-context"))
    books = training(tmp_path / "books", [none, rag, best], in_context=[best])
    control = training(tmp_path / "control", [none, none])
    shown = ran(COMPARE, books, control, best, "--out", tmp_path / "out")
    pairs = read(tmp_path, "out/comparison.json")["pairs"]
    names = [*(f"books, epoch {n}" for n in range(3)), *(f"control, epoch {n}" for n in range(2)), "in-context"]
    assert list(dict.fromkeys(name for pair in pairs for name in pair["runs"])) == names and len(pairs) == 15
    found = {tuple(pair["runs"]): pair for pair in pairs}
    assert found["books, epoch 0", "control, epoch 0"]["difference"] == 0  # the same model, before either training
    assert found["books, epoch 2", "control, epoch 1"]["p"] < 1e-4 and "epoch 2" in shown
    assert found["books, epoch 2", "in-context"]["wins"] == 0
    plain = ran(COMPARE, rag, none, "--out", tmp_path / "plain")
    (pair,) = read(tmp_path, "plain/comparison.json")["pairs"]
    same = ("difference", "interval", "p", "p_corrected", "n", "means")
    assert [found["books, epoch 1", "control, epoch 1"][key] for key in same] == [pair[key] for key in same]
    assert "epoch" not in plain
    page = (tmp_path / "out/comparison.html").read_text()
    assert "Book-SORT: 6 runs compared" in page
    assert page.count(">books, epoch 2</text>") == 6  # in 3 figures, row and column


def test_what_cannot_be_compared_is_named(sort_set, runs, tmp_path):
    refused(script(COMPARE, runs / "none"), "expected two or more runs of booksort, found one")
    refused(script(COMPARE, runs / "none", runs / "rag" / ".." / "none"), "a run is given twice")
    refused(script(COMPARE, runs / "none", runs / "rag", "--dataset", sort_set), "only runs on Tulving books need one")
    evaluate(sort_set, tmp_path / "short", "--config", "e120_s20")
    refused(script(COMPARE, runs / "none", tmp_path / "short"), "its config is ['e120_s20'], that of")
    new, one = training(tmp_path / "new"), training(tmp_path / "one", [runs / "none"])
    refused(script(COMPARE, new, runs / "none"), "new: no epoch of this training has been measured")
    refused(script(COMPARE, one), "one: expected two or more runs of booksort, found one")
    refused(script(COMPARE, one, one / "measures/epoch-0/sort"), "a run is given twice, by itself and by its training")
    copy = shutil.copytree(runs / "none", tmp_path / "copy")
    (copy / "questions.parquet").write_text("{}")
    refused(script(COMPARE, runs / "rag", copy), "questions.parquet: expected a Parquet file")
    (copy / "questions.parquet").unlink()
    ran(COMPARE, runs / "rag", copy)  # as those of an earlier version, it is made of the journals
    (copy / "scores.json").unlink()
    refused(script(COMPARE, runs / "rag", copy), "has no scores.json")
    other = tmp_path / "memfail"
    other.mkdir()
    (other / "run.json").write_text('{"identity": {"benchmark": "memfail"}}')
    refused(script(COMPARE, runs / "none", runs / "rag", other), "expected two or more runs of memfail, found one")


def test_a_report_of_two_benchmarks_is_one_page_with_a_part_for_each(runs, small_runs, tmp_path):
    shown = (runs / "none", small_runs / "tulving", runs / "rag")
    ran("eval_scripts/report.py", *shown, "--out", tmp_path / "all")
    page = (tmp_path / "all/report.html").read_text()
    assert page.count("<h1>") == 1 and page.count("</html>") == 1
    assert page.index("<h2>Book-SORT") < page.index("<h2>short")
    table = (tmp_path / "all/table.md").read_text()
    parts = {name: (tmp_path / "all" / name / "table.md").read_text() for name in ("booksort", "tulving")}
    assert all(part in table for part in parts.values())
    assert "| rag |" in parts["booksort"] and "| tulving |" in parts["tulving"]
