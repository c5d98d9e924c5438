"""What became of facts that were corrected or withdrawn: the four outcomes, the stages, and answers that deserve nothing."""

from collections import Counter
from dataclasses import replace

import pytest

from epbench.memfail.dataset.load import QuestionRecord, facts_to_store, questions_of
from epbench.memfail.dataset.revision import keeps_back, tells_first, tells_old, tells_present, values_of
from epbench.memfail.judging.diagnosis import diagnose, leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import ModelJudge, load_judging_prompts
from epbench.memfail.scores.scoring import floor_of, score_outcomes
from epbench.models.openai.model import EndpointModel
from epbench.progress import no_progress
from tests.memfail.memfail_samples import made_rows, verdict
from tests.models.loopback_endpoint import LoopbackEndpoint


def rows_of(n, harder=False):
    return made_rows("revision", n, 0, harder)


UNKNOWN = "I do not know that."


def told(rows, answer, held=True):
    """The records and stores of a system that holds and finds every message word for word, or none, with these answers."""
    texts = {row["id"]: tuple(said["text"] for said in row["statements"]) if held else () for row in rows}
    asked = [(row, question) for row in rows for question in questions_of("revision", [row])]
    return [QuestionRecord(q, 5, row["id"], texts[row["id"]], answer(row, q)) for row, q in asked], texts


def right(row, question):
    return UNKNOWN if question.kind == "forgotten" else question.reference


def judged(folder, records, stores, judge=None):
    return diagnose(folder, records, stores, judge or LexicalJudge(), no_progress)


def judged_by_model(folder, reply):
    with LoopbackEndpoint(reply) as endpoint:
        judge = ModelJudge(EndpointModel("tiny", base_url=endpoint.url, attempts=1), load_judging_prompts())
        return judged(folder, *told(rows_of(1), right), judge)


def fact_of(row, question):
    number = int(question.id.rpartition("-q")[2]) - 1
    return row["facts"][row["questions"][number]["fact"]]


ANSWERS = {
    "nothing": (lambda row, question: "", 0),
    "not known": (lambda row, question: UNKNOWN, 0.34),
    "every value": (lambda row, question: "\n".join(values_of(row)), 0.34),
    "the first value": (lambda row, question: fact_of(row, question)["first"], 0.5),
    "the last value": (lambda row, question: fact_of(row, question)["now"] or fact_of(row, question)["first"], 0.5),
    "an echo of the question": (lambda row, question: question.text, 0),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_one_answer_to_everything_earns_little(tmp_path, name):
    """Even with a store of every message word for word."""
    answer, most = ANSWERS[name]
    (scores,) = score_outcomes(judged(tmp_path, *told(rows_of(10), answer))).values()
    assert scores["success_rate"] <= most and scores["rows_right"] == 0
    if name == "not known":
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
    floor = floor_of(questions_of("revision", rows_of(3)))
    assert floor == {"success_rate": 0.0, "answer_accuracy": pytest.approx(1 / 3)}
    assert {name: scores[name] for name in floor} == floor and scores["storage_error"] == 1.0


@pytest.mark.slow
def test_a_model_is_asked_what_a_wrong_answer_says(tmp_path):
    """A model that finds no answer about the present or the withdrawn right, and everything else true."""
    wrong = ("Does the assistant say that it does not know", "Does the answer give what is right now")
    outcomes = judged_by_model(tmp_path, lambda prompt: verdict(not any(text in prompt for text in wrong), "so"))
    assert Counter((o.group, o.label) for o in outcomes) == {
        ("corrected", "stale"): 2, ("said first", "correct"): 2, ("withdrawn", "resurrected"): 4,
        **{(group, "reasoning_error"): 1 for group in ("restated", "told again", "kept", "untouched")},
    }  # fmt: skip
    assert all(outcome.reason == "so" for outcome in outcomes)


@pytest.mark.slow
def test_without_a_verdict_a_question_has_failed(tmp_path):
    def reply(prompt):
        return "no verdict" if "give away what was" in prompt else verdict(False, "so")

    outcomes = judged_by_model(tmp_path, reply)
    assert {o.label for o in outcomes if o.group == "withdrawn"} == {"failed"}
    # Of what was corrected, neither value is there.
    assert {o.label for o in outcomes if o.group in ("restated", "kept", "corrected")} == {"lost_with_it"}


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
        ("She lives in Porto.", False),
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
