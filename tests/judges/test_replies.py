"""What a reply is: an answer, a refusal, or a text that only looks like one."""

import re

import pytest

from epbench.judges.replies import FAILURES, FORMS, failure_of, kind_of_reply, with_failures
from tests.judges.reply_phrases import EMPTY, NOTHING_HAPPENED, PARTIAL, REFUSALS


@pytest.mark.parametrize(
    ("phrases", "kind"), [(REFUSALS, "refusal"), (NOTHING_HAPPENED, "answer"), (PARTIAL, "answer"), (EMPTY, "empty")]
)
def test_phrases_are_told_apart(phrases, kind):
    assert {phrase: found for phrase in phrases if (found := kind_of_reply(phrase)) != kind} == {}


@pytest.mark.parametrize(
    "change", [str.upper, lambda text: text.replace("'", "’"), lambda text: f"**{text}**\n", "> {}".format]
)
def test_case_apostrophes_and_markdown_do_not_matter(change):
    kinds = ((REFUSALS, "refusal"), (NOTHING_HAPPENED, "answer"))
    assert [text for texts, kind in kinds for text in texts if kind_of_reply(change(text)) != kind] == []


@pytest.mark.parametrize(
    "item",
    ["0", "½", "東京", '{"choice": null}', "<b>Oslo</b>", "Content Policy Workshop", "AI Conference", "a private view",
     "The guests were not allowed to enter the Javits Center.", "He refused to comply. It was Ezra Edwards."],
)  # fmt: skip
def test_a_letter_or_digit_and_a_name_that_sounds_like_a_refusal_are_answers(item):
    assert kind_of_reply(item) == kind_of_reply(f"- {item}\n- Poetry Slam") == "answer"


def test_every_declared_form_is_in_a_phrase():
    plain = [" ".join(text.replace("’", "'").split()) for text in REFUSALS]
    assert [
        name for name, form in FORMS.items() if not any(re.search(form, text, re.IGNORECASE) for text in plain)
    ] == []


def test_a_journaled_reply_that_is_no_answer_is_a_failure_with_its_text():
    refused, silent = {"key": "a", "answer": REFUSALS[0], "ended": "stop"}, {"key": "b", "answer": "-"}
    others = [
        {"key": "c", "answer": "Oslo"},
        {"key": "d", "failure": "429", "partial": "-"},
        {"key": "e", "missing": True},
    ]
    assert [failure_of(record) for record in (refused, silent, *others)] == [
        FAILURES["refusal"], FAILURES["empty"], None, "429", None,
    ]  # fmt: skip
    assert with_failures([refused, silent, *others]) == [
        {"key": "a", "ended": "stop", "failure": FAILURES["refusal"], "partial": REFUSALS[0]},
        {"key": "b", "failure": FAILURES["empty"], "partial": "-"},
        *others,
    ]
    assert "answer" in refused, "the record itself is left as it is"
