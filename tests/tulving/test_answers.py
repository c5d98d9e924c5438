"""`epbench.score`: the scores of an evaluation for answers that somebody else has."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import epbench
from epbench.tulving.judging.lexical import LexicalJudge
from tests.refusals import refusal
from tests.scripts import in_process


@pytest.fixture(scope="module")
def rows(short_book):
    return epbench.load_book(str(short_book)).rows


def varied_answers(rows):
    """Right, partial, wrong, too long, abstaining, empty and failed answers, the same ones every time."""
    stream = random.Random(7)
    others = sorted({item for row in rows for item in row["answer"] if row["trace"] != "full_details"})
    answers = {}
    for number, row in enumerate(rows):
        items = list(row["answer"])
        kinds = [
            "; ".join(items) or "Nothing of the kind happened.", "; ".join(items[:1]), stream.choice(others),
            "; ".join([*items[::-1], *stream.sample(others, 2)]), "I do not know of any such event.", "",
        ]  # fmt: skip
        answers[row["id"]] = kinds[number % len(kinds)]
    del answers[rows[3]["id"]]
    return answers | {rows[8]["id"]: None}


def test_it_is_what_the_script_scores_question_by_question(rows, short_book, tmp_path):
    answers = varied_answers(rows)
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"id": id_, "answer": answer}) + "\n" for id_, answer in answers.items()))
    asked = "eval_scripts/tulving.py", "--dataset", short_book, "--answers", file
    assert in_process.script(*asked, "--out", tmp_path / "run").returncode == 0
    scored = epbench.score(rows, answers)
    written = json.loads((tmp_path / "run/scores.json").read_text())
    assert json.loads(json.dumps(scored.scores)) == written
    table = {row["id"]: row for row in pq.read_table(tmp_path / "run/questions.parquet").to_pylist()}
    assert len(scored.questions) == len(table) == 450
    for question in scored.questions:
        row = table[question.id]
        assert (question.outcome, question.f1 is None) == (row["outcome"], row["f1"] is None)
        assert question.f1 is None or math.isclose(question.f1, row["f1"], abs_tol=1e-12)
    assert {question.outcome for question in scored.questions} == {"right", "wrong", "failed"}


def test_a_single_answer_has_the_same_score(rows):
    answers = varied_answers(rows)
    scored = epbench.score(rows, answers)
    for row, question in list(zip(rows, scored.questions, strict=True))[:60]:
        assert epbench.score_answer(row, answers.get(row["id"], "")) == question


def test_rows_of_datasets_and_a_judge_are_taken_as_they_are(rows, short_book):
    from datasets import load_dataset

    loaded = load_dataset(str(short_book), split="test")
    answers = {row["id"]: "I do not know." for row in rows}
    assert epbench.score(loaded, answers, epbench.load_judge("lexical")) == epbench.score(rows, answers)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: (rows, {"x": "a"}), "answers: no question has the id 'x'"),
        (lambda rows: (rows, {rows[0]["id"]: 3}), "expected a text, or None for a failure, found int"),
        (lambda rows: ([*rows, rows[0]], {}), "expected each question once"),
        (lambda rows: ([{"id": "a", "cue": "t"}], {}), "row 0"),
        (lambda rows: ([], {}), "found no rows"),
        (lambda rows: ([rows[0] | {"bin": "7"}], {}), "field 'bin'"),
    ],
)
def test_what_cannot_be_scored_is_refused(rows, change, said):
    assert said in refusal(epbench.score, *change(rows))


def value(scores, name):
    return scores["f1_by_bin"][name.split(".")[1]] if "." in name else scores[name]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_dropped=st.integers(0, 20), n_failed=st.integers(0, 20))
def test_dropping_answers_never_raises_a_score_and_bounds_hold(rows, seed, n_dropped, n_failed):
    stream = random.Random(seed)
    asked = stream.sample(rows, 60)
    answers = {id_: answer or "none" for id_, answer in varied_answers(rows).items() if id_ in {r["id"] for r in asked}}
    whole = epbench.score(asked, answers).scores
    dropped = stream.sample(sorted(answers), min(n_dropped, len(answers)))
    part = epbench.score(asked, {id_: a for id_, a in answers.items() if id_ not in dropped}).scores
    assert part["coverage"] == {**part["coverage"], "asked": 60, "failed": 0}
    assert part["coverage"]["answered"] + part["coverage"]["missing"] == 60
    for name in ("simple_recall_score", "latest", "all_matched", *(f"f1_by_bin.{bin_}" for bin_ in whole["f1_by_bin"])):
        if value(whole, name) is not None:
            assert value(part, name) <= value(whole, name) + 1e-9
    for name, (low, high) in part["possible"].items():
        for scores in (whole, part):
            assert value(scores, name) is None or low - 1e-9 <= value(scores, name) <= high + 1e-9
    failed = dict.fromkeys(stream.sample(sorted(answers), min(n_failed, len(answers) - 1)))
    lost = epbench.score(asked, answers | failed).scores
    assert lost["n_failed"] == len(failed)
    for name, (low, high) in lost["possible"].items():
        assert value(whole, name) is None or low - 1e-9 <= value(whole, name) <= high + 1e-9


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_order_does_not_matter(rows, seed):
    stream = random.Random(seed)
    answers = varied_answers(rows)
    shuffled, items = stream.sample(rows, len(rows)), stream.sample(sorted(answers.items(), key=str), len(answers))
    one, other = epbench.score(rows, answers), epbench.score(shuffled, dict(items))
    assert {q.id: q for q in one.questions} == {q.id: q for q in other.questions}
    for name in ("simple_recall_score", "latest", "kendall_tau"):
        assert one.scores[name] == pytest.approx(other.scores[name], abs=1e-12)


def test_a_judge_with_too_few_scores_is_refused_by_name(rows):
    class Careless(LexicalJudge):
        name = "careless"

        def verdict(self, judge_input):
            return replace(super().verdict(judge_input), scores=[])

    row = next(row for row in rows if row["answer"])
    refused = refusal(epbench.score_answer, row, "Nobody.", Careless())
    assert f"judge careless, question {row['id']}: expected {len(row['answer'])} scores" in refused


def test_a_refusal_has_failed_and_a_text_without_words_is_no_answer(rows):
    row = next(row for row in rows if row["bin"] == "0")
    for text in ("I'm sorry, but I can't help with that.", "As an AI language model, I cannot answer this."):
        refused = epbench.score_answer(row, text)
        assert (refused.outcome, refused.f1, refused.reason) == ("failed", None, "the reader refused to answer")
    for text in ("", "-", "...", "\u200b", "🤷"):
        silent = epbench.score_answer(row, text)
        assert (silent.outcome, silent.f1, silent.items) == ("wrong", 0.0, ())
    assert epbench.score_answer(row, "I'm sorry, but there is no mention of any such event.").outcome == "right"


def test_every_judge_is_spared_what_is_no_answer(rows):
    class Asked(LexicalJudge):
        def judge(self, inputs):
            assert {one.answer for one in inputs} == {"I do not know."}
            return super().judge(inputs)

    answers = dict.fromkeys((row["id"] for row in rows), "I do not know.")
    answers |= {rows[0]["id"]: "I cannot assist with that request.", rows[1]["id"]: "…"}
    coverage = epbench.score(rows, answers, Asked()).scores["coverage"]
    assert (coverage["failed"], coverage["missing"]) == (1, 1)
