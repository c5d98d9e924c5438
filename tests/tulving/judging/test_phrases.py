import pytest

from epbench.tulving.judging.phrases import phrases_of


def texts(answer, question="?"):
    return {phrase.text for phrase in phrases_of(answer, question)}


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("The text puts it at the zoo with two pandas.", "the zoo with two pandas"),
        ("I believe the answer is a show of small trees, rocks and moss.", "a show of small trees, rocks and moss"),
        ("1. **a walk among birds**", "a walk among birds"),
        ("I remember a walk among birds from the book.", "a walk among birds"),
        ("- the animal park on Staten Island (Chapter 4)", "the animal park on Staten Island"),
    ],
)
def test_a_description_is_found_without_what_leads_to_it(answer, phrase):
    assert phrase in texts(answer)


def test_a_name_stands_alone_whatever_leads_to_it():
    assert texts("According to the text, that would be Film Festival.") & {"Film Festival"}
    assert not any("would" in text for text in texts("According to the text, that would be Film Festival."))
    assert texts("They met at High Line, Wave Hill and Bryant Park.") == {"High Line", "Wave Hill", "Bryant Park"}


@pytest.mark.parametrize(
    ("text", "is_name"),
    [("Dog Show", True), ("dog show", True), ("Museum of Modern Art", True), ("a show of dogs", False), ("a hurricane", False)],
)  # fmt: skip
def test_names_are_told_from_descriptions(text, is_name):
    assert next(phrase.is_name for phrase in phrases_of(text, "?")) == is_name


def test_of_a_list_only_its_lines_are_taken():
    assert texts("I come up with these:\n\n- Dog Show\n- a walk\n\nThat is everything there is.") == {
        "Dog Show",
        "a walk",
    }


def test_what_the_question_names_is_left_out():
    assert texts("For High Line, it was Dog Show.", "What happened at High Line?") == {"Dog Show"}


def test_phrases_overlap_if_they_share_a_clause():
    whole, *parts = sorted(phrases_of("a walk, a swim", "?"), key=lambda phrase: phrase.start - phrase.end)
    assert all(whole.overlaps(part) and part.overlaps(whole) for part in parts)
    assert not parts[0].overlaps(parts[1])
    above, below = phrases_of("a walk\na walk", "?")
    assert not above.overlaps(below)


@pytest.mark.parametrize("answer", ["(" * 200_000, " " * 200_000 + "x", "it " * 60_000])
def test_a_long_answer_is_read_once(answer):
    assert len(phrases_of(answer, "?")) <= 1
