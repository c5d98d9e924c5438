"""Each planted fault is what it says, and it is the fault that the rules find."""

from collections import Counter
from dataclasses import replace

import pytest

from epbench.draws import RandomStream
from epbench.memfail.calibration import faults
from epbench.memfail.calibration.faults import FAULTS, NO_FAULT, faults_of, planted_cases
from epbench.memfail.dataset.load import CONFIGS, GoldMemory
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.progress import no_progress
from tests.memfail.memfail_samples import template

RULE = GoldMemory(
    "r/0", "Ada Lin keeps 3 bees. Ada sings to them only below 8 degrees. She likes toast.", ("Ada Lin", "sings to them"),
    ("below 8 degrees",),
)  # fmt: skip
LINK = GoldMemory("c/0", "When I hear waves I feel nostalgic.", ("hear waves", "feel nostalgic"), ())


def test_a_text_is_changed_in_one_respect():
    assert faults.without_detail(RULE) == "Ada Lin keeps 3 bees. She likes toast. Ada Lin sings to them."
    assert faults.with_other_numbers(RULE) == RULE.text.replace("8", "11")
    moved = RULE.text.replace("Ada Lin", "Bo Ek").replace("Ada", "Bo")
    assert faults.under_name(RULE, "Bo Ek") == moved
    assert faults.reversed_link(LINK) == "When I feel nostalgic I hear waves."
    assert {faults.negated(RULE, RandomStream(i)) for i in range(30)} == {
        RULE.text.replace("only", "never"),
        RULE.text.replace("below", "above"),
        RULE.text.replace("sings", "never sings"),
        RULE.text.replace("Ada sings", "It is not true that Ada sings"),
    }


def test_what_cannot_be_planted_with_certainty_is_left_alone():
    assert faults.without_detail(LINK) is None and faults.with_other_numbers(LINK) is None
    assert faults.reversed_link(GoldMemory("c/0", "Ada loves rain.", ("Ada", "rain"), ())) is None  # a name is no cause
    assert faults.reversed_link(GoldMemory("c/0", "Rain cheers me up.", ("rain", "feel glad"), ())) is None
    assert faults.under_name(GoldMemory("r/0", "She sings.", ("Ada",), ()), "Bo") is None


PEOPLE = {"people conflated", "detail dropped", "negation turned"}
OF_CONFIG = {"coexisting_facts": {"negation turned"}, "long_hop": {"negation turned", "direction reversed"}}


@pytest.mark.parametrize("config", CONFIGS)
def test_cases_are_certain_and_each_config_has_its_faults(config):
    facts, questions = template(config, 20)
    texts = {fact.text for fact in facts}
    cases, again, other = (planted_cases(config, questions, facts, 10, seed) for seed in (1, 1, 2))
    assert cases == again != other
    counts = Counter(case.fault for case in cases)
    assert set(counts) <= set(FAULTS) and counts[NO_FAULT] == counts["answer wrong"] == counts["fact absent"] == 10
    assert all(counts[fault] == 10 for fault in OF_CONFIG.get(config, PEOPLE)), counts
    for case in cases:
        store, gold = set(case.stores[""]), {memory.text for memory in case.record.question.gold}
        retrieved = set(case.record.memories)
        assert len(case.record.memories) <= case.record.k
        if case.expected in ("storage_error", "summary_error"):
            assert not gold <= store and case.record.question.kind != "misleading"
        else:
            assert store == texts and (gold <= retrieved) == (case.expected != "retrieval_error")
        assert (retrieved <= store) == (case.fault != "fact not listed"), case.fault


@pytest.mark.parametrize(
    ("config", "n"), [("revision", 20), *(pytest.param(config, 100, marks=pytest.mark.slow) for config in CONFIGS)]
)
def test_the_rules_find_95_of_100_faults_of_each_kind(tmp_path, config, n):
    facts, questions = template(config, n)
    cases = planted_cases(config, questions, facts, n, 0)
    records = [replace(case.record, store=f"{i}") for i, case in enumerate(cases)]
    stores = {f"{i}": case.stores[""] for i, case in enumerate(cases)}
    outcomes = diagnose(tmp_path, records, stores, LexicalJudge(), no_progress)
    of = Counter(case.fault for case in cases)
    right = Counter(case.fault for case, found in zip(cases, outcomes, strict=True) if found.label == case.expected)
    assert set(of) <= set(faults_of(config)) and (config != "revision" or set(of) == set(faults_of(config)))
    for fault in of:
        assert right[fault] >= 0.95 * of[fault], (fault, right[fault], of[fault])
    assert right["none"] == of["none"] == n or config == "revision"
