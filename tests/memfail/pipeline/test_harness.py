"""Storing, retrieving and answering in one process, read back as traces."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.memfail.dataset import schema as dataset
from epbench.memfail.dataset.questions import facts_to_store, questions_of
from epbench.memfail.dataset.types import CONFIGS, Fact, GoldMemory, Question
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.pipeline.estimate import checks_in_advance, requests_in_advance
from epbench.memfail.pipeline.harness import Setting, gold_of, limited, queries_of, run_config
from epbench.memfail.pipeline.prompts import load_prompts
from epbench.memfail.pipeline.reader import LexicalReader
from epbench.memfail.templates import rows as template
from epbench.memories.load import BASELINES, load_memory
from epbench.models.protocol import Reply, Sampling
from epbench.runs.answers import no_progress

FAULTY = Path(__file__).parents[2] / "memories/faulty.py"

UNITS = [Fact(f"r{i}/0", f"r{i}", f"Mira{'abcde'[i]} sings only when it rains.") for i in range(5)]
QUESTIONS = [
    Question(
        id=f"r{i}-q",
        config="conditional_facts_easy",
        row=f"r{i}",
        kind="",
        text=f"It rains. Would Mira{'abcde'[i]} sing?",
        query=f"Mira{'abcde'[i]}?",
        needs=(GoldMemory(unit.id, unit.text, (f"Mira{'abcde'[i]}", "sings"), ("rains",)),),
        truth="Yes — it rains.",
    )
    for i, unit in enumerate(UNITS)
]


def run(folder, system, units=UNITS, questions=QUESTIONS, setting=None, model=None):
    setting = setting or Setting(timeout=20)
    chosen = load_memory(system, gold_of(questions, setting))
    folder.mkdir(exist_ok=True)
    model = model or LexicalReader()
    return run_config(folder, units, questions, chosen, model, load_prompts(), setting, no_progress)


def test_every_question_has_a_trace_at_every_k(tmp_path):
    output = run(tmp_path, "verbatim-bm25", setting=Setting((1, 3)))
    assert [(trace.question.id, trace.k) for trace in output.traces] == [(q.id, k) for k in (1, 3) for q in QUESTIONS]
    assert all(trace.memories[0] == trace.question.needs[0].text for trace in output.traces)
    assert {len(trace.memories) for trace in output.traces} == {1, 3}
    assert all(trace.answer.startswith("Yes — Mira") and trace.failure is None for trace in output.traces)
    assert sorted(output.stores[""]) == [unit.text for unit in UNITS] and output.warnings == []


def test_memories_are_counted_for_each_question_and_for_each_that_came_back(tmp_path):
    setting = Setting((3, 9))
    tokens = run(tmp_path, "verbatim-bm25", setting=setting).usage["memory_tokens"]
    assert tokens == {
        "3": {"per_question": 18.0, "per_memory": 6.0, "returned": 3.0},
        "9": {"per_question": 30.0, "per_memory": 6.0, "returned": 5.0},  # there are but five
    }
    assert run(tmp_path / "none", "none", setting=setting).usage["memory_tokens"]["3"]["per_memory"] is None


def test_isolated_rows_have_stores_of_their_own(tmp_path):
    output = run(tmp_path, "full-context", questions=QUESTIONS[:2], setting=Setting(isolate=True))
    assert output.stores == {"r0": [UNITS[0].text], "r1": [UNITS[1].text]}  # of the asked rows alone
    assert [(trace.store, trace.memories) for trace in output.traces] == [
        ("r0", (UNITS[0].text,)),
        ("r1", (UNITS[1].text,)),
    ]


def test_a_fact_that_cannot_be_stored_fails_its_question_alone(tmp_path):
    output = run(tmp_path, f"{FAULTY}:RaisesInStoring")
    failed = [trace for trace in output.traces if trace.failure is not None]
    assert len(failed) == 1
    unit = failed[0].question.needs[0].unit
    assert failed[0].failure == f"memory system: could not store {unit}: ValueError: rate limit"
    outcomes = diagnose(tmp_path, output.traces, output.stores, LexicalJudge(), no_progress)
    assert sorted(outcome.label for outcome in outcomes) == ["correct"] * 4 + ["failed"]


@pytest.mark.parametrize("name", ["RetrievesText", "RaisesInRetrieval", "RaisesInFinalize"])
def test_a_system_that_fails_is_neither_right_nor_wrong(tmp_path, name):
    output = run(tmp_path, f"{FAULTY}:{name}")
    outcomes = diagnose(tmp_path, output.traces, output.stores, LexicalJudge(), no_progress)
    assert {outcome.label for outcome in outcomes} == {"failed"} and len(output.warnings) == 1


def test_an_empty_store_is_wrong_and_warned_of(tmp_path):
    output = run(tmp_path, f"{FAULTY}:KeepsNothing")
    outcomes = diagnose(tmp_path, output.traces, output.stores, LexicalJudge(), no_progress)
    assert {outcome.label for outcome in outcomes} == {"storage_error"}
    assert "holds nothing after storing" in output.warnings[0]
    assert run(tmp_path / "none", "none").warnings == []


def test_the_published_query_is_the_whole_question():
    assert [query.text for query in queries_of(QUESTIONS[:1], Setting())] == ["Miraa?"]
    assert [query.text for query in queries_of(QUESTIONS[:1], Setting(published_query=True))] == [QUESTIONS[0].text]


class OftenSilent(LexicalReader):
    """Fails for every message about one person."""

    def answer(self, requests):
        for reply, request in zip(super().answer(requests), requests, strict=True):
            if "Mirab" in request.question and "sings only" in request.question:
                yield Reply(request.key(self.name), request.id, failure="server gone")
            else:
                yield replace(reply, text=f"Indeed. {reply.text}")


def test_replies_are_told_as_well_and_those_that_fail_fail_their_question(tmp_path):
    path = tmp_path / "keeps_turns.py"
    path.write_text(
        "class Turns:\n"
        "    def __init__(self): self.kept = []\n"
        "    def store_conversation(self, c): self.kept += [f\"{t['role']} {t['timestamp']} {t['content']}\" for t in c]\n"
        "    def retrieve_memories(self, q, c, k): return self.kept[:k]\n"
        "    def get_all_memories(self): return self.kept\n"
    )
    setting = Setting(replies=True, per_conversation=2)
    output = run(tmp_path / "r", f"{path}:Turns", setting=setting, model=OftenSilent())
    kept = output.stores[""]
    failed = {trace.question.id for trace in output.traces if trace.failure is not None}
    assert "r1-q" in failed and len(failed) <= 2  # with it whoever was to be told of in the same conversation
    assert len(kept) == 2 * (5 - len(failed))
    assert [memory.split()[0] for memory in kept] == ["user", "assistant"] * (len(kept) // 2)
    assert all("Indeed." in memory for memory in kept[1::2])
    times = [memory.split()[1] for memory in kept]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert output.usage["replying"]["requests"] >= 4
    asked = (tmp_path / "r/replies.jsonl").read_text().count("\n")
    run(tmp_path / "r", f"{path}:Turns", setting=setting, model=OftenSilent())
    assert (tmp_path / "r/replies.jsonl").read_text().count("\n") == asked + 1  # what failed is tried again


def test_a_prompt_that_does_not_fit_is_refused(tmp_path):
    class Small(LexicalReader):
        def window(self):
            return 600

    with pytest.raises(BadInput, match="the window of lexical has 600"):
        run(tmp_path, "full-context", model=Small(), setting=Setting(), units=UNITS * 30)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting((5, 0)), "--k 5 0: numbers of at least 1 expected"),
        (Setting(()), "numbers of at least 1 expected"),
        (Setting((5, 5)), "--k 5 5: each number once is expected"),
        (Setting(timeout=0), "timeout: expected a finite number of seconds above 0, got 0"),
        (Setting(timeout=float("nan")), "timeout: expected a finite number of seconds above 0, got nan"),
        (Setting(timeout=float("inf")), "timeout: expected a finite number of seconds above 0, got inf"),
        (Setting(sampling=Sampling(0)), "--max-tokens 0: at least 1 expected"),
    ],
)
def test_a_setting_out_of_range_is_named(setting, message):
    with pytest.raises(BadInput, match=message):
        setting.check()


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_larger_limit_takes_the_same_and_more(a, b):
    small, large = sorted((a, b))
    assert set(map(str, limited(QUESTIONS, small))) <= set(map(str, limited(QUESTIONS, large)))
    assert len(limited(QUESTIONS, small)) == min(small, 5)
    assert limited(QUESTIONS, None) == QUESTIONS


@pytest.fixture(scope="module", params=CONFIGS)
def made(request):
    rows = dataset.complete(request.param, template.make_rows(request.param, 12, 1))
    return facts_to_store(request.param, rows), questions_of(request.param, rows)


@pytest.mark.parametrize("baseline", BASELINES)
def test_controls_run_on_every_config(tmp_path, made, baseline):
    units, questions = made
    setting = Setting((3,))
    output = run(tmp_path, baseline, units, questions, setting)
    outcomes = diagnose(tmp_path, output.traces, output.stores, LexicalJudge(), no_progress)
    facts = {label for outcome in outcomes for label in outcome.facts}
    assert output.warnings == [] and all(outcome.label != "failed" for outcome in outcomes)
    if baseline == "none":
        assert facts == {"storage_error"} and {trace.memories for trace in output.traces} == {()}
    else:
        assert facts <= {"correct", "retrieval_error"}  # what is kept word for word is stored and faithful
        assert sorted(output.stores[""]) == sorted(unit.text for unit in units)
    for trace in output.traces:
        needed = [need.text for need in trace.question.needs]
        if baseline == "oracle":
            assert list(trace.memories) == needed
        elif baseline == "full-context":
            assert list(trace.memories) == output.stores[""]
        else:
            assert len(trace.memories) == (0 if baseline == "none" else min(3, len(units)))
    if baseline in ("oracle", "full-context"):
        assert facts == {"correct"}


@pytest.mark.parametrize("baseline", [*BASELINES, f"{FAULTY}:Good"])
def test_what_is_planned_is_what_is_asked(tmp_path, made, baseline):
    """As many requests as the run makes; as many tokens where memories are what was told."""
    units, questions = made
    setting, prompts, model = Setting((2, 4)), load_prompts(), LexicalReader()
    system = load_memory(baseline, gold_of(questions, setting))
    planned = requests_in_advance(units, questions, system, setting, prompts)
    output = run(tmp_path, baseline, units, questions, setting)
    assert len(planned) == output.usage["answering"]["requests"] == 2 * len(questions)
    if baseline in ("none", "oracle", "full-context"):
        words = {request.id: model.count_tokens(request)[0] for request in planned}
        for trace in output.traces:
            request = prompts.ask(f"{trace.question.id}@{trace.k}", trace.question, trace.memories, setting.sampling)
            assert model.count_tokens(request)[0] == words[request.id]
    checks = {check.key(LexicalJudge()) for check in checks_in_advance(units, questions, system, setting)}
    diagnose(tmp_path, output.traces, output.stores, LexicalJudge(), no_progress)
    judged = [json.loads(line) for line in (tmp_path / "judgements.jsonl").read_text().splitlines()]
    assert len(judged) <= len(checks)
