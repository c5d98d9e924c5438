"""A config in one process: what is stored, retrieved and answered, and an evaluation from its dataset to its scores."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.hub.dataset_folder import write_dataset
from epbench.memfail.benchmark import BENCHMARK
from epbench.memfail.context.requests import ConfigRun, LexicalReader, Setting, gold_of, load_prompts, queries_of
from epbench.memfail.dataset.load import CONFIGS, Fact, GoldMemory
from epbench.memfail.dataset.schema import config_of
from epbench.memfail.evaluate import Evaluation, in_advance, plan_lines, prepare, read_output, store_and_answer
from epbench.memfail.evaluate import run as run_evaluation
from epbench.memfail.judging.diagnosis import diagnose, leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import load_judge
from epbench.memfail.paper.claims import claims_of
from epbench.memfail.scores.comparison import write_side_by_side
from epbench.memories.guard import Limits
from epbench.memories.load import BASELINES, load_memory
from epbench.models.load import Options
from epbench.models.protocol import Reply
from epbench.progress import no_progress
from epbench.runs.benchmark import recompute
from tests.memfail.memfail_samples import made_rows, question, template, verdict
from tests.models.loopback_endpoint import LoopbackEndpoint

FAULTY = Path(__file__).parents[1] / "memories/faulty.py"

FACTS = [Fact(f"r{i}/0", f"r{i}", f"Mira{'abcde'[i]} sings only when it rains.") for i in range(5)]


def asked(fact, name):
    about = {"id": f"{fact.row}-q", "row": fact.row, "config": "conditional_facts_easy", "reference": "Yes — it rains."}
    gold = GoldMemory(fact.id, fact.text, (name, "sings"), ("rains",))
    return question((gold,), text=f"It rains. Would {name} sing?", query=f"{name}?", **about)


QUESTIONS = [asked(fact, fact.text.split()[0]) for fact in FACTS]


def config_run(system, facts=FACTS, questions=QUESTIONS, setting=None, model=None):
    setting = setting or Setting(limits=Limits(20))
    chosen = load_memory(system, gold_of(questions, setting))
    return ConfigRun(facts, questions, chosen, model or LexicalReader(), load_prompts(), setting)


def run(folder, *args, **named):
    folder.mkdir(exist_ok=True)
    return store_and_answer(folder, config_run(*args, **named), no_progress)


def judged(folder, output):
    return diagnose(folder, output.records, output.stores, LexicalJudge(), no_progress)


def test_every_question_has_a_record_at_every_k(tmp_path):
    output = run(tmp_path, "verbatim-bm25", setting=Setting((1, 3)))
    assert [(one.question.id, one.k) for one in output.records] == [(q.id, k) for k in (1, 3) for q in QUESTIONS]
    assert all(record.memories[0] == record.question.gold[0].text for record in output.records)
    assert {len(record.memories) for record in output.records} == {1, 3}
    assert all(record.answer.startswith("Yes — Mira") and record.failure is None for record in output.records)
    assert sorted(output.stores[""]) == [fact.text for fact in FACTS] and output.warnings == []


def test_memory_tokens_are_counted_per_question_and_per_memory(tmp_path):
    setting = Setting((3, 9))
    tokens = run(tmp_path, "verbatim-bm25", setting=setting).usage["memory_tokens"]
    assert tokens == {
        "3": {"per_question": 18.0, "per_memory": 6.0, "returned": 3.0},
        "9": {"per_question": 30.0, "per_memory": 6.0, "returned": 5.0},  # there are only five
    }
    assert run(tmp_path / "none", "none", setting=setting).usage["memory_tokens"]["3"]["per_memory"] is None


def test_a_budget_of_tokens_keeps_whole_memories(tmp_path):
    setting = Setting((3,), memory_tokens=13)
    output = run(tmp_path, "verbatim-bm25", setting=setting)
    assert {len(record.memories) for record in output.records} == {2}
    assert output.usage["price"]["by_k"] == {"3": {"tokens": 12.0, "memories": 2.0, "left_out": 5}}
    assert read_output(tmp_path, config_run("verbatim-bm25", setting=setting)).records == output.records
    whole = run(tmp_path / "whole", "verbatim-bm25", setting=Setting((3,)))
    assert {len(record.memories) for record in whole.records} == {3}
    for bad, message in ((Setting(memory_tokens=0), "at least 1"), (Setting((5, 5)), "k: expected each number once")):
        with pytest.raises(BadInput, match=message):
            bad.check()


def test_isolated_rows_have_their_own_stores(tmp_path):
    output = run(tmp_path, "full-context", questions=QUESTIONS[:2], setting=Setting(isolate=True))
    assert output.stores == {"r0": [FACTS[0].text], "r1": [FACTS[1].text]}  # only of the rows that are asked about
    found = [(record.store, record.memories) for record in output.records]
    assert found == [("r0", (FACTS[0].text,)), ("r1", (FACTS[1].text,))]


def test_a_fact_that_cannot_be_stored_fails_its_question_alone(tmp_path):
    output = run(tmp_path, f"{FAULTY}:RaisesInStoring")
    failed = [record for record in output.records if record.failure is not None]
    assert len(failed) == 1
    fact = failed[0].question.gold[0].fact
    assert failed[0].failure == f"memory system: could not store {fact}: ValueError: rate limit"
    assert sorted(outcome.label for outcome in judged(tmp_path, output)) == ["correct"] * 4 + ["failed"]


@pytest.mark.parametrize("name", ["RetrievesText", "RaisesInRetrieval", "RaisesInFinalize"])
def test_a_system_that_fails_is_neither_right_nor_wrong(tmp_path, name):
    output = run(tmp_path, f"{FAULTY}:{name}")
    assert {outcome.label for outcome in judged(tmp_path, output)} == {"failed"} and len(output.warnings) == 1


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


def test_replies_are_stored_too_and_a_failed_reply_fails_its_question(tmp_path):
    path = tmp_path / "keeps_turns.py"
    path.write_text(
        "class Turns:\n"
        "    def __init__(self): self.kept = []\n"
        "    def store_conversation(self, c): self.kept += [f\"{t['role']} {t['timestamp']} {t['content']}\" for t in c]\n"
        "    def retrieve_memories(self, q, c, k): return self.kept[:k]\n"
        "    def get_all_memories(self): return self.kept\n"
    )
    setting = Setting(replies=True, units_per_conversation=2)
    output = run(tmp_path / "r", f"{path}:Turns", setting=setting, model=OftenSilent())
    kept = output.stores[""]
    failed = {record.question.id for record in output.records if record.failure is not None}
    assert "r1-q" in failed and len(failed) <= 2  # and whoever else is in the same conversation
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
        run(tmp_path, "full-context", model=Small(), setting=Setting(), facts=FACTS * 30)


@pytest.fixture(scope="module", params=CONFIGS)
def made(request):
    return template(request.param, 12, 1)


@pytest.mark.parametrize("baseline", BASELINES)
def test_baselines_run_on_every_config(tmp_path, made, baseline):
    facts, questions = made
    output = run(tmp_path, baseline, facts, questions, Setting((3,)))
    outcomes = judged(tmp_path, output)
    labels = {label for outcome in outcomes for label in outcome.facts}
    assert output.warnings == [] and all(outcome.label != "failed" for outcome in outcomes)
    if baseline == "none":
        assert labels == {"storage_error"} and {record.memories for record in output.records} == {()}
    else:
        assert labels <= {"correct", "retrieval_error"}  # texts kept word for word are stored and faithful
        assert sorted(output.stores[""]) == sorted(fact.text for fact in facts)
    for record in output.records:
        needed = [memory.text for memory in record.question.gold]
        if baseline == "oracle":
            assert list(record.memories) == needed
        elif baseline == "full-context":
            assert list(record.memories) == output.stores[""]
        else:
            assert len(record.memories) == (0 if baseline == "none" else min(3, len(facts)))
    if baseline in ("oracle", "full-context"):
        assert labels == {"correct"}


@pytest.mark.parametrize(
    "baseline",
    [
        pytest.param(name, marks=() if name in ("none", "oracle", "full-context") else pytest.mark.slow)
        for name in [*BASELINES, f"{FAULTY}:Good"]
    ],
)
def test_the_estimate_counts_what_is_asked(tmp_path, made, baseline):
    """It has as many requests as the run, and as many tokens if memories are stored word for word."""
    facts, questions = made
    config = config_run(baseline, facts, questions, Setting((2, 4)))
    estimated, planned = in_advance(config)
    output = store_and_answer(tmp_path, config, no_progress)
    assert len(estimated) == output.usage["answering"]["requests"] == 2 * len(questions)
    if baseline in ("none", "oracle", "full-context"):
        words = {request.id: config.model.count_tokens(request)[0] for request in estimated}
        for record in output.records:
            request = config.prompts.ask(record.id, record.question, record.memories, config.setting.sampling)
            assert config.model.count_tokens(request)[0] == words[record.id]
    judged(tmp_path, output)
    checks = {check.key(LexicalJudge()) for check in planned}
    assert (tmp_path / "judgements.jsonl").read_text().count("\n") <= len(checks)


@pytest.mark.slow
@pytest.mark.parametrize("isolate", [False, True])
def test_the_plan_counts_what_the_judge_is_asked_about_absent_facts(tmp_path, isolate):
    config = config_run("full-context", setting=Setting((2,), isolate=isolate))
    output = store_and_answer(tmp_path, config, no_progress)
    assert set(output.told) == ({fact.row for fact in FACTS} if isolate else {""})
    with LoopbackEndpoint(lambda prompt: verdict(True)) as endpoint:
        judge = load_judge("openai:j", Options(base_url=endpoint.url))
        lines = plan_lines(config, judge)
        diagnose(tmp_path, output.records, output.stores, judge, no_progress)
        found = leave_one_out(tmp_path, output.records, output.told, judge, no_progress)
    # Alone in its store, a fact leaves nothing behind, so nothing needs to be asked.
    assert (found.n, found.of) == ((0, 5) if isolate else (5, 5))
    (planned,) = [line for line in lines if line.startswith("judge openai:j") and "requests" in line]
    assert f" {len(endpoint.calls)} requests" in planned


def test_a_reader_that_refuses_or_says_nothing_has_failed(tmp_path):
    class Refusing(LexicalReader):
        said = iter(["I'm sorry, but I can't help with that.", "-", "I have no information about that.", "Yes.", "No."])

        def answer_to(self, request):
            return next(self.said)

    output = run(tmp_path, "verbatim-bm25", model=Refusing())
    reasons = [record.failure for record in output.records]
    assert reasons == ["the reader refused to answer", "the reply says nothing", None, None, None]
    assert output.usage["answering"]["failed"] == dict.fromkeys(reasons[:2], 1)
    labels = [outcome.label for outcome in judged(tmp_path, output)]
    assert labels[:2] == ["failed", "failed"] and "failed" not in labels[2:]


def evaluation(folder, *configs, **values):
    """Of a dataset that is written first."""
    write_dataset(folder / "memfail", [config_of(name, made_rows(name, 6)) for name in configs], card="# made")
    about = {"model": LexicalReader(), "judge": LexicalJudge(), "prompts": load_prompts()}
    return Evaluation(dataset=str(folder / "memfail"), configs=configs, **about, **values)


def test_what_is_prepared_is_run_and_what_was_run_is_read_again(tmp_path):
    configs = ("long_hop", "conditional_facts_easy")
    asked = evaluation(tmp_path, *configs, system="oracle", setting=Setting(isolate=True), limit=3, shard="1/2")
    prepared = prepare(asked)
    assert prepared.label == "oracle (baseline), lexical" and prepared.several and prepared.warnings == []
    assert [line for line in prepared.plan if not line.startswith("  ")] == ["long_hop:", "conditional_facts_easy:"]
    done = run_evaluation(prepared, tmp_path / "r")
    assert list(done.scores) == [f"{prepared.label} ({config})" for config in configs]
    assert done.failures == [None] * sum(len(config.questions) for _, config in prepared.configs)
    answers = (tmp_path / "r/long_hop/answers.jsonl").read_bytes()
    assert run_evaluation(prepare(asked), tmp_path / "r") == done
    assert (tmp_path / "r/long_hop/answers.jsonl").read_bytes() == answers
    alone = prepare(replace(asked, configs=["long_hop"]))
    with pytest.raises(BadInput, match="run of one config"):
        run_evaluation(prepared, tmp_path / "r/long_hop")
    with pytest.raises(BadInput, match="holds other files"):
        run_evaluation(alone, tmp_path / "r")


@pytest.mark.slow
def test_unrelated_text_is_stored_last_and_is_read_again_from_the_journal(tmp_path):
    later = evaluation(tmp_path, "long_hop", system="full-context", setting=Setting(isolate=True, between=300))
    prepared = prepare(later)
    assert prepared.label == "full-context (baseline), lexical, after 300 tokens"
    assert any("300 tokens of unrelated text to tell each store last" in line for line in prepared.plan)
    run_evaluation(prepared, tmp_path / "later")
    run_evaluation(prepare(replace(later, setting=Setting(isolate=True))), tmp_path / "plain")
    kept, plain = (json.loads((tmp_path / name / "memories.json").read_text()) for name in ("later", "plain"))
    told = {store: texts[len(plain[store]) :] for store, texts in kept.items()}
    after = " ".join(next(iter(told.values())))
    assert all(texts[: len(plain[store])] == plain[store] for store, texts in kept.items())
    assert 280 < len(after.split()) <= 300 and {" ".join(texts) for texts in told.values()} == {after}
    answers = {one.reference for _, config in prepared.configs for one in config.questions}
    assert not any(answer.casefold() in after.casefold() for answer in answers)
    checks = recompute(BENCHMARK, tmp_path / "later", tmp_path / "again")
    assert all(check.held for check in checks), checks
    for name in ("scores.json", "usage.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "later" / name).read_bytes()
    write_side_by_side([tmp_path / "later", tmp_path / "plain"], tmp_path / "beside", claims=claims_of)
    assert "success, tokens between" in (tmp_path / "beside/table.md").read_text()
    assert '"between"' not in (tmp_path / "plain/run.json").read_text()
