"""What models put around a chapter comes off; what stands in a numbered paragraph never does."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.tulving.chapters.model_writer import QUESTIONS, read_verdict, unwrapped
from tests.reference_cases import VERDICTS, with_published

CHAPTER = "(1) At High Line, Zoe waited.\n\n(2) Let me know, she said.\n\n(3) # Nothing *came* of it:"

FRONTS = [
    "Chapter 3",
    "Chapter Title: The Gala",
    "# The Gala",
    "### Chapter IV: What Zoe Saw.",
    "**The Gala**",
    "*The Gala*",
    "Title: The Gala of all galas.",
    "The Night of the Long Tables",
    "Here is the chapter:",
    "Here's a chapter that keeps to all of your instructions.",
    "Sure! Here’s the chapter you asked for:",
    "Certainly.\n\nBelow is the revised chapter:",
    "**Chapter:**",
    "---",
    "```",
    "```markdown\n# The Gala",
    "Of course!\n\n---\n\n# The Gala\n",
]
BACKS = [
    "Let me know if you'd like another tone!",
    "---\n\nI hope this meets your needs. Shall I go on?",
    "*Note: the date stands in paragraph (2) only.*\n- place: paragraph 1\n- deed: paragraph 3",
    "(Word count: 312)",
    "[312 words]",
    "*End of chapter*",
    "THE END",
    "```",
    "```\n\nThe facts stand where you wanted them.\nAll four.",
    "***",
    "Would you like me to go on?",
    "If you'd like changes, feel free to ask.",
    "I've kept to the layout.",
    "",
]


@pytest.mark.parametrize("front", ["", *FRONTS])
@pytest.mark.parametrize("back", BACKS)
def test_a_wrapping_comes_off(front, back):
    if back.startswith("```\n") and "```" not in front:
        return  # what follows a fence is outside the chapter only where the chapter stands in a fence
    for chapter in (CHAPTER, CHAPTER.replace("\n\n", "\n")):
        assert unwrapped(f"{front}\n{chapter}\n{back}").strip() == chapter
        assert unwrapped(f"\n{front}\n\n{chapter}\n\n{back}\n").strip() == chapter


@pytest.mark.parametrize("text", [CHAPTER, f"\n\n {CHAPTER}\n \n", "", "no numbers\n# at all", "```\nnothing\n```"])
def test_what_is_not_wrapped_is_returned_as_it_is(text):
    assert unwrapped(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"It had rained all morning, and nobody came.\n\n{CHAPTER}",
        f'"Wait," she said.\n\n{CHAPTER}',
        f'"Sure!" she said. "Here is the chapter:"\n\n{CHAPTER}',
        f"Great crowds had come.\n\n{CHAPTER}",
        f"# The Gala\n\nIt had rained all morning.\n\n{CHAPTER}",
        f'{CHAPTER}\n\n"Let me know," she said, "if you come."',
        f"{CHAPTER}\n\nShe went home through the rain.",
        f"{CHAPTER}\n\n* * *\n\nThe end was not in sight.",
        f"{CHAPTER}\n```\nThe facts stand where you wanted them.",
        CHAPTER.replace("(2)", "# The Gala\n\n(2)"),
        CHAPTER.replace("(2)", "Let me know if it rains.\n\n(2)"),
    ],
)
def test_what_may_be_a_part_of_the_chapter_stays(text):
    assert unwrapped(text) == text


words = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=40)
chapters = st.lists(words, min_size=1, max_size=5).map(
    lambda paragraphs: "\n\n".join(f"({number}) {text}" for number, text in enumerate(paragraphs, 1))
)


@pytest.mark.slow
@settings(deadline=None)
@given(chapters, st.sampled_from(FRONTS), st.sampled_from(BACKS[:7]), st.sampled_from(["\n", "\n\n", "\n\n\n"]))
def test_a_wrapped_chapter_gives_the_same_text_as_a_clean_one(chapter, front, back, between):
    assert unwrapped(chapter) == chapter
    assert unwrapped(front + between + chapter) == chapter
    assert unwrapped(chapter + between + back) == chapter
    assert unwrapped(front + between + chapter + between + back) == chapter
    assert unwrapped(f"```\n{chapter}\n```{between}{back}") == chapter


lines = st.sampled_from([*FRONTS, *BACKS, "(1) one", "(2) two ", " (3) three", "She went home.", "", " "]) | words


@settings(deadline=None)
@given(st.lists(lines, max_size=8).map("\n".join))
def test_of_any_text_only_lines_around_the_numbered_ones_come_off(text):
    found = unwrapped(text)
    assert found in text and unwrapped(found) == found

    def inner(part):
        rows = part.split("\n")
        places = [place for place, row in enumerate(rows) if re.match(r"\s*\(\d+\)", row)]
        return rows[places[0] : places[-1] + 1] if places else rows

    assert inner(found) == inner(text)


RIGHT = '{"1": true, "2": true, "3": true, "4": true}'


def test_the_published_replies_are_read_as_the_reference_reads_them():
    """Where it crashes there is no verdict."""
    for case in with_published(VERDICTS, "verification_llm_cases.json"):
        result = case["result"]
        failed = [f"llm_{fact}" for fact, right in result.items() if not right] if isinstance(result, dict) else None
        assert read_verdict(case["text"]) == failed, case["text"]


def test_prose_fences_and_other_braces_do_not_matter():
    for reply in (
        RIGHT,
        f"Here it is:\n```json\n{RIGHT}\n```\nI hope this {{helps}}.",
        f'{{"1": …, "2": …, "3": …, "4": …}} asks for {RIGHT}',
        f'{{"answers": {RIGHT}}}',
        RIGHT.replace(", ", ",\n  "),
        '{"4": true, "3": true, "2": true, "1": true}',
    ):
        assert read_verdict(reply) == [], reply


def test_what_is_no_verdict():
    values = [RIGHT.replace("true", value) for value in ('"true"', "1", "null", "True")]
    keys = [RIGHT.replace("}", ', "5": true}'), RIGHT.replace("}", ', "4": false}'), RIGHT.replace('"4"', '"four"')]
    others = ["", "true, true, true, true", RIGHT[:-1], '{"1": true, "2": true, "3": true}']
    for reply in (*values, *keys, *others, '{"1": ' + "[" * 100_000 + "}"):
        assert read_verdict(reply) is None, reply[:80]


def test_the_first_verdict_counts():
    first = RIGHT.replace('"2": true', '"2": false')
    assert read_verdict(f"{first} or rather {RIGHT}") == ["llm_date"]


booleans = st.tuples(*[st.booleans()] * 4)


@given(booleans, st.text().filter(lambda text: not set("{}") & set(text)), st.text(), st.permutations(list(QUESTIONS)))
def test_any_verdict_is_read_from_any_prose(answers, before, after, order):
    told = dict(zip(QUESTIONS, answers, strict=True))
    verdict = read_verdict(before + json.dumps({number: told[number] for number in order}) + after)
    assert verdict == [f"llm_{fact}" for number, fact in QUESTIONS.items() if not told[number]]


@given(st.text(alphabet='{}[]":,1234 truefalsn\n'))
def test_no_reply_is_an_error(reply):
    assert set(read_verdict(reply) or ()) <= {f"llm_{fact}" for fact in QUESTIONS.values()}
