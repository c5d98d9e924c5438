"""Facts whose absence a judge would not notice are counted, journaled and warned about."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import Fact, GoldMemory, Question, QuestionRecord
from epbench.memfail.judging.diagnosis import MOST, MOST_BY_RULES, LeftOut, leave_one_out, left_out_checks
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import load_judge
from epbench.models.load import Options
from epbench.progress import no_progress
from tests.memfail.memfail_samples import verdict
from tests.memfail.template_runs import output_of
from tests.models.loopback_endpoint import LoopbackEndpoint


def made(names, row="r"):
    """A row of preferences with these names, and its facts."""
    facts = [Fact(f"{row}/{i}", row, f"I like {name} on day {i}.") for i, name in enumerate(names)]
    gold = tuple(GoldMemory(fact.id, fact.text, (name,), ()) for fact, name in zip(facts, names, strict=True))
    question = Question(row, "coexisting_facts", row, "", "?", "?", gold, ", ".join(names))
    return question, facts


def left_out(folder, names, judge=None):
    folder.mkdir(exist_ok=True)
    question, facts = made(names)
    records = [QuestionRecord(question, k, "") for k in (2, 5)]
    return leave_one_out(folder, records, {"": facts}, judge or LexicalJudge(), no_progress)


def test_a_shared_name_hides_an_absent_fact(tmp_path):
    assert left_out(tmp_path / "apart", ["tea", "jam", "bread"]) == LeftOut(0, 0, 3)
    found = left_out(tmp_path / "shared", ["tea", "jam", "tea"])
    assert found == LeftOut(2, 0, 3) and found.as_dict() == {"n": 2, "misplaced": 0, "of": 3, "share": 2 / 3}
    assert "would not notice it for 2 of 3" in found.warning()
    records = [json.loads(line) for line in (tmp_path / "shared" / JUDGEMENTS).read_text("utf-8").splitlines()]
    assert all(record["left_out"] for record in records)


def test_nothing_is_asked_twice_and_a_lost_detail_is_the_wrong_stage(tmp_path):
    with LoopbackEndpoint(lambda prompt: verdict("Is it" not in prompt and "preference" not in prompt)) as endpoint:
        judge = load_judge("openai:j", Options(base_url=endpoint.url))
        assert left_out(tmp_path, ["tea", "jam"], judge).of == 2
        paid = len(endpoint.calls)
        assert left_out(tmp_path, ["tea", "jam"], judge).of == 2 and len(endpoint.calls) == paid


def test_a_judge_that_costs_something_is_asked_about_a_fixed_sample():
    rows = [made([f"tea {i}"], f"r{i}") for i in range(MOST + 20)]
    facts = [fact for _, own in rows for fact in own]
    asked = [(question, "") for question, _ in rows]
    every = left_out_checks(asked, {"": facts}, MOST_BY_RULES)
    some = left_out_checks(asked, {"": facts})
    assert len(every) == MOST + 20 and len(some) == MOST and some == left_out_checks(asked, {"": facts})
    for stored, kept in every:
        assert stored.memories == kept.memories and len(stored.memories) == len(facts) - 1
        assert stored.gold.text not in stored.memories


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 900))
def test_a_warning_above_one_in_twenty(n, misplaced, more):
    found = LeftOut(n, misplaced, n + misplaced + more)
    assert (found.warning() is not None) == (20 * (n + misplaced) > found.of)
    assert 0 <= (found.as_dict()["share"] or 0) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("config", ["persona_retrieval", "long_hop"])
def test_template_rows_are_told_apart(tmp_path, config):
    output = output_of(tmp_path, config, "full-context", n=40)
    assert output.told[""] and len(output.told) == 1
    rules = leave_one_out(tmp_path, output.records, output.told, LexicalJudge(), no_progress)
    assert (rules.n, rules.misplaced) == (0, 0) and rules.of >= 40
