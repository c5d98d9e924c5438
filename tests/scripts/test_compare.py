"""eval_scripts/compare.py: the judges of one run, and runs of one judge, as a user sees them."""

import shutil

import pytest

from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import change, read, scores_of
from tests.tulving.scripted_judge import honest, zealous

COMPARE, EVALUATE = "eval_scripts/compare.py", "eval_scripts/tulving.py"


@pytest.fixture(scope="module")
def runs(short_book, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    for memory in ("in-context", "rag-paragraph", "none"):
        ran(EVALUATE, "--dataset", short_book, "--memory", memory, "--limit", 150, "--out", out / memory)
    return out


@pytest.mark.slow
def test_two_judges_of_one_run(short_book, tmp_path):
    run = tmp_path / "r"
    ran(EVALUATE, "--dataset", short_book, "--memory", "none", "--limit", 40, "--out", run)
    refused(script(COMPARE, run), "expected verdicts by at least two judges, judged by lexical")
    with LoopbackEndpoint(zealous) as endpoint:
        judge = ["--judge", "openai:tiny", "--judge-url", endpoint.url]
        ran(EVALUATE, "--dataset", short_book, "--rejudge", *judge, "--out", run)
    said = ran(COMPARE, run, "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/agreement.json")["pairs"]
    assert pair["judges"] == ["lexical", "openai:tiny"] and pair["n_questions"] == 40
    # Nothing was remembered: the rules find nothing, the zealot all there is.
    assert pair["item_agreement"] == 0 and pair["score_difference"] == 1
    assert pair["simple_recall_score"][0] < pair["simple_recall_score"][1]
    assert pair["disagreements"][0]["second"]["reason"] == "read off"
    table = (tmp_path / "out/agreement.md").read_text()
    assert "| questions on |" in table and "1.000 apart in a score" in table
    assert "1.000 apart in a score" in said and "read off" in said


def test_runs_are_compared_question_by_question(runs, tmp_path):
    folders = [runs / name for name in ("in-context", "rag-paragraph", "none")]
    ran(COMPARE, *folders, "--out", tmp_path)
    content = read(tmp_path, "comparison.json")
    pairs = {tuple(pair["runs"]): pair for pair in content["pairs"]}
    assert content["judge"] == "lexical" and len(pairs) == 3
    best = pairs["in-context", "none"]
    assert best["n"] == 150 == best["wins"] + best["ties"] + best["losses"] and best["n_one_sided"] == 0
    assert best["difference"] == pytest.approx(best["means"][0] - best["means"][1])
    assert 0 < best["interval"][0] < best["difference"] < best["interval"][1]
    assert all(pair["p"] <= pair["p_holm"] <= 3 * pair["p"] + 1e-12 for pair in pairs.values())
    assert best["p_holm"] < 0.001
    assert "p (Holm)" in (tmp_path / "comparison.md").read_text()
    page = (tmp_path / "comparison.html").read_text()
    assert "Tulving book: 3 runs compared" in page and page.count("<svg") == 2 and "Wilcoxon" in page
    ran(COMPARE, *folders[:2], "--out", tmp_path / "two")
    (two,) = read(tmp_path, "two/comparison.json")["pairs"]
    assert two["p_holm"] == two["p"] and two["interval"] == pairs["in-context", "rag-paragraph"]["interval"]
    assert "Holm" not in (tmp_path / "two/comparison.md").read_text()


def test_a_training_on_a_book_stands_for_its_runs_on_it(runs, tmp_path):
    books = tmp_path / "books"
    books.mkdir()
    (books / "run.json").write_text('{"identity": {"benchmark": "finetuning"}}')
    for epoch, name in enumerate(("none", "rag-paragraph")):
        shutil.copytree(runs / name, books / f"measures/epoch-{epoch}/tulving")
    ran(COMPARE, books, runs / "in-context", "--out", tmp_path / "out")
    pairs = read(tmp_path, "out/comparison.json")["pairs"]
    expected = [["books, epoch 0", "books, epoch 1"], ["books, epoch 0", "in-context"]]
    assert [pair["runs"] for pair in pairs][:2] == expected
    assert pairs[1]["p"] < 0.001 and len(pairs) == 3
    shutil.rmtree(books / "measures/epoch-1")
    refused(script(COMPARE, books), "expected verdicts by at least two judges, judged by lexical")  # its one run


def test_a_report_of_runs_of_different_size_counts_the_questions_of_both(short_book, runs, tmp_path):
    small = tmp_path / "small"
    ran(EVALUATE, "--dataset", short_book, "--memory", "none", "--limit", 4, "--out", small)
    n, more = (scores_of(run)["n_by_bin"] for run in (small, runs / "none"))
    assert len(n) < len(more)  # a bin that the first run does not have
    ran("eval_scripts/report.py", small, runs / "none", "--out", tmp_path / "report")
    table = (tmp_path / "report/table.md").read_text()
    for bin_ in more:
        assert f"| {bin_} ({n.get(bin_, 0)}–{more[bin_]}) |" in table
    assert "<svg" in (tmp_path / "report/report.html").read_text()
    refused(script("eval_scripts/report.py", tmp_path, "--out", tmp_path / "x"), "no run.json in it")


def test_questions_that_one_run_lacks_are_left_out_and_counted(short_book, runs, tmp_path):
    ran(f"{EVALUATE} --dataset {short_book} --memory none --limit 100 --out {tmp_path / 'r'}")
    done = script(COMPARE, runs / "none", tmp_path / "r", "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    assert (pair["n"], pair["n_one_sided"], pair["ties"], pair["p"]) == (100, 50, 100, 1)
    assert "50 questions answered by only one are left out" in done.stdout
    assert pair["alone"][1] == {"n": 0, "mean": None} and pair["alone"][0]["n"] == 50
    assert "may be easier than the whole: none alone answered 50 (mean" in done.stdout
    assert "none alone answered 50" in (tmp_path / "out/comparison.md").read_text()


@pytest.mark.slow
def test_what_cannot_be_compared_is_named(short_book, runs, tmp_path):
    refused(script(COMPARE, tmp_path), "no run.json in it")
    refused(script(COMPARE, runs / "none", runs / "none"), "a run is given twice")
    (tmp_path / "run.json").write_text('{"identity": {"benchmark": "chess"}}')
    refused(script(COMPARE, tmp_path), "expected a run of tulving, booksort or memfail, found benchmark 'chess'")
    copy = shutil.copytree(runs / "none", tmp_path / "copy")
    with LoopbackEndpoint(honest) as endpoint:
        judge = ["--judge", "openai:tiny", "--judge-url", endpoint.url]
        ran(EVALUATE, "--dataset", short_book, "--rejudge", *judge, "--out", copy)
    refused(script(COMPARE, runs / "in-context", copy), "the runs have different judges")
    change(copy / "run.json", identity=read(copy, "run.json")["identity"] | {"fingerprint": "another"})
    refused(script(COMPARE, copy, runs / "none", "--dataset", short_book), "on another dataset")


@pytest.mark.slow
def test_a_published_run_and_its_judge(released, tmp_path):
    ran("builders/tulving.py", "--released", released, "--book", "short", "--out", tmp_path)
    ran(EVALUATE, "--released", released, "--out", tmp_path / "published")
    one, two, *_ = (path.parent for path in sorted((tmp_path / "published").glob("*/*/scores.json")))
    ran(COMPARE, one, two)  # their tables are all that it takes
    refused(script(COMPARE, one), "a released run names no dataset; give its book as the dataset")
    own = tmp_path / "own"
    ran(EVALUATE, "--dataset", tmp_path / "short", "--memory", "none", "--out", own)
    refused(script(COMPARE, one, own), "the runs have different judges")  # the book is that of the own run
    ran(COMPARE, one, two, "--dataset", tmp_path / "short", "--out", tmp_path / "out")
    (pair,) = read(tmp_path, "out/comparison.json")["pairs"]
    scores = [scores_of(folder) for folder in (one, two)]
    assert pair["n"] == scores[0]["n_questions"] and pair["means"][0] != pair["means"][1]
    ran(EVALUATE, "--dataset", tmp_path / "short", "--rejudge", "--out", one)
    ran(COMPARE, one, "--out", tmp_path / "judges")
    (pair,) = read(tmp_path, "judges/agreement.json")["pairs"]
    assert pair["judges"][1] == "lexical" and pair["n_questions"] == scores[0]["n_questions"]
    assert 0.6 < pair["kappa"] < 1
    ran(COMPARE, one, own, "--out", tmp_path / "mixed")
    (pair,) = read(tmp_path, "mixed/comparison.json")["pairs"]
    assert pair["n"] == scores[0]["n_questions"] and pair["difference"] > 0
