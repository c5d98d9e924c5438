"""What is measured of a checkpoint: the same as the script measures, whoever shares the work, and what it means."""

import json
import math
from dataclasses import replace

import pytest
import torch

from epbench import load_book
from epbench.finetuning.launching import Ranks
from epbench.finetuning.tokens import SampleTokens
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Sampling
from epbench.tulving.context.requests import Reading
from epbench.tulving.finetuning.material import TulvingPlan, question_samples, training_questions
from epbench.tulving.finetuning.measures import measure, summary_of
from epbench.tulving.judging.lexical import LexicalJudge
from tests.finetuning.thread_ranks import together
from tests.refusals import refusal
from tests.scripts.run_files import lines_of, scores_of
from tests.tulving.finetuning.tiny_book import N_EMPTY, N_OTHERS, write_tiny_book, write_tiny_model

torch.set_num_threads(1)  # threads that wait for one another are slow where tests run side by side

MAX_TOKENS = 8
ABOUT = {"label": "epoch-1"}


def plan_of(book, tiny, judge=LexicalJudge):
    data, questions = load_book(str(book)), training_questions(str(book))
    reading = Reading(memory="none", sampling=Sampling(MAX_TOKENS))
    samples = question_samples(questions, data, reading, SampleTokens(TransformersModel(str(tiny)).prompts.tokenizer))
    return TulvingPlan(
        data=data, rows=data.rows, limit=None, reading=reading, judge=judge, trained=questions,
        texts={"trained_answers": samples, "nothing": []},
    )  # fmt: skip


@pytest.fixture(scope="module")
def plan(book, tiny):
    return plan_of(book, tiny)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, tiny, plan):
    folder = tmp_path_factory.mktemp("measured")
    return folder, measure(TransformersModel(str(tiny)), folder, plan, Ranks(), ABOUT)


def answers(folder):
    return {(record["key"], record["answer"]) for record in lines_of(folder / "answers.jsonl")}


def test_the_summary_tells_trained_questions_from_others(measured, plan):
    found, scores = measured[1]["tulving"], scores_of(measured[0] / "tulving")
    assert {name: found[name] for name in scores} == scores
    counts = {name: (group["n"], group["n_failed"]) for name, group in found["groups"].items()}
    assert counts == {"trained": (8, 0), "not_trained": (N_OTHERS, 0), "empty": (N_EMPTY, 0)}
    for name, bin_ in (("trained", "1"), ("empty", "0")):  # all of this bin, and they ask for all matches
        assert found["groups"][name]["f1"] == pytest.approx(scores["f1_by_bin"][bin_])
    assert plan.trained_ids == {row["id"] for row in plan.rows if row["n_chapters"] == 1}
    assert found["failures"] == {}
    assert json.loads(json.dumps(measured[1], allow_nan=False)) == measured[1]
    # Behind an answer of one token this model ends, whatever else may come: no number says how improbable that is.
    assert measured[1]["perplexity"] == {"trained_answers": None, "nothing": None}


def test_several_processes_measure_the_same(measured, tiny, plan, tmp_path):
    asked = [0, 0]

    def work(ranks):
        model = TransformersModel(str(tiny))
        answer = model.answer

        def counted(requests):
            asked[ranks.index] += len(requests)
            return answer(requests)

        model.answer = counted
        return measure(model, tmp_path, plan, ranks, ABOUT)

    found, other = together(2, work)
    assert other is None and asked == [7, 6]
    assert found["tulving"] == measured[1]["tulving"]
    assert answers(tmp_path / "tulving") == answers(measured[0] / "tulving")
    assert not list((tmp_path / "tulving").glob("answers-*"))


def test_a_model_that_ends_no_answer_has_bounds_and_no_scores(book, tmp_path):
    tiny = write_tiny_model(tmp_path / "m", ends=False)
    plan, model = plan_of(book, tiny), TransformersModel(str(tiny))
    record = measure(model, tmp_path / "out", plan, Ranks(), ABOUT)
    assert record["perplexity"] == {"trained_answers": pytest.approx(plain_perplexity(model, plan)), "nothing": None}
    found = record["tulving"]
    assert not (tmp_path / "out/tulving/scores.json").exists()
    assert found["f1_by_bin"] == {} and found["simple_recall_score"] is None and found["intervals"] == {}
    assert found["incomplete"]["simple_recall_score"] == found["incomplete"]["f1_by_bin.1"] == [0.0, 1.0]
    assert found["n_failed"] == found["n_questions"] == 13
    for group in found["groups"].values():
        assert group["f1"] is None and group["bounds"] == [0.0, 1.0] and group["n_failed"] == group["n"]
    (reason,) = found["failures"]
    assert f"{MAX_TOKENS} tokens" in reason and found["failures"][reason] == 13


def plain_perplexity(model, plan):
    """Of the answers, from sums over one sample after the other."""
    values = []
    for sample in plan.texts["trained_answers"]:
        with torch.no_grad():
            logits = model.reader.forward.model(torch.tensor([sample.ids])).logits[0].double().log_softmax(-1)
        values += [float(logits[i - 1, sample.ids[i]]) for i, yes in enumerate(sample.learned) if yes]
    return math.exp(-sum(values) / len(values))


class Strict(LexicalJudge):
    """Finds nothing in any answer."""

    name = "strict"

    def verdict(self, judge_input):
        return replace(super().verdict(judge_input), items=["x"], scores=[0.0] * len(judge_input.reference), order=[])


def test_a_summary_is_of_the_judge_that_the_scores_are_by(book, tiny, tmp_path):
    plan = plan_of(book, tiny, Strict)
    found = measure(TransformersModel(str(tiny)), tmp_path, plan, Ranks(), ABOUT)["tulving"]
    assert found["judge"]["name"] == "strict" and set(found["f1_by_bin"].values()) == {0.0}
    refused = refusal(measure, TransformersModel(str(tiny)), tmp_path, plan_of(book, tiny), Ranks(), ABOUT)
    assert "this run was judged by strict" in refused
    assert summary_of(tmp_path / "tulving", plan_of(book, tiny)) == found


def test_what_does_not_fit_is_refused_before_anything_is_asked(plan, tiny, tmp_path):
    model, long = TransformersModel(str(tiny)), replace(plan.reading, sampling=Sampling(100_000))
    refused = refusal(measure, model, tmp_path / "out", replace(plan, reading=long), Ranks(), ABOUT)
    assert "has 32,768; allow fewer tokens for an answer" in refused
    sample = replace(plan.texts["trained_answers"][0], ids=[5] * 40_000, learned=[True] * 40_000)
    refused = refusal(replace(plan, texts={"held_out": [sample]}).check, model)
    assert "text 'held_out', sample t" in refused and ": expected at most the 32,768 tokens" in refused
    assert not (tmp_path / "out").exists()


def test_questions_in_other_words_are_not_trained(tmp_path, tiny):
    book = write_tiny_book(tmp_path / "other", lambda one: one._replace(question=f"Tell me: {one.question}"))
    assert plan_of(book, tiny).trained_ids == frozenset()
