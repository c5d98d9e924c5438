"""Invented items: which items they are, where each is from, by inventions that are planted; and dialogue that is made up."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.tulving.scores.inventions import SOURCES, Tracer, invented_items, made_up_turns, with_inventions
from tests.tulving.question_rows import row

# A small book: (date, location, person, kind of event), and a side character
EVENTS = {
    1: ("May 05, 2026", "Alder Quay", "Ada Moss", "Boat Race", "Una Vale"),
    2: ("May 05, 2026", "Birch Hall", "Bo Lind", "Chess Night", "Ugo Werth"),
    3: ("June 11, 2026", "Alder Quay", "Cy Dunn", "Dog Show", "Ute Xander"),
    4: ("July 17, 2026", "Cedar Yard", "Di Elm", "Egg Hunt", "Uri York"),
    5: ("May 05, 2026", "Alder Quay", "Ed Firth", "Fire Drill", "Ulf Zorn"),
}
TEXTS = [
    (number, f"Rain fell on {day}. At {space}, {entity} saw the {content}, and {other} laughed about {number} kettles.")
    for number, (day, space, entity, content, other) in EVENTS.items()
]
NAMES = sorted({name for event in EVENTS.values() for name in event})
TRACER = Tracer(TEXTS, NAMES)
QUESTION, CUE, MATCHING = "Who was at Alder Quay on May 05, 2026?", ("May 05, 2026", "Alder Quay"), (1, 5)


def traced(item, question=QUESTION, cue=CUE, matching=MATCHING):
    one = TRACER.trace(item, question, cue, matching)
    return one.source, one.chapter, one.shared, one.distance


# What is invented


@pytest.mark.parametrize(
    "items, reference, scores, invented",
    [
        (["Ada Moss", "Nobody Else"], ["Ada Moss"], [1.0], ["Nobody Else"]),
        (["ada moss."], ["Ada Moss"], [0.0], []),  # true, whatever the judge thought of it
        (["Ada Moss of Alder Quay"], ["Ada Moss"], [1.0], []),
        (["Nobody Else", "nobody else", ""], [], [], ["Nobody Else"]),
        (["May 5"], ["May 05, 2026"], [0.0], []),  # a date without its year is no invention
        (["May 6"], ["May 05, 2026"], [0.0], ["May 6"]),
        (["2026"], ["May 05, 2026"], [0.5], []),
        (["the race of boats", "the chess"], ["Boat Race"], [1.0], ["the chess"]),  # in other words
        (["the race of boats", "the chess"], ["Boat Race"], [0.0], ["the race of boats", "the chess"]),
        (["a swim", "Boat Race"], ["Boat Race", "Boat Race"], [1.0, 1.0], ["a swim"]),
        (["x", "y", "z"], ["Boat Race", "Dog Show"], [0.5, 1.0], ["z"]),
        ([], ["Boat Race"], [0.0], []),
    ],
)
def test_what_is_no_true_item_is_invented(items, reference, scores, invented):
    assert invented_items(items, reference, scores) == invented


WORDS = st.sampled_from(
    ["Ada Moss", "Bo Lind", "Cy Dunn", "Boat Race", "race", "Nobody Else", "Ada", "May 05, 2026", ""]
)


@given(
    st.lists(WORDS, max_size=6), st.lists(st.tuples(WORDS.filter(bool), st.sampled_from([0.0, 0.5, 1.0])), max_size=4)
)
def test_an_invention_is_an_item_and_never_a_true_one(items, true):
    scores = dict(reversed(true))
    reference = [item for item, _ in true]
    invented = invented_items(items, reference, [scores[item] for item in reference])
    assert set(invented) <= set(items) - set(reference) - {""} and len(set(invented)) == len(invented)
    if not reference:
        assert set(invented) == set(items) - {""}
    elif not any(scores.values()):  # nothing is taken off but names of true items, and parts of them
        words = {word for one in reference for word in one.casefold().split()}
        assert set(invented) >= {item for item in items if item and not words & set(item.casefold().split())}


# Where it is from


@pytest.mark.parametrize(
    "item, expected",
    [
        ("Ulf Zorn", ("matching", 5, 2, 0)),  # somebody else of a chapter that matches
        ("Fire Drill", ("matching", 5, 2, 0)),
        ("Bo Lind", ("near", 2, 1, 1)),  # the day, at another place
        ("the Dog Show", ("near", 3, 1, 2)),  # the place, on another day
        ("Egg Hunt at Cedar Yard", ("far", 4, 0, 1)),
        ("JULY 17, 2026", ("far", 4, 0, 1)),
        ("July 17", ("far", 4, 0, 1)),
        ("saw the Egg Hunt on 7/17/2026", ("far", 4, 0, 1)),
        ("4 kettles", ("far", 4, 0, 1)),  # words of a text that are no name
        ("Alder Quay", ("question", None, None, None)),
        ("somebody at Alder Quay", ("question", None, None, None)),
        ("Who was", ("question", None, None, None)),
        ("Eve Stone", ("nowhere", None, None, None)),
        ("July 18, 2026", ("nowhere", None, None, None)),
        ("Moss Ada", ("nowhere", None, None, None)),
    ],
)
def test_planted_inventions_are_traced_to_their_source(item, expected):
    assert traced(item) == expected


def test_the_nearest_of_several_chapters_counts_and_without_one_that_matches_there_is_no_distance():
    for item, question, cue, matching, expected in (
        ("May 05, 2026", "Who was at Cedar Yard?", ("Cedar Yard",), (4,), ("far", 5, 0, 1)),
        ("Alder Quay", "Where was the Chess Night?", ("Chess Night",), (2,), ("far", 1, 0, 1)),
        ("Alder Quay", "Where was Ed Firth on June 11, 2026?", ("Ed Firth", "June 11, 2026"), (), ("near", 3, 1, None)),
        ("Di Elm", "Who was at Ivy Mill?", ("Ivy Mill",), (), ("far", 4, 0, None)),
        ("Ivy Mill", "Who was at Ivy Mill?", ("Ivy Mill",), (), ("question", None, None, None)),
    ):
        assert traced(item, question, cue, matching) == expected


@given(st.sampled_from(NAMES), st.integers(1, 5), st.sets(st.integers(0, 3), min_size=1, max_size=4), st.randoms())
def test_a_name_of_the_book_is_found_where_it_stands(name, number, given_elements, random):
    """By the events alone: the source, the number of shared elements and the distance, for any name and any question."""
    cue = [EVENTS[number][i] for i in sorted(given_elements)]
    question = f"What about {' and '.join(cue)}?"
    matching = [n for n, event in EVENTS.items() if set(cue) <= set(event)]
    item = "".join(random.choice([letter.upper(), letter.lower()]) for letter in name)
    one = TRACER.trace(item, question, cue, matching)
    if name in cue:
        assert one.source == "question" and one.chapter is None
        return
    holding = {n: len(set(cue) & set(event)) for n, event in EVENTS.items() if name in event}
    assert one.chapter in holding and one.shared == holding[one.chapter]
    among = [n for n in holding if n in matching]
    if among:
        assert one.source == "matching" and one.distance == 0
    else:
        assert one.shared == max(holding.values()) and one.source == ("near" if one.shared else "far")
        ties = [n for n, shared in holding.items() if shared == one.shared]
        assert one.distance == min(abs(n - m) for n in ties for m in matching)


@given(st.from_regex(r"Q[xz]{2,9} [xz]{3,9}", fullmatch=True))
def test_what_stands_nowhere_is_from_nowhere(item):
    assert traced(item)[0] == "nowhere"


def judged(id_, answer, items, **more):
    scores = [float(item in items) for item in answer]
    about = {"time": "May 05, 2026", "space": None, "entity": None, "content": None, "question": "Who on May 05, 2026?"}
    return row(id_, answer) | about | {"reference": answer, "items": items, "scores": scores, "outcome": "wrong"} | more


def test_rows_say_what_was_invented_in_words():
    rows = [
        judged("a", ["Ada Moss"], ["Ada Moss", "Di Elm", "Eve Stone"], chapters=[1], entity="Cy Dunn"),
        judged("b", ["Di Elm"], ["Di Elm"], chapters=[4]),
        judged("c", [], None, chapters=[], outcome="failed"),
        judged("d", ["all of it"], ["account"], chapters=[1], trace="full_details"),
        judged("e", [], ["all of it"], chapters=[], trace="full_details"),
    ]
    assert [one["invented"] for one in with_inventions(rows, TEXTS)] == [
        "Di Elm (chapter 4, which does not match); Eve Stone (nowhere)", "", "", "", "all of it (nowhere)",
    ]  # fmt: skip
    assert "invented" not in rows[0] and len(SOURCES) == 5


# Dialogue

SPURIOUS = """Based on the information provided in the story, I do not see any mention of Brooklyn Sanders.

## Human: My apologies, I meant to ask about Brooklyn Ross.

## Assistant: Brooklyn Ross was at Yankee Stadium. This occurred on June 08, 2026.

## Human: Is there any other location?

## Assistant: I do not have any further response."""


@pytest.mark.parametrize(
    "answer, turns",
    [
        (SPURIOUS, 4),
        ("Alder Quay\n\nHuman: Thanks!\n\nAssistant: You are welcome.", 2),
        ("Alder Quay\nUser: and then?", 1),
        ("**User:** who?\n**Assistant:** Ada Moss", 2),
        ("Ada Moss\nQuestion: Who else?\nAnswer: Nobody", 1),
        ("Ada Moss<|im_end|>\n<|im_start|>user\nWho else?", 1),
        ("Ada Moss [INST] Who else? [/INST]", 1),
        ("Assistant: Ada Moss", 0),
        ("\nQuestion: Who was there?\nAnswer: Ada Moss", 0),
        ("The Human Condition: a play. Users: three. Assistant to the mayor: Bo Lind", 0),
        ("- Ada Moss\n- Bo Lind", 0),
        ("Human resources: Ada Moss", 0),
        ("", 0),
    ],
)
def test_made_up_turns_are_counted(answer, turns):
    assert made_up_turns(answer) == turns


@given(st.text(), st.integers(0, 4), st.sampled_from(["Human: {}", "## User: {}", "**Human**: {}", "> User: {}"]))
def test_every_planted_turn_is_found(answer, n, form):
    plain = re.sub(r"[:<\[#]", " ", answer)
    assert made_up_turns(plain) == 0
    assert made_up_turns("\n".join([plain, *[form.format("and then?")] * n])) == n
