"""A fault that was planted is the fault that the rules find."""

from collections import Counter
from dataclasses import replace

import pytest

from epbench.memfail.calibration.faults import faults_of, planted_cases
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.progress import no_progress
from tests.memfail.memfail_samples import template


@pytest.mark.parametrize(
    ("config", "n"), [("revision", 20), *(pytest.param(config, 100, marks=pytest.mark.slow) for config in CONFIGS)]
)
def test_the_rules_find_95_of_100_faults_of_each_kind(tmp_path, config, n):
    facts, questions = template(config, n)
    cases = planted_cases(config, questions, facts, n, 0)
    records = [replace(case.record, store=f"{i}") for i, case in enumerate(cases)]
    outcomes = diagnose(
        tmp_path, records, {f"{i}": case.stores[""] for i, case in enumerate(cases)}, LexicalJudge(), no_progress
    )
    of = Counter(case.fault for case in cases)
    right = Counter(case.fault for case, found in zip(cases, outcomes, strict=True) if found.label == case.expected)
    assert set(of) <= set(faults_of(config)) and (config != "revision" or set(of) == set(faults_of(config)))
    for fault in of:
        assert right[fault] >= 0.95 * of[fault], (fault, right[fault], of[fault])
    assert right["none"] == of["none"] == n or config == "revision"
