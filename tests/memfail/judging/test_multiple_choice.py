"""The letter of a multiple choice, as models write it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.dataset.word_rules import letter_of

CHOICES = ("organize the bookshelf", "practice guitar scales", "water the plants", "take scenic photos", "fold laundry")
LISTED = "\n".join(f"{letter}. {choice}" for letter, choice in zip("ABCDE", CHOICES, strict=True))


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ('{"selected_choice": "D"}', "D"),
        ('{"selected_choice": "D. take scenic photos"}', "D"),
        ('{"answer": "take scenic photos"}', "D"),
        ('```json\n{"selected_choice": "D"}\n```', "D"),
        ('The chain ends there: {"selected_choice": "D"} as asked.', "D"),
        ('First {"selected_choice": "A"}, no: {"selected_choice": "D"}', "D"),
        ('{"selected_choice": "none", "reason": "A"}', None),
        ('{"selected_choice": "F"}', None),
        ("Answer: D", "D"),
        ("**Answer:** (D)", "D"),
        ("I choose D because of the chain.", "D"),
        ("The answer is A because of the shelf.", "A"),
        ("Answer: A organize the bookshelf", "A"),
        ("So you end with (D) take scenic photos.", "D"),
        ("D) take scenic photos", "D"),
        ("Memory 2 says so.\nD. take scenic photos", "D"),
        ("Take scenic photos.", "D"),
        ("I looked at the links.\nThe answer is take scenic photos", "D"),
        (f"{LISTED}\n\nAnswer: C", "C"),
        (f"{LISTED}\n\nC. water the plants", "C"),
        (f"The options were:\n{LISTED}", None),
        ("Answer: A calm mind", None),
        ("A calm mind leads me to journaling.", None),
        ("I take vitamin C in the morning.", None),
        ("It is not told what I end up doing. I cannot choose.", None),
    ],
)
def test_what_models_write(answer, letter):
    assert letter_of(answer, CHOICES) == letter


CHOSEN = st.sampled_from("ABCDE")
ARTICLES = st.sampled_from(
    ["A calm mind comes first.", "I call a friend.", "A day trip follows, I think.", "There is a link.", "I doubt it."]
)


@given(
    CHOSEN,
    st.sampled_from(
        [
            '{{"selected_choice": "{}"}}', '```json\n{{"selected_choice": "{}"}}\n```', "Answer: {}", "The answer is ({}).",
            "I choose {}.", "({})", "**{}**", "{}", "{}.", "Option {}",
        ]
    ),
    st.lists(ARTICLES, max_size=3),
)  # fmt: skip
def test_every_letter_is_read_in_every_form_after_any_thoughts(letter, form, thoughts):
    assert letter_of("\n".join([*thoughts, form.format(letter)]), CHOICES) == letter


@given(st.lists(ARTICLES, max_size=5))
def test_articles_and_pronouns_choose_nothing(sentences):
    assert letter_of(" ".join(sentences), CHOICES) is None


@given(CHOSEN, st.sampled_from(["{}", "Answer: {}", "{}.", '{{"answer": "{}"}}']))
def test_the_text_of_an_option_is_its_letter(letter, form):
    assert letter_of(form.format(CHOICES["ABCDE".index(letter)]), CHOICES) == letter


@pytest.mark.slow
@given(st.text() | st.recursive(st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(json.dumps),
       st.integers(2, 5))  # fmt: skip
def test_any_text_gives_a_letter_of_the_options_or_none(answer, n):
    assert letter_of(answer, CHOICES[:n]) in [None, *"ABCDE"[:n]]
