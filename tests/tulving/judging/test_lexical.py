import pytest

from epbench.tulving.judging import lexical
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.verdicts import JudgeInput

JUDGE = LexicalJudge()


def verdict(answer, truth, trace="entities", get="all"):
    return JUDGE.verdict(JudgeInput("1", "?", trace, get, tuple(truth), answer))


@pytest.mark.parametrize(
    ("trace", "truth", "answer", "scores"),
    [
        ("times", ["May 07, 2024"], "It was on the 7th of May 2024.", [1]),
        ("times", ["May 07, 2024", "June 1, 2025"], "- 2024-05-07\n- June 2, 2025", [1, 0.5]),
        ("times", ["September 22, 2026"], "September 03, 2026", [0.5]),
        ("times", ["September 22, 2026", "September 03, 2026"], "September 03, 2026", [0, 1]),
        ("times", ["September 22, 2026"], "It was in September 2026.", [0.5]),
        ("times", ["September 22, 2026"], "9/22/2026", [1]),
        ("entities", ["Isaiah Bennett", "Sofia Ramos"], "1. Isaiah\n2. Sofia Ramos", [0.5, 1]),
        ("entities", ["Isaiah Bennett"], "It was Isaiah (last name not given).", [0.5]),
        ("spaces", ["Bethpage Black Course", "Lincoln Center"], "Bethpage State Course and Lincoln Center.", [0.5, 1]),
        ("contents", ["Tech Hackathon"], "They took part in a hackathon.", [0.5]),
        ("contents", ["Tech Hackathon"], "They cooked soup.", [0]),
        ("entities", ["Ann Lee"], "Joann Leeds was there.", [0]),
        ("spaces", ["High Line", "High Line"], "high line", [1, 1]),
    ],
)
def test_scores_are_those_of_the_published_examples(trace, truth, answer, scores):
    assert list(verdict(answer, truth, trace).scores) == scores


@pytest.mark.parametrize(
    "answer",
    ["", "I do not know.", "The text does not say anything about that.", "There is no information about her.",
     "Nobody else was involved.", "I can't find any such event. Sorry!", "None."],
)  # fmt: skip
def test_an_abstention_has_no_items(answer):
    for truth in ([], ["Zoe Brown"]):
        assert list(verdict(answer, truth).items) == []


@pytest.mark.parametrize(
    ("trace", "answer"),
    [
        *(("entities", name) for name in ("Zoe Brown", "- Zoe Brown\n- Ann Lee", "some lady", "(Zoe Brown)")),
        ("entities", "(See (Ann Lee))"),
        ("entities", "It was Zoe Brown, I believe."),
        ("times", "I am not sure; perhaps May 11, 2026."),
        ("times", "I have no information about this. However, May 2026 might be right."),
        ("entities", "I can't find it in the text. If I had to choose, I would say Ann Lee."),
    ],
)
def test_a_confabulation_and_an_abstention_with_a_guess_have_items(trace, answer):
    assert len(verdict(answer, [], trace).items) >= 1


def test_what_the_question_names_is_no_item():
    question = "Who was at High Line on May 07, 2024?"
    for answer, n in (
        ("I do not know, but perhaps the chapter on High Line on May 07, 2024 tells.", 0),
        ("At High Line on May 07, 2024, as far as I know, it was Zoe Brown and Ann Lee.", 2),
        ("There is no mention of High Line. It could have been St. John Rivers.", 1),
    ):
        assert len(JUDGE.verdict(JudgeInput("1", question, "entities", "all", (), answer)).items) == n, answer


def test_items_count_what_is_listed_besides_the_truth():
    assert len(verdict("- Zoe Brown\n- Ann Lee\n- Noa Middleton", ["Zoe Brown"]).items) == 3
    assert len(verdict("Zoe Brown, Ann Lee and Noa Middleton were there.", ["Zoe Brown"]).items) == 3


def test_order_is_that_of_the_answer():
    truth = ["May 07, 2024", "June 01, 2025", "May 07, 2024"]
    found = verdict("- June 1, 2025\n- May 7, 2024", truth, "times", "chronological")
    assert found.order == ["June 01, 2025", "May 07, 2024"]


def test_an_account_is_one_item_scored_by_the_words_it_holds():
    chapter = "Zoe Brown sang a duet under the green lamps while the crowd whistled and cheered"
    told = verdict(chapter, [chapter], "full_details")
    partly = verdict("Zoe Brown sang a duet under green lamps", [chapter], "full_details")
    assert (told.scores, partly.scores, len(told.items)) == ([1.0], [0.5], 1)
    assert list(verdict("I do not know.", [chapter], "full_details").items) == []
    assert len(verdict("Zoe sang.", [], "full_details").items) == 1
    without_words = verdict("Zoe sang.", ["…"], "full_details")
    assert (without_words.scores, without_words.items) == ([0.0], ["account"])


def test_an_answer_of_a_million_brackets_is_judged():
    """A search for pairs of brackets that began anew at each of them would take an hour."""
    assert list(verdict("(" * 1_000_000, ["Zoe Brown"]).scores) == [0.0]


@pytest.mark.parametrize(("text", "pieces"), [("On May 07, 2024 Anna Smith was there. ", 3), ("Anna Smith, ", 2)])
def test_an_answer_in_circles_is_normalised_no_more_often_for_more_rounds(monkeypatch, text, pieces):
    calls = []
    monkeypatch.setattr(lexical, "normal", lambda words, real=lexical.normal: calls.append(words) or real(words))
    verdict(text * 1_000, ["Jane Doe", "Bob Miller"])
    assert len(calls) <= 3 * pieces + 3
