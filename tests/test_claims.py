"""The page on speed: what is committed is what was measured, and a goal that is missed says so."""

import json

from tests.scripts.in_process import ROOT, loaded

BENCHMARKS, CLAIMS = ROOT / "benchmarks", "benchmarks/claims.py"


def test_the_page_is_written_from_the_results_beside_it():
    claims, results = loaded(CLAIMS), json.loads((BENCHMARKS / "results.json").read_text("utf-8"))
    assert (BENCHMARKS / "README.md").read_text("utf-8") == claims.page(results, None)
    assert all((BENCHMARKS / f"{claim.benchmark}.py").is_file() for claim in claims.CLAIMS)
    for claim in claims.CLAIMS:  # a key that is misspelt would look like a claim that was not measured
        assert (claim.found(results) is None) == (claim.benchmark not in results["benchmarks"])


def test_a_missed_goal_is_marked_and_another_machine_stands_beside():
    claims = loaded(CLAIMS)
    claim = claims.Claim("Reading together", "shared_context", "times.of", "×", 20, True)
    here, there = ({"benchmarks": {"shared_context": {"times": {"of": value}}}} for value in (19.0, 21.0))
    assert claim.shown(here) == "19 × (missed)" and claim.shown(there) == "21 ×"
    assert claim.shown({}) == "not measured" and claim.shown_goal() == "at least 20"
    page = claims.page({"machine": "one", "printed": {}, **here}, {"machine": "other", **there})
    assert "There: other." in page and "| here | there |" in page
