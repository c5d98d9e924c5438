"""Reports of MemFail runs as a user makes them: reported numbers, prices and claims beside the runs."""

import json

import pytest

from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import read, scores_of

REPORT = "eval_scripts/report.py"


@pytest.fixture(scope="module")
def runs(small_sets, tmp_path_factory):
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


def test_reported_numbers_prices_and_claims_stand_beside_the_runs(runs, reported, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\nmodels.other = { input = 1 }\n')
    out = tmp_path / "report"
    done = ran(REPORT, runs / "floor", runs / "mine", "--reported", *reported, "--prices", prices, "--out", out)
    table = (out / "table.md").read_text()
    assert "| Mem0, gpt-4.1-mini, reported | 5 | 100 | 35 | 2 | 6 | 57 | 0 | 1,381 |" in table
    assert "| floor | 0.0000 | 0.0000 | 0.0000 | 0.0000 | 0.0000 |" in table
    assert "| mine | – | – | 0.0000 | 0.0000 | – |" in table  # nobody counted what the system asked
    claims = {claim["name"]: claim for claim in read(out, "claims.json")["claims"]}
    grows = claims["coexisting-grows-with-k"]["your runs"]
    scores = scores_of(runs / "mine")["by_k"]
    (case,) = grows["cases"]  # of the system, and not of the baseline
    assert case["value"] == pytest.approx(scores["5"]["success_rate"] - scores["3"]["success_rate"])
    assert claims["coexisting-induces-retrieval-errors"]["reported"]["decision"] == "supported"
    assert "On Coexisting-Facts" in (out / "report.html").read_text()
    assert "has no passport yet" in done or "of planted faults" in done


def test_what_cannot_be_shown_is_one_line(runs, reported, tmp_path):
    (tmp_path / "bad.toml").write_text("currency = 3")
    for more, message in [
        (["--prices", tmp_path / "bad.toml"], "field 'currency': expected a text"),
        (["--reported", tmp_path / "nowhere.json"], "No such file"),
    ]:
        refused(script(REPORT, runs / "mine", *more, "--out", tmp_path / "x"), message)
        assert not (tmp_path / "x").exists()
