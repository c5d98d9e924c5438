"""A fault that was planted is the fault that is found, by rules and by an honest model."""

from collections import Counter
from dataclasses import replace

import pytest

from epbench.memfail.calibration.faults import faults_of, planted_cases
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import load_judge
from epbench.models.load import Options
from epbench.progress import no_progress
from tests.memfail.honest_judge import honest
from tests.memfail.template_runs import template
from tests.models.loopback_endpoint import LoopbackEndpoint


def cases_of(config, n, rows):
    facts, questions = template(config, rows)
    return planted_cases(config, questions, facts, n, 0)


def labelled(folder, cases, judge):
    """The label of each case, which has a store of its own."""
    records = [replace(case.record, store=f"{i}") for i, case in enumerate(cases)]
    stores = {f"{i}": case.stores[""] for i, case in enumerate(cases)}
    return [outcome.label for outcome in diagnose(folder, records, stores, judge, no_progress)]


@pytest.mark.parametrize(
    ("config", "n"), [("revision", 20), *(pytest.param(config, 100, marks=pytest.mark.slow) for config in CONFIGS)]
)
def test_the_rules_find_95_of_100_faults_of_each_kind(tmp_path, config, n):
    cases = cases_of(config, n, n)
    found = labelled(tmp_path, cases, LexicalJudge())
    of = Counter(case.fault for case in cases)
    right = Counter(case.fault for case, label in zip(cases, found, strict=True) if label == case.expected)
    assert set(of) <= set(faults_of(config)) and (config != "revision" or set(of) == set(faults_of(config)))
    for fault in of:
        assert right[fault] >= 0.95 * of[fault], (fault, right[fault], of[fault])
    assert right["none"] == of["none"] == n or config == "revision"


@pytest.mark.slow
@pytest.mark.parametrize("config", ["coexisting_facts", "persona_retrieval"])
def test_an_honest_model_finds_them_and_is_asked_nothing_twice(tmp_path, config):
    """Those that a search for words can find."""
    plain = ("none", "fact absent", "wrong fact retrieved", "answer wrong")
    cases = [case for case in cases_of(config, 4, 10) if case.fault in plain]
    with LoopbackEndpoint(honest) as endpoint:
        judge = load_judge("openai:honest", Options(base_url=endpoint.url))
        found = labelled(tmp_path, cases, judge)
        paid = len(endpoint.calls)
        assert labelled(tmp_path, cases, judge) == found and len(endpoint.calls) == paid
    assert found == [case.expected for case in cases]
