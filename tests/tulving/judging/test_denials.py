import pytest

from epbench.tulving.judging.similarity import without_denials


@pytest.mark.parametrize(
    ("answer", "denied", "kept"),
    [
        ("It was not Ann Lee, but Bob Ray.", "Ann Lee", "Bob Ray"),
        ("It was Bob Ray rather than Ann Lee.", "Ann Lee", "Bob Ray"),
        ("Bob Ray came instead of Ann Lee.", "Ann Lee", "Bob Ray"),
        ("It wasn't on May 07, 2024; it was on June 1, 2025.", "May 07, 2024", "June 1, 2025"),
        ("It was not a puppet show but a magic show.", "puppet show", "magic show"),
        ("Ann Lee was not present, and Bob Ray was.", "Ann Lee", "Bob Ray"),
        ("It was neither Ann Lee nor Kim Fox, but Bob Ray.", "Kim Fox", "Bob Ray"),
        ("You could think of Ann Lee here, but it was Bob Ray.", "Ann Lee", "Bob Ray"),
        ("Not St. John Rivers: Bob Ray.", "Rivers", "Bob Ray"),
    ],
)
def test_what_is_denied_goes_and_the_rest_stays(answer, denied, kept):
    left = without_denials(answer)
    assert denied not in left and kept in left


@pytest.mark.parametrize(
    "answer",
    [
        "Not only Ann Lee but also Bob Ray.",
        "It did not begin until May 07, 2024.",
        "I am not sure, but it was Ann Lee.",
        "I do not know. Ann Lee?",
        "I would guess Ann Lee, but I cannot say for certain.",
        "Ann Lee, Bob Ray and St. John Rivers.",
        "",
    ],
)
def test_what_denies_nothing_stays_as_it_is(answer):
    assert without_denials(answer) == answer


@pytest.mark.parametrize("answer", [" " * 200_000 + "but", "not the " * 20_000, "." * 200_000, "not" + " " * 200_000])
def test_a_long_answer_is_read_once(answer):
    """A search that began anew at each blank would take an hour."""
    assert len(without_denials(answer)) <= len(answer)
