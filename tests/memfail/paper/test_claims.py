"""Claims, each against results made so that it holds, against results made so that it does not, and the published ones."""

import json
from itertools import starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.paper import claims
from epbench.memfail.paper.inputs import Inputs, cells_of
from epbench.memfail.scores.reported_rates import read_reported
from tests.conftest import SHARED

CONFIG = dict(zip("easy hard coexisting persona hop".split(), CONFIGS, strict=True))
CLAIM = {claim.name: claim for claim in claims.claims()}


def evidence(name, texts):
    """What results such as `hop A 10 k=15 retrieval=90` say: how many of 100 questions are right, and errors by stage."""
    cells = []
    for config, system, right, *more in map(str.split, texts.split("; ")):
        given = {"model": "gpt-4.1-mini", "k": 5, "tokens": None} | dict(one.split("=") for one in more)
        given = {name: int(of) if str(of).isdigit() else of for name, of in given.items()}
        lost = {stage: (given.get(stage, 0), 100) for stage in ("storage", "summary", "retrieval", "reasoning")}
        who = f"{system} ({given['model']})"
        about = {"config": CONFIG[config], "system": system, "who": who, "passed": (int(right), 100)}
        about["name"] = f"{who} on {about['config']} at k = {given['k']}"
        cells.append(given | about | {"lost": lost if lost.keys() & given.keys() else {}})
    return CLAIM[name].of(cells)


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
hard-grows-with-tokens | hard A 10 tokens=2; hard B 21 tokens=3; hard C 30 tokens=4; hard D 41 tokens=5 | hard A 41 tokens=2; hard B 30 tokens=3; hard C 21 tokens=4; hard D 10 tokens=5
persona-grows-with-tokens | persona A 10 tokens=2; persona B 21 tokens=3; persona C 30 tokens=4; persona D 41 tokens=5 | persona A 41 tokens=2; persona B 30 tokens=3; persona C 21 tokens=4; persona D 10 tokens=5
coexisting-falls-with-tokens | coexisting A 41 tokens=2; coexisting B 30 tokens=3; coexisting C 21 tokens=4; coexisting D 10 tokens=5 | coexisting A 10 tokens=2; coexisting B 21 tokens=3; coexisting C 30 tokens=4; coexisting D 41 tokens=5
a-mem-spends-without-gain | easy A-MEM 50 tokens=90; easy B 80 tokens=10 | easy A-MEM 80 tokens=90; easy B 20 tokens=10
a-mem-summarises-best | hard A-MEM 80 summary=5; hard B 30 summary=60 | hard A-MEM 30 summary=60; hard B 80 summary=5
"""


def test_made_results_support_a_claim_and_others_deny_it():
    cases = {name: sides for name, *sides in (line.split(" | ") for line in CASES.strip().splitlines())}
    assert cases.keys() == CLAIM.keys() and len(CLAIM) == len(claims.claims())
    for name, sides in cases.items():
        assert [evidence(name, side).decision for side in sides] == ["supported", "denied"], name
        assert CLAIM[name].needs and CLAIM[name].of([]) == claims.Evidence("not decided", missing=CLAIM[name].needs)


COMPARED = """
mem0-best-on-coexisting | coexisting Mem0 90; coexisting B 10 k=10 |
mem0-best-on-coexisting | coexisting Mem0 90; coexisting B 10 model=gemini-3.1 |
mem0-best-on-coexisting | coexisting Mem0 9 k=3; coexisting Mem0 8; coexisting Mem0 7 k=9; coexisting B 2 k=3; coexisting B 1 | 8 100 1 100
stronger-models-gain-little | easy A 20 model=tiny; easy A 80 model=huge |
elsewhere-k-gains-little | easy A 20; easy A 80 |
hard-induces-summary-errors | hard A 0 k=3 summary=1; hard A 0 summary=2; hard A 0 k=10 summary=3 | 2 2
hard-induces-summary-errors | hard A 0 k=3 summary=1 reasoning=4; hard A 0 k=10 summary=3 | 1 1
a-mem-summarises-best | hard A-MEM 30 summary=50; hard B 2 storage=90 summary=8 | 50 100 8 10
"""
"""By claim and results, the counts of the case: of one model, at a common k, errors at k = 5 or the smallest, or none."""


def test_what_is_compared_and_counted():
    for name, texts, counts in (line.split(" |") for line in COMPARED.strip().splitlines()):
        found = evidence(name, texts)
        assert [n for case in found.cases for count in case.counts for n in count] == [*map(int, counts.split())], texts
        assert bool(found.missing) == (not counts)


RATES = dict.fromkeys(ERRORS, 0.1) | {"success_rate": 0.5, "storage_error": 0.3, "reasoning_error": 0.0}


def scores_of(system, model="", **more):
    """Scores in which 100 questions were judged, and half of them passed."""
    rates = RATES | {"n": 104, "failed": 4, "tokens_per_memory": 12.5} | more
    by_k = {"5": rates, "7": {"success_rate": None, "n": 3, "failed": 3}}
    return {"config": CONFIG["persona"], "system": system, "system_model": model, "by_k": by_k}


def test_results_count_under_the_names_of_the_paper():
    direct = {"direct": RATES | {"success_rate": 0.2, "storage_error": 0.5, "summary_error": 0.3, "n": 50}}
    systems = (("mem0", "claude-haiku-4-5"), ("my.py:Memory",), ("oracle",))
    runs = [scores_of("mem0-1", "openai:gpt-4.1-mini", **direct), *starmap(scores_of, systems)]
    given = dict(enumerate([*runs, scores_of("mine") | {"baseline": True}]))
    first, second, own = claims.comparable(cells_of(Inputs(reported=given)))
    assert (first["who"], first["passed"], first["k"], first["tokens"]) == ("Mem0 (gpt-4.1-mini)", (50, 100), 5, 12.5)
    assert list(first["lost"].values()) == [(25, 50), (15, 50), (5, 50), (0, 50)]
    assert second["who"] == "mem0 (haiku-4.5)"  # another algorithm than the paper's
    assert (own["who"], own["lost"]["storage"]) == ("my.py:Memory", (30, 100))


def test_the_table_and_the_file_tell_runs_and_reported_numbers_apart():
    own = scores_of("mem0-1", "gpt-4.1-mini")
    assert "reported" not in claims.claims_of({"a": own}, {})[0].head
    table, written = claims.claims_of({"a": own}, {"b": own | {"system": "Mem0", "reported": True}})
    (row,) = [row for row in table.rows if "most errors of Mem0 are of storage" in row[0]]
    assert table.head[2:] == ["your runs", "reported"] and row[2] == row[3]
    assert row[2].startswith("not decided: 0 for, 0 against, 1 neither; storage among")
    found = {claim["name"]: claim["your runs"] for claim in json.loads(json.dumps(written, allow_nan=False))["claims"]}
    (case,), missing = found["mem0-loses-personas-in-storage"]["cases"], found["long-hop-induces-retrieval-errors"]
    assert (case["counts"], case["value"]) == ([[30, 50]], 0.6) and "missing" in missing


SUPPORTED = "coexisting-induces-retrieval-errors mem0-best-on-coexisting coexisting-grows-with-k"
DENIED = "persona-induces-summary-errors reasoning-errors-are-infrequent structmem-collapses-on-coexisting"
"""By the published numbers, which contradict some claims of the paper's text, and leave others open."""


def test_every_claim_has_cases_in_the_form_of_the_published_numbers(results):
    rates = read_reported(results / "paper_results.json", results / "paper_error_breakdown.json")
    cells = claims.comparable(cells_of(Inputs(reported=rates)))
    found = {name: claim.of(cells) for name, claim in CLAIM.items()}
    for name, of in found.items():
        without_tokens = "tokens" in CLAIM[name].needs and all(cell["tokens"] is None for cell in cells)
        assert (of.cases or without_tokens) and sum(of.numbers.values()) == len(of.cases), name
    if results == SHARED / "memfail":
        assert {found[name].decision for name in SUPPORTED.split()} == {"supported"}
        assert {found[name].decision for name in DENIED.split()} == {"denied"}


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


RULES = {
    "supported": {"all": (3, 0, 2), "most": (3, 2, 0), "some": (2, 5, 0)},
    "denied": {"all": (9, 1, 0), "most": (2, 3, 0), "some": (0, 2, 0)},
    "not decided": {"all": (2, 0, 2), "most": (2, 2, 0), "some": (1, 0, 5)},
}
"""By decision and rule, the numbers of cases for a claim, against it and neither."""


def test_rules_and_small_gains():
    for decision, rule, numbers in ((decision, *of) for decision, rules in RULES.items() for of in rules.items()):
        of_side = dict(zip(("for", "against", "neither"), numbers, strict=True))
        found = claims.decide([claims.Case("", 0, 0, 0, side) for side, n in of_side.items() for _ in range(n)], rule)
        assert (found.decision, found.numbers) == (decision, of_side), rule
    cases = (-0.2, -0.4, 0.05), (0.3, 0.1, 0.5), (0.05, 0.01, 0.12), (0.3, -0.1, 0.5)  # the third is certain, and small
    assert list(starmap(claims.holds_of("gain little"), cases)) == ["for", "against", "neither", "neither"]
