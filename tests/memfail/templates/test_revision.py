"""Properties of the rows of `revision`, plain and harder, for any number and seed."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from epbench.memfail.context.requests import Setting, conversations_of
from epbench.memfail.dataset.findings import validate
from epbench.memfail.dataset.load import facts_to_store, questions_of
from epbench.memfail.dataset.revision import ACT_OF, FACTS, N_QUESTIONS, values_of
from epbench.memfail.dataset.word_rules import content_of, stands_in
from epbench.memfail.generation.generate import validation_failures
from tests.memfail.memfail_samples import made_rows

seeds = st.integers(0, 10_000)
some = settings(max_examples=settings.default.max_examples // 10, deadline=None)


def rows_of(n, seed=0, harder=False):
    return made_rows("revision", n, seed, harder)


@given(n=st.integers(1, 30), seed=seeds, harder=st.booleans())
@some
def test_the_report_finds_no_limits(n, seed, harder):
    rows = rows_of(n, seed, harder)
    assert rows == rows_of(n, seed, harder) != rows_of(n, seed + 1, harder)
    report = validate({"revision": rows})
    assert {line.split()[1] for line in validation_failures(report)} <= {"near_duplicate_pairs", "repeated_units"}
    assert report["revision"]["questions"] == n * N_QUESTIONS
    shortcuts = report["revision"]["shortcuts"]
    assert shortcuts["last_value"] == shortcuts["first_value"] == 0.5
    assert shortcuts["never_known"] == pytest.approx(1 / 3, abs=1e-3) and shortcuts["word_overlap"] <= 0.55
    if harder:
        assert shortcuts["word_overlap"] < 0.3


@given(seed=seeds, harder=st.booleans())
@some
def test_a_row_tells_changes_withdraws_and_tells_again_in_this_order(seed, harder):
    (row,) = rows_of(1, seed, harder)
    stages = {"tells": 0, "corrects": 1, "restates": 1, "withdraws": 2, "tells again": 3}
    acts = [said["act"] for said in row["statements"] if said["act"] != "talks"]
    assert [stages[act] for act in acts] == sorted(stages[act] for act in acts)
    assert 0 < [said["act"] for said in row["statements"]].index("talks") < len(row["statements"]) - 1
    for number, (fact, (_, _, fate)) in enumerate(zip(row["facts"], FACTS, strict=True)):
        done = [said for said in row["statements"] if number in said["facts"]]
        assert fact["fate"] == fate and done[0]["act"] == "tells" and done[-1]["act"] == ACT_OF[fate]
        assert (fact["now"] is None) == (fate == "withdrawn") and (fact["now"] == fact["first"]) == (
            fate not in ("withdrawn", "corrected")
        )
        for said in done:
            assert fact["subject"] in said["text"]
        if fate in ("withdrawn", "told again"):
            (withdrawn,) = [said["text"] for said in done if said["act"] == "withdraws"]
            assert not any(stands_in(value, withdrawn) for value in values_of(row))
        if fate == "corrected":
            (corrected,) = [said["text"] for said in done if said["act"] == "corrects"]
            assert stands_in(fact["now"], corrected) and stands_in(fact["first"], corrected) is not harder


@given(seed=seeds)
@example(seed=933)  # its correction said `put this right`, and its question `put on a form`
@some
def test_harder_questions_share_no_word_with_what_was_told(seed):
    (row,) = rows_of(1, seed, harder=True)
    assert len({name.split()[-1] for name in row["subjects"]}) == 1
    for asked in row["questions"]:
        fact = row["facts"][asked["fact"]]
        words = content_of(asked["text"]) - content_of(" ".join(row["subjects"]))
        corrected = [said for said in row["statements"] if asked["fact"] in said["facts"] and said["act"] == "corrects"]
        told = [said["text"] for said in corrected]
        if asked["kind"] != "first":
            assert not words & content_of(" ".join(told)), (fact, asked["text"], told)


@given(seed=seeds, capacity=st.integers(1, 4), isolate=st.booleans())
@some
def test_messages_of_a_row_are_told_in_their_order(seed, capacity, isolate):
    facts = facts_to_store("revision", rows_of(4))
    told = conversations_of(facts, Setting(seed=seed, units_per_conversation=capacity, isolate=isolate))
    places: dict[str, list[int]] = {}
    for conversation in told:
        for fact in conversation.units:
            row, _, number = fact.partition("/")
            places.setdefault(row, []).append(int(number))
    assert all(numbers == sorted(numbers) and len(numbers) == 17 for numbers in places.values()) and len(places) == 4
    if not isolate:
        rows = [fact.partition("/")[0] for conversation in told for fact in conversation.units]
        assert rows != sorted(rows)  # rows are told among one another


def test_every_question_needs_a_message_with_its_value():
    for harder in (False, True):
        rows = rows_of(20, 1, harder)
        texts = {fact.id: fact.text for fact in facts_to_store("revision", rows)}
        questions = questions_of("revision", rows)
        assert Counter(q.group for q in questions) == {
            "corrected": 40, "said first": 40, "withdrawn": 80, "restated": 20, "told again": 20, "kept": 20, "untouched": 20
        }  # fmt: skip
        for question in questions:
            (gold,) = question.gold
            assert texts[gold.fact] == gold.text and all(stands_in(link, gold.text) for link in gold.link)
            assert question.about["subject"] in question.text
            if question.kind == "forgotten":
                assert gold.link[1] != question.about["other"] and not stands_in(question.about["other"], gold.text)
            else:
                assert gold.link == (question.about["subject"], question.reference)
