import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.tulving.chapters.checks import FACTS, check_chapter
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.events.dates import from_words, in_words
from epbench.tulving.events.events import Event, Layout
from tests.reference_cases import CHECKS, with_published

EVENT = Event(from_words("May 07, 2024"), "High Line", "Zoe Brown", "Karaoke Night", "Sang a duet")
PLAN = Layout(n_paragraphs=2, space=1, time=2, entity=1, content=2, style="comedy")


def test_agrees_with_the_reference_on_every_recorded_case():
    cases = with_published(CHECKS, "verification_direct_cases.json")
    assert len(cases) > 20
    for case in cases:
        assert check_chapter(case["text"], EVENT, PLAN) == case["issues"], case["case"]


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("(1) At High Line, Zoe Brown waited.\n\n(2) Zoe sang a duet on May 07, 2024 with $entity_1.", []),
        ("(1) At High Line, Zoe Brown waited.", ["paragraphs_nb"]),
        ("At High Line, Zoe Brown waited.\nZoe sang a duet on May 07, 2024.", ["paragraphs_initials_shape"]),
        ("(1) At High Line, Zoe Brown.\n(3) Zoe sang a duet on May 07, 2024.", ["paragraphs_initials_increment"]),
        ("(1) At High Line, Zoe Brown met Entity_1.\n(2) Zoe sang a duet on May 07, 2024.", ["other_entities_shape"]),
        (
            "(1) At High Line, Zoe Brown met $entity_x.\n(2) Sang a duet, May 07, 2024.",
            ["other_entities_shape_integer"],
        ),
        (  # a digit that is no number, and would be left in the text
            "(1) At High Line, Zoe Brown met $entity_²; fine.\n(2) Sang a duet, May 07, 2024.",
            ["other_entities_shape_integer"],
        ),
        ("(1) At High Line, Zoe Brown waited.\n(2) Zoe sang a duet.", ["has_date"]),
        ("(1) High Line, Zoe Brown.\n(2) High Line: Zoe sang a duet on May 07, 2024.", ["single_location"]),
        ("(1) Zoe Brown waited.\n(2) At High Line, Zoe sang a duet on May 07, 2024.", ["correct_location"]),
    ],
)
def test_each_violation_has_its_own_check(text, failed):
    assert check_chapter(text, EVENT, PLAN) == failed


@pytest.mark.parametrize(
    ("check", "text", "sentence"),
    [
        ("paragraphs_nb", "(1) One.", "The number of its paragraphs was 1, and 2 is wanted. Every line counts as one."),
        ("paragraphs_initials_shape", "(1) One.\n2) Two.", 'its number, such as "(1) ": "2) Two.".'),
        ("paragraphs_initials_increment", "(1) One.\n(3) Two.", 'one blank after the number: "(3) Two.".'),
        ("other_entities_shape", "(1) One.\n(2) An identity, he said.", 'outside a mark such as $entity_1: "identity,".'),
        ("other_entities_shape_integer", "(1) $entity_1.\n(2) $entity_x.", 'no number, as in $entity_1: "$entity_x.".'),
        ("has_location", "(1) One.\n(2) Two.", 'The place "High Line" was told nowhere word for word, but belongs in paragraph (1) only.'),
        ("single_entity", "(1) Zoe Brown.\n(2) ZOE BROWN.", 'The full name "Zoe Brown" was told in paragraphs (1) and (2), but belongs in paragraph (1) only.'),
        ("correct_date", "(1) May 07, 2024.\n(2) Two.", 'The date "May 07, 2024" was told in paragraph (1), but belongs in paragraph (2) only.'),
        ("has_content", "(1) One.\n(2) Two.", 'The deed "sang a duet" was told nowhere word for word, but belongs in paragraph (2) only.'),
        ("llm_date", "", "not all of it happens on May 07, 2024, or that another date is named."),
        ("llm_content", "", "not about this event, Karaoke Night, or"),
    ],
)  # fmt: skip
def test_every_fault_has_a_sentence_in_the_words_of_the_prompt(check, text, sentence):
    assert sentence in load_writing_prompts().fault(check, text, EVENT, PLAN)


pieces = st.sampled_from(
    ["(1) ", "(2) ", "(3)", "\n", "\n\n", " ", "High Line", "May 07, 2024", "zoe brown", "Sang a duet", "$entity_1",
     "$entity_x", "Identity", "{", "}", "{n}", "%", '"']
) | st.text(max_size=5)  # fmt: skip
layouts = st.integers(1, 3).flatmap(
    lambda n: st.builds(Layout, st.just(n), *[st.integers(1, n)] * 4, style=st.just("comedy"))
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=12).map("".join), layouts)
def test_any_failed_candidate_can_be_told_what_was_wrong(text, layout):
    failed = check_chapter(text, EVENT, layout)
    if failed:
        told = load_writing_prompts().retry_prompt(failed, text, EVENT, layout).splitlines()
        assert len(told) >= len(failed) + 2 and told[0].endswith(":")
    for check in ("cut_off", "empty", "refused", *(f"llm_{fact}" for fact in FACTS)):
        assert load_writing_prompts().fault(check, text, EVENT, layout)


def test_dates_in_words_go_both_ways():
    assert in_words(from_words("September 22, 2026")) == "September 22, 2026"
    with pytest.raises(ValueError):
        from_words("22 September 2026")
