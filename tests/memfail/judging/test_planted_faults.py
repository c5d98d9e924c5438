"""A fault that was planted is the fault that is found, on template rows through the whole evaluation."""

from __future__ import annotations

from collections import Counter

import pytest

from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import load_judge
from epbench.models.load import Options
from epbench.progress import no_progress
from tests.memfail import planted_faults as plant
from tests.memfail.honest_judge import honest
from tests.models.loopback_endpoint import LoopbackEndpoint

EASY, HARD, COEXISTING, PERSONA, LONG_HOP = CONFIGS

FAULTS = [
    *[(config, plant.drops_conditions, None, "summary_error") for config in (EASY, HARD)],
    *[(config, plant.overwrites, None, "storage_error") for config in (COEXISTING, LONG_HOP)],
    *[(config, plant.forgets, None, "storage_error") for config in (EASY, HARD, PERSONA)],
    *[(config, plant.negates, None, "summary_error") for config in (EASY, HARD, COEXISTING, LONG_HOP)],
    (LONG_HOP, plant.reverses, None, "summary_error"),
    *[(config, plant.conflates, None, "storage_error") for config in (EASY, HARD, PERSONA)],
    *[(config, plant.astray, None, "retrieval_error") for config in CONFIGS],
    *[(config, plant.full_context, plant.Inattentive(), "reasoning_error") for config in CONFIGS],
]


@pytest.mark.slow
@pytest.mark.parametrize(("config", "system", "model", "label"), FAULTS)
def test_the_lexical_judge_finds_the_planted_fault(tmp_path, config, system, model, label):
    outcomes = plant.run(tmp_path / "run", config, system, LexicalJudge(), model=model)
    told = [o for o in outcomes if o.kind != "misleading" or label == "reasoning_error"]  # else passed vacuously
    assert len(told) >= 100
    found = Counter(outcome.label for outcome in told)
    assert found[label] >= 0.95 * len(told), found
    passed = [outcome for outcome in outcomes if outcome not in told]
    if label != "summary_error":  # a turned essay is an essay all the same
        assert sum(o.vacuous and o.label == "correct" for o in passed) >= 0.95 * len(passed)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_a_system_that_lists_half_or_stores_its_queries_is_warned_about(tmp_path, config):
    half = plant.output_of(tmp_path / "half", config, plant.lists_half)
    outcomes = diagnose(tmp_path / "half", half.records, half.stores, LexicalJudge(), no_progress)
    assert any("are not in the list of all memories" in warning for warning in half.warnings)
    lost = Counter(label for outcome in outcomes for label in outcome.facts)
    assert lost["storage_error"] >= 0.45 * lost.total()
    asked = plant.output_of(tmp_path / "asked", config, plant.stores_queries)
    (warning,) = [warning for warning in asked.warnings if "not in the list" in warning]
    n_queries = len({record.question.id for record in asked.records})
    assert f"of {n_queries} queries" in warning and "for " in warning
    assert "not in the list" not in " ".join(plant.output_of(tmp_path / "all", config, plant.full_context).warnings)


FAULTS_OF_A_MODEL_JUDGE = [
    (HARD, plant.drops_conditions, None, "summary_error"),
    (COEXISTING, plant.overwrites, None, "storage_error"),
    (LONG_HOP, plant.astray, None, "retrieval_error"),
    (EASY, plant.full_context, plant.Inattentive(), "reasoning_error"),
    (PERSONA, plant.full_context, plant.Inattentive(), "reasoning_error"),
]


@pytest.mark.parametrize(("config", "system", "model", "label"), FAULTS_OF_A_MODEL_JUDGE)
def test_an_honest_model_finds_it_too_and_asks_nothing_twice(tmp_path, config, system, model, label):
    with LoopbackEndpoint(honest) as endpoint:
        judge = load_judge("openai:honest", Options(base_url=endpoint.url))
        outcomes = plant.run(tmp_path / "run", config, system, judge, model=model, n=10)
        found = Counter(outcome.label for outcome in outcomes if outcome.kind != "misleading")
        assert set(found) == {label}
        assert max(Counter(call.user for call in endpoint.calls).values()) == 1
        paid = len(endpoint.calls)
        again = plant.run(tmp_path / "run", config, system, judge, model=model, n=10)
        assert again == outcomes and len(endpoint.calls) == paid


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_a_model_judge_and_the_lexical_one_agree_on_the_oracle(tmp_path, config):
    with LoopbackEndpoint(honest) as endpoint:
        judge = load_judge("openai:honest", Options(base_url=endpoint.url))
        outcomes = plant.run(tmp_path / "model", config, plant.oracle, judge, n=10)
    lexical = plant.run(tmp_path / "lexical", config, plant.oracle, LexicalJudge(), n=10)
    assert [outcome.label for outcome in outcomes] == [outcome.label for outcome in lexical]


def test_one_store_is_judged_once_for_all_k(tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        judge = load_judge("openai:honest", Options(base_url=endpoint.url))
        outcomes = plant.run(tmp_path / "run", LONG_HOP, plant.full_context, judge, n=5, ks=(2, 5, 7))
    facts = len({need for outcome in outcomes for need in [(outcome.question, i) for i in range(len(outcome.facts))]})
    assert len(outcomes) == 15 and {outcome.k for outcome in outcomes} == {2, 5, 7}
    # Stored, faithful and, since the whole store comes back at every k, retrieved: once for each fact.
    assert len(endpoint.calls) == 3 * facts
