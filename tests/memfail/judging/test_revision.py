"""What became of facts that were corrected or withdrawn: the four outcomes, the stages, and answers that deserve nothing."""

from collections import Counter
from dataclasses import replace

import pytest

from epbench.memfail.dataset.load import QuestionRecord, facts_to_store, questions_of
from epbench.memfail.dataset.revision import keeps_back, tells_first, tells_old, tells_present, values_of
from epbench.memfail.dataset.schema import complete
from epbench.memfail.judging.diagnosis import diagnose, leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import ModelJudge, load_judging_prompts
from epbench.memfail.scores.scoring import floor_of, score_outcomes
from epbench.memfail.templates.rows import make_rows
from epbench.models.openai.model import EndpointModel
from epbench.progress import no_progress
from tests.memfail.honest_judge import verdict
from tests.models.loopback_endpoint import LoopbackEndpoint


def rows_of(n, seed=0, harder=False):
    return complete("revision", make_rows("revision", n, seed, harder))


UNKNOWN = "I do not know that."


def told(rows, answer, held=True):
    """The records and stores of a system that holds and finds every message word for word, or none, with these answers."""
    texts = {row["id"]: tuple(said["text"] for said in row["statements"]) if held else () for row in rows}
    asked = [(row, question) for row in rows for question in questions_of("revision", [row])]
    return [QuestionRecord(q, 5, row["id"], texts[row["id"]], answer(row, q)) for row, q in asked], texts


def right(row, question):
    return UNKNOWN if question.kind == "forgotten" else question.reference


def judged(folder, records, stores):
    return diagnose(folder, records, stores, LexicalJudge(), no_progress)


ANSWERS = {
    "nothing": lambda row, question: "",
    "not known": lambda row, question: UNKNOWN,
    "every value": lambda row, question: "\n".join(values_of(row)),
    "the first value": lambda row, question: question_fact(row, question)["first"],
    "the last value": lambda row, question: (
        question_fact(row, question)["now"] or question_fact(row, question)["first"]
    ),
    "an echo of the question": lambda row, question: question.text,
}


def question_fact(row, question):
    number = int(question.id.rpartition("-q")[2]) - 1
    return row["facts"][row["questions"][number]["fact"]]


@pytest.mark.parametrize(("answer", "most"), [*zip(ANSWERS, (0, 0.34, 0.34, 0.5, 0.5, 0), strict=True)])
def test_one_answer_to_everything_earns_little(tmp_path, answer, most):
    """Even with a store of every message word for word."""
    (scores,) = score_outcomes(judged(tmp_path, *told(rows_of(10), ANSWERS[answer]))).values()
    assert scores["success_rate"] <= most and scores["rows_right"] == 0
    if answer == "not known":
        assert scores["vacuous"] == 40 and scores["success_earned"] == 0


@pytest.mark.parametrize("harder", [False, True])
def test_who_does_as_told_succeeds(tmp_path, harder):
    outcomes = judged(tmp_path, *told(rows_of(25, harder=harder), right))
    assert sum(outcome.label == "correct" for outcome in outcomes) >= 0.95 * len(outcomes)


def test_a_failed_request_is_neither_right_nor_wrong(tmp_path):
    records, stores = told(rows_of(2), right)
    records[0] = replace(records[0], failure="refused", answer="")
    outcomes = judged(tmp_path, records, stores)
    (scores,) = score_outcomes(outcomes).values()
    assert outcomes[0].label == "failed" and scores["failed"] == 1 and scores["vacuous"] == 0
    assert scores["success_rate"] == scores["rows_right"] == 1.0  # of 23 questions, and of the other row
    (of_some,) = score_outcomes(outcomes[1:12]).values()
    assert of_some["success_rate"] == 1.0 and of_some["rows_right"] is None  # no row was asked as a whole


def test_an_empty_store_earns_nothing(tmp_path):
    silent = told(rows_of(3), lambda row, question: UNKNOWN, held=False)
    (scores,) = score_outcomes(judged(tmp_path, *silent)).values()
    assert (
        scores["success_rate"] == 0.0
        and scores["storage_error"] == 1.0
        and scores["answer_accuracy"] == pytest.approx(1 / 3)
    )
    floor = floor_of(questions_of("revision", rows_of(3)))
    assert floor == {"success_rate": 0.0, "answer_accuracy": pytest.approx(1 / 3)}


@pytest.mark.slow
def test_a_model_is_asked_what_a_wrong_answer_says(tmp_path):
    """A model that finds no answer about the present or the withdrawn right, and everything else true."""
    wrong = ("Does the assistant say that it does not know", "Does the answer give what is right now")
    records, stores = told(rows_of(1), right)
    with LoopbackEndpoint(lambda prompt: verdict(not any(text in prompt for text in wrong), "so")) as endpoint:
        judge = ModelJudge(EndpointModel("tiny", base_url=endpoint.url, attempts=1), load_judging_prompts())
        outcomes = diagnose(tmp_path, records, stores, judge, no_progress)
    assert Counter((o.group, o.label) for o in outcomes) == {
        ("corrected", "stale"): 2, ("said first", "correct"): 2, ("withdrawn", "resurrected"): 4,
        **{(group, "reasoning_error"): 1 for group in ("restated", "told again", "kept", "untouched")},
    }  # fmt: skip
    assert all(outcome.reason == "so" for outcome in outcomes)


@pytest.mark.slow
def test_without_a_verdict_a_question_has_failed(tmp_path):
    records, stores = told(rows_of(1), right)
    with LoopbackEndpoint(
        lambda prompt: "no verdict" if "give away what was" in prompt else verdict(False, "so")
    ) as endpoint:
        judge = ModelJudge(EndpointModel("tiny", base_url=endpoint.url, attempts=1), load_judging_prompts())
        outcomes = diagnose(tmp_path, records, stores, judge, no_progress)
    assert {o.label for o in outcomes if o.group == "withdrawn"} == {"failed"}
    assert {o.label for o in outcomes if o.group in ("restated", "kept")} == {"lost_with_it"}
    assert {o.label for o in outcomes if o.group == "corrected"} == {"lost_with_it"}  # as neither value is there


@pytest.mark.parametrize(
    ("answer", "right", "stale"),
    [
        ("Ghent.", True, False),
        ("She lives in Ghent, not Lyon.", True, False),
        ("She moved from Lyon to Ghent.", True, False),
        ("You said Lyon at first. It is Ghent.", True, False),
        ("Lyon.", False, True),
        ("Lyon and Ghent.", False, True),
        ("Not Lyon.", False, False),
    ],
)
def test_the_present_value(answer, right, stale):
    assert tells_present("Ghent", "Lyon", answer) is right and tells_old("Ghent", "Lyon", answer) is stale


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Lyon.", True),
        ("Lyon, and later Ghent.", True),
        ("You told me Lyon, which you corrected to Ghent.", True),
        ("Lyon, not Ghent.", True),
        ("Ghent.", False),
        ("Lyon or Ghent.", False),
    ],
)
def test_the_first_value(answer, right):
    assert tells_first("Lyon", "Ghent", answer) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (UNKNOWN, True),
        ("You asked me to forget where she lives.", True),
        ("You asked me to forget that she lives in Lyon.", False),
        ("I am not sure, but it may be Lyon.", False),
        ("   ", False),
    ],
)
def test_what_was_withdrawn(answer, right):
    assert keeps_back("Lyon", answer) is right


def test_a_needed_fact_that_is_gone_is_missed(tmp_path):
    rows = rows_of(20)
    records, _ = told(rows, right)
    records = [replace(record, store="") for record in records]
    left_out = leave_one_out(tmp_path, records, {"": facts_to_store("revision", rows)}, LexicalJudge(), no_progress)
    assert left_out.of > 150 and left_out.n == left_out.misplaced == 0
