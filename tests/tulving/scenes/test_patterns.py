"""Sentences with choices: what they can become, and what is refused."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.scenes.patterns import Sentence, expansions, longest_literal, parse, with_right_articles
from epbench.tulving.solving.frames import Frame

WORDS = st.text(string.ascii_letters, min_size=1, max_size=12)
PATTERNS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner | st.just(""), min_size=2, max_size=3).map(lambda choices: f"[{'|'.join(choices)}]"),
    ),
    max_leaves=8,
)


def every(text: str) -> set[str]:
    """Everything that a pattern without slots can become, found by brute force."""
    match = re.search(r"\[([^\[\]]*)\]", text)
    if match is None:
        return {text}
    return {
        result
        for choice in match[1].split("|")
        for result in every(text[: match.start()] + choice + text[match.end() :])
    }


@given(PATTERNS, st.integers(0, 99))
def test_a_written_sentence_is_one_of_its_texts(text, seed):
    assert Sentence(text).write_phrase(RandomStream(seed), str) in every(text)


@given(PATTERNS)
def test_the_number_of_texts_counts_every_draw(text):
    assert expansions(parse(text)) >= len(every(text))


def test_choices_slots_and_capital_letters():
    sentence = Sentence("[the|one] {thing} [came [in|out]|left], [|very ]slowly .")
    told = {sentence.write(RandomStream(seed), {"thing": "old hat"}.__getitem__) for seed in range(200)}
    assert len(told) == 12 and sentence.slots == {"thing"}
    assert {"The old hat came in, very slowly.", "One old hat left, slowly."} <= told


@pytest.mark.parametrize("text", ["[a|b", "a]", "a|b", "{thing", "thing}", "[a|[b]"])
def test_unmatched_marks_are_refused(text):
    with pytest.raises(BadInput, match="in pairs"):
        Sentence(text)


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ("a elegant hat", "an elegant hat"),
        ("an hat", "a hat"),
        ("a hour", "an hour"),
        ("An uniform", "A uniform"),
        ("a umbrella and a unimportant word", "an umbrella and an unimportant word"),
        ("an one-act play", "a one-act play"),
        ('a "odd" one', 'an "odd" one'),
        ("a ukulele", "a ukulele"),
        ("a X-ray of an T-shirt", "an X-ray of a T-shirt"),
        ("a MRI scan", "an MRI scan"),
    ],
)
def test_articles(found, right):
    assert with_right_articles(found) == right == with_right_articles(right)


def test_the_longest_stretch_between_choices():
    assert longest_literal(parse("one two [three|four five six seven] eight {slot} nine ten eleven")) == 3


@given(PATTERNS, st.integers(0, 9))
def test_the_expression_of_a_pattern_finds_what_is_written(text, seed):
    sentence = Sentence(text)
    written = sentence.write(RandomStream(seed), str)
    assert Frame(sentence).regex.fullmatch(written)
