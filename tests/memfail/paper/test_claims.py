"""Claims, each against results made so that it holds, against results made so that it does not, and the published ones."""

import json
from itertools import starmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from epbench.memfail.paper import claims
from epbench.memfail.paper.inputs import Inputs, PaperRun, cells_of
from epbench.memfail.scores.reported_rates import read_reported
from tests.conftest import SHARED

EASY, HARD, COEXISTING = "conditional_facts_easy", "conditional_facts_hard", "coexisting_facts"
PERSONA, LONG_HOP = "persona_retrieval", "long_hop"
RATES = ("success_rate", "storage_error", "summary_error", "retrieval_error", "reasoning_error")
CLAIM = {claim.name: claim for claim in claims.claims()}


def cell(config, system, right, *, model="gpt-4.1-mini", k=5, n=100, tokens=None, **errors):
    """The result of a system; errors by stage if any are given."""
    who, stages = f"{system} ({model})", "storage summary retrieval reasoning".split() if errors else ()
    about = {"config": config, "system": system, "model": model, "k": k, "passed": (right, n), "tokens": tokens}
    lost = {stage: (errors.get(stage, 0), n) for stage in stages}
    return about | {"who": who, "name": f"{who} on {config} at k = {k}", "lost": lost}


def parsed(text):
    """The cells that a text tells: `hop A 10 k=15 retrieval=90`, or `hard rising`, in which six systems rise with tokens."""
    short = {"easy": EASY, "hard": HARD, "coexisting": COEXISTING, "persona": PERSONA, "hop": LONG_HOP}
    config, system, *more = text.split()
    if not more:
        right = range(10, 70, 10) if system == "rising" else range(80, 20, -10)
        return [cell(short[config], str(i), of + i % 2, tokens=20 * i) for i, of in enumerate(right, 1)]
    values = dict(one.split("=") for one in more[1:])
    numbers = {name: value if name == "model" else int(value) for name, value in values.items()}
    return [cell(short[config], system, int(more[0]), **numbers)]


def evidence(name, texts):
    return CLAIM[name].of([one for text in texts.split("; ") for one in parsed(text)])


CASES = """
no-system-dominates | easy A 90; easy B 10; hard A 10; hard B 90 | easy A 90; easy B 10; hard A 90; hard B 10
mem0-best-on-coexisting | coexisting Mem0 90; coexisting B 10 | coexisting Mem0 10; coexisting B 90
structmem-collapses-on-coexisting | coexisting StructMem 5; coexisting B 60 | coexisting StructMem 60; coexisting B 5; coexisting C 95
structmem-leads-on-causal-tasks | hop StructMem 80; hop B 20 | hop StructMem 20; hop B 80
coexisting-grows-with-k | coexisting A 10; coexisting A 70 k=15 | coexisting A 70; coexisting A 10 k=15
elsewhere-k-gains-little | easy A 80; easy A 60 k=15 | easy A 10; easy A 70 k=15
k-helps-where-retrieval-fails | hop A 10 retrieval=90; hop A 70 k=15 retrieval=30 | hop A 70 retrieval=30; hop A 10 k=15 retrieval=90
k-gains-little-where-summaries-fail | hard A 50 summary=50; hard A 30 k=15 summary=70 | hard A 10 summary=90; hard A 90 k=15 summary=10
coexisting-induces-retrieval-errors | coexisting A 20 retrieval=75 summary=5 | coexisting A 20 retrieval=5 summary=75
hard-induces-summary-errors | hard A 20 summary=75 retrieval=5 | hard A 20 summary=75 retrieval=5; hard B 20 storage=80
persona-induces-summary-errors | persona A 20 summary=75; persona Mem0 20 storage=80 | persona A 20 retrieval=75
mem0-loses-personas-in-storage | persona Mem0 20 storage=75 summary=5 | persona Mem0 20 storage=5 summary=75
mem0-keeps-short-texts | persona Mem0 20 storage=75; coexisting Mem0 90 storage=2 | persona Mem0 90 storage=2; coexisting Mem0 20 storage=75
long-hop-induces-retrieval-errors | hop A 20 retrieval=75 | hop A 20 storage=75
only-mem0-fails-in-storage | easy A 98 storage=1; easy Mem0 10 storage=80 | easy A 50 storage=50
reasoning-errors-are-infrequent | easy A 90 reasoning=1 storage=9 | easy A 50 reasoning=50
stronger-models-gain-little | easy A 80; easy A 60 model=gemini-3.1 | easy A 20; easy A 80 model=gemini-3.1
stronger-models-can-harm | easy A 80; hard A 80; easy A 20 model=gemini-3.1; hard A 20 model=gemini-3.1 | easy A 20; hard A 20; easy A 80 model=gemini-3.1; hard A 80 model=gemini-3.1
hard-grows-with-tokens | hard rising | hard falling
persona-grows-with-tokens | persona rising | persona falling
coexisting-falls-with-tokens | coexisting falling | coexisting rising
a-mem-spends-without-gain | easy A-MEM 50 tokens=90; easy B 80 tokens=10 | easy A-MEM 80 tokens=90; easy B 20 tokens=10
a-mem-summarises-best | hard A-MEM 80 summary=5; hard B 30 summary=60 | hard A-MEM 30 summary=60; hard B 80 summary=5
"""
"""By claim, results that support it and others that deny it."""


def test_made_results_support_a_claim_and_others_deny_it():
    cases = {name: sides for name, *sides in (line.split(" | ") for line in CASES.strip().splitlines())}
    assert cases.keys() == CLAIM.keys() and len(CLAIM) == len(claims.claims())
    for name, sides in cases.items():
        assert [evidence(name, side).decision for side in sides] == ["supported", "denied"], name
        claim = CLAIM[name]
        assert claim.section and claim.text.endswith(".") and claim.needs
        nothing = claim.of([])  # nothing is decided, and what is missing is said
        assert (nothing.decision, nothing.cases, nothing.missing) == ("not decided", (), claim.needs)


def test_what_is_compared_and_counted():
    for name, texts, why in (
        ("mem0-best-on-coexisting", "coexisting Mem0 90; coexisting B 10 k=10", "no k in common"),
        ("mem0-best-on-coexisting", "coexisting Mem0 90; coexisting B 10 model=gemini-3.1", "other models"),
        ("stronger-models-gain-little", "easy A 20 model=tiny; easy A 80 model=huge", "nobody says which is stronger"),
        ("elsewhere-k-gains-little", "easy A 20; easy A 80", "two runs of one system at one k"),
    ):
        assert evidence(name, texts).missing, why
    cells = [cell(EASY, "A", 1, k=10, storage=1), cell(EASY, "A", 2, k=3, storage=1), cell(EASY, "A", 3, storage=1)]
    assert [c["passed"] for c in claims.with_errors(cells)] == [(3, 100)]  # at k = 5
    assert [c["passed"] for c in claims.with_errors(cells[:2], EASY)] == [(2, 100)]  # else at the smallest
    assert [(a["k"], b["k"]) for a, b in claims.duels([*cells, cell(EASY, "B", 1, k=3)])] == [(3, 3), (3, 3)]
    # Summary errors among what was stored: B loses 8 of 10 it kept
    (case,) = evidence("a-mem-summarises-best", "hard A-MEM 30 summary=50; hard B 2 storage=90 summary=8").cases
    assert case.counts == ((50, 100), (8, 10)) and case.value == pytest.approx(-0.3)


def scores_of(system, model="", **more):
    """Scores in which 100 questions were judged, and half of them passed."""
    rates = dict(zip(RATES, (0.5, 0.3, 0.1, 0.1, 0.0), strict=True))
    rates |= {"n": 104, "failed": 4, "tokens_per_memory": 12.5}
    by_k = {"5": rates, "7": {"success_rate": None, "n": 3, "failed": 3}}
    return {"config": PERSONA, "system": system, "system_model": model, "by_k": by_k, **more}


def run_of(system, model="", **more):
    """A run of which only the scores matter here."""
    return PaperRun(system, Path(), PERSONA, system, model, "", None, "", scores_of(system, model, **more), {})


def test_runs_become_cells_under_the_names_of_the_paper():
    systems = (("mem0-1", "openai:gpt-4.1-mini"), ("mem0", "claude-haiku-4-5"), ("oracle",), ("my.py:Memory",))
    runs = [*starmap(run_of, systems), run_of("mine", baseline=True)]
    direct = dict(zip(RATES, (0.2, 0.5, 0.3, 0.0, 0.0), strict=True))
    runs[0].scores["by_k"]["5"] |= {"direct": direct | {"n": 50, "failed": 0}}
    first, second, own = claims.comparable(cells_of(Inputs(runs)))
    assert (first["who"], first["passed"], first["k"], first["tokens"]) == ("Mem0 (gpt-4.1-mini)", (50, 100), 5, 12.5)
    assert first["lost"] == {"storage": (25, 50), "summary": (15, 50), "retrieval": (0, 50), "reasoning": (0, 50)}
    assert second["who"] == "mem0 (haiku-4.5)"  # another algorithm than the paper's
    assert (own["who"], own["lost"]["storage"]) == ("my.py:Memory", (30, 100))


def test_the_table_and_the_file_tell_runs_and_reported_numbers_apart():
    own = {"a": scores_of("mem0-1", "gpt-4.1-mini")}
    table, _ = claims.claims_of(own, {})
    assert table.head == ["claim of the paper", "section", "your runs"] and len(table.rows) == len(CLAIM)
    table, written = claims.claims_of(own, {"b": {**own["a"], "system": "Mem0", "reported": True}})
    row = next(row for row in table.rows if "most errors of Mem0 are of storage" in row[0])
    assert table.head[-1] == "reported" and row[2] == row[3]
    assert row[2].startswith("not decided: 0 for, 0 against, 1 neither; storage among")
    found = {claim["name"]: claim["your runs"] for claim in json.loads(json.dumps(written, allow_nan=False))["claims"]}
    (case,) = found["mem0-loses-personas-in-storage"]["cases"]
    assert case["counts"] == [[30, 50]] and case["value"] == 0.6 and next(iter(case)) == "case"
    assert found["mem0-loses-personas-in-storage"]["about"] == "all"
    assert "missing" in found["long-hop-induces-retrieval-errors"]


SUPPORTED = {"coexisting-induces-retrieval-errors", "mem0-best-on-coexisting", "coexisting-grows-with-k"}
DENIED = {"persona-induces-summary-errors", "reasoning-errors-are-infrequent", "structmem-collapses-on-coexisting"}


def test_every_claim_has_cases_in_the_form_of_the_published_numbers(results):
    rates = read_reported(results / "paper_results.json", results / "paper_error_breakdown.json")
    cells = claims.comparable(cells_of(Inputs(reported=rates)))
    found = {name: claim.of(cells) for name, claim in CLAIM.items()}
    for name, of in found.items():
        without_tokens = "tokens" in CLAIM[name].needs and all(cell["tokens"] is None for cell in cells)
        assert (of.cases or without_tokens) and sum(of.numbers.values()) == len(of.cases), name
    if results == SHARED / "memfail":  # they contradict some claims of the paper's text, and leave others open
        for names, decision in ((SUPPORTED, "supported"), (DENIED, "denied")):
            assert {found[name].decision for name in names} == {decision}
        (easy,) = (c for c in cells if c["name"] == f"StructMem (gpt-5.4-mini) on {EASY} at k = 5")
        assert easy["lost"]["storage"] == (100, 100)  # a run whose store was empty


counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts, st.sampled_from(["most", "all"]))
def test_intervals_are_those_of_statsmodels(one, other, rule):
    """For a claim about all cases they are for all of these together."""
    share, *_ = claims.weigh([("share", one)] * 10, claims.holds_of("above 0.5"), rule).cases
    expected = proportion_confint(*one, alpha=0.05 if rule == "most" else 0.005, method="wilson")
    assert (share.low, share.high) == pytest.approx(expected, abs=1e-6)
    measures = ("", one, other), ("", (1, 2), (0, 0))  # of which one has no questions
    (difference,) = claims.weigh(measures, claims.holds_of("above 0"), rule).cases
    expected = confint_proportions_2indep(*one, *other, method="newcomb", compare="diff")
    assert (difference.low, difference.high) == pytest.approx(expected, abs=1e-6)
    assert difference.value == pytest.approx(one[0] / one[1] - other[0] / other[1])
    assert difference.counts == (one, other)


RULES = {
    "all": {(3, 0, 2): "supported", (9, 1, 0): "denied", (2, 0, 2): "not decided", (0, 0, 0): "not decided"},
    "most": {(3, 2, 0): "supported", (2, 3, 0): "denied", (2, 2, 0): "not decided", (0, 0, 0): "not decided"},
    "some": {(2, 5, 0): "supported", (0, 2, 0): "denied", (1, 0, 5): "not decided", (0, 0, 0): "not decided"},
}
"""By rule and the numbers of cases for a claim, against it and neither, the decision."""


def test_rules_and_small_gains():
    for rule, numbers, decision in ((rule, *one) for rule, of in RULES.items() for one in of.items()):
        of_side = dict(zip(("for", "against", "neither"), numbers, strict=True))
        found = claims.decide([claims.Case("", 0, 0, 0, side) for side, n in of_side.items() for _ in range(n)], rule)
        assert (found.decision, found.numbers) == (decision, of_side), (rule, numbers)
    cases = (-0.2, -0.4, 0.05), (0.3, 0.1, 0.5), (0.05, 0.01, 0.12), (0.3, -0.1, 0.5)  # the third is certain, and small
    assert list(starmap(claims.holds_of("gain little"), cases)) == ["for", "against", "neither", "neither"]
