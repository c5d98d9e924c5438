import pytest
from reference_cases import CHECKS, with_published

from epbench.tulving.checks import check_chapter
from epbench.tulving.dates import from_words, in_words
from epbench.tulving.events import Event
from epbench.tulving.plans import Plan

EVENT = Event(from_words("May 07, 2024"), "High Line", "Zoe Brown", "Karaoke Night", "Sang a duet")
PLAN = Plan(n_paragraphs=2, space=1, time=2, entity=1, content=2, style="comedy")


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


def test_dates_in_words_go_both_ways():
    assert in_words(from_words("September 22, 2026")) == "September 22, 2026"
    with pytest.raises(ValueError):
        from_words("22 September 2026")
