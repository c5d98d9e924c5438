"""Replies of a judge: what is read out of them, and what is refused with a word the judge can act on."""

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.errors import UnusableReply
from epbench.tulving.judging.load import read_order, read_verdict


def verdict(scores, items=(), reason="r"):
    return {"items": list(items), "scores": [{"number": n, "score": s} for n, s in scores], "reason": reason}


GOOD = json.dumps(verdict([(1, 1), (2, 0.5)], ["a", "b"]))


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Let me see. {{a}} is in it, {{b}} in part.\n\n{GOOD}\n\nI hope this helps {{always}}!",
        f"First I thought {json.dumps(verdict([(1, 0), (2, 0)]))}, but: {GOOD}",  # the last one counts
        json.dumps(verdict([(2, 0.5), (1, 1)], ["a", "b"]) | {"more": {"items": [], "scores": []}}),
        json.dumps(verdict([("1", "1"), (" 2 ", " 0.5\n")], ["a", "b"])),  # numbers as text are numbers
        json.dumps(verdict([("1.0", "1.0"), (2.0, "+.5")], ["a", "b"])),
        f'First {{"items": ["x"], "items": [], "scores": []}}, or rather {GOOD}',  # only the last object counts
    ],
)
def test_a_verdict_is_found_in_what_surrounds_it(reply):
    assert read_verdict(reply, 2) == (["a", "b"], [1.0, 0.5], "r")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no JSON object with items and scores"),
        ('{"items": []}', "no JSON object with items and scores"),
        (json.dumps(verdict([(1, 1)])), "1 scores were found, 2 are expected"),
        (json.dumps(verdict([(1, 1), (2, 1), (3, 1)])), "a score is"),
        (json.dumps(verdict([(1, 1), (1, 0)])), "true item 1 has two scores"),
        (json.dumps(verdict([(1, 1), (2, "high")])), 'the score of true item 2 is "high", a number from 0 to 1'),
        (json.dumps(verdict([(1, 5), (2, 1)])), "the score of true item 1 is 5, a number from 0 to 1"),
        (json.dumps(verdict([("1.5", 1), (2, 0)])), "a score is"),
        (GOOD.replace('"scores"', '"scores": [], "scores"'), 'the object has "scores" more than once'),
        (GOOD.replace('"number": 1', '"number": 2, "number": 1'), 'the object has "number" more than once'),
        (json.dumps(verdict([(1, 1), (2, math.nan)])), "the score of true item 2 is NaN"),
        (json.dumps(verdict([(1, True), (2, 0)])), "the score of true item 1 is true"),
        ('{"items": [], "scores": [1, 0.5]}', "a score is 1, an object with the number of a true item"),
        ('{"items": [], "scores": {"1": 1}}', "scores is"),
        ('{"items": "a", "scores": []}', 'items is "a", a list is expected'),
        (json.dumps(verdict([(1, 1), (2, 0)], [3])), "an item is 3, a text is expected"),
        ("[" * 100_000 + '{"items": ' * 3000, "no JSON object"),
    ],
)
def test_what_is_no_verdict_is_refused_with_its_fault(reply, problem):
    with pytest.raises(UnusableReply) as refused:
        read_verdict(reply, 2)
    assert problem in str(refused.value) and len(str(refused.value)) < 200


def test_scores_are_ignored_where_nothing_is_true():
    assert read_verdict('{"items": ["a", " "], "scores": "none"}', 0) == (["a"], [], "")
    assert read_verdict('{"items": []}', 0) == ([], [], "")


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ('{"order": [2, 1, 3]}', [1, 0, 2]),
        ('Order: ```{"order": [3, 3, 1, 3]}```', [2, 0]),
        ('{"order": []}', []),
        ('{"order": ["3", " 1.0 ", 2.0]}', [2, 0, 1]),
        ('{"order": ["2", 2, "2.0"]}', [1]),
    ],
)
def test_an_order_is_read_and_repeats_are_dropped(reply, order):
    assert read_order(reply, 3) == order


@pytest.mark.parametrize(
    "order",
    [[0, 1], [1, "4"], ["-1"], [1.5], ["one"], [True], [None], [math.nan], [10**400], [[1]], "12", {"1": 2}],
)
def test_an_order_with_other_things_in_it_is_refused(order):
    with pytest.raises(UnusableReply, match=r"the order has|order is"):
        read_order(json.dumps({"order": order}), 3)


texts = st.text(st.characters(codec="utf-8"), max_size=30)
numbers = st.integers(0, 1) | st.floats(0, 1)


@pytest.mark.slow
@settings(deadline=None)
@given(
    items=st.lists(texts, max_size=5),
    scores=st.lists(numbers, min_size=1, max_size=6),
    before=texts.filter(lambda text: "{" not in text),
    after=texts.filter(lambda text: "{" not in text),
    draws=st.randoms(use_true_random=False),
)
def test_what_a_judge_means_is_read_whatever_stands_around_it_and_in_which_order(items, scores, before, after, draws):
    entries = list(enumerate(scores, 1))
    draws.shuffle(entries)
    reply = before + json.dumps(verdict(entries, items)) + after
    found, given_scores, _ = read_verdict(reply, len(scores))
    assert found == [item.strip() for item in items if item.strip()]
    assert given_scores == scores


NO_NUMBERS = [*"one 1/2 nan NaN -Infinity inf -inf Infinity 1_0 \u0661 0x1 1e --1".split(), "", " ", "\x1c1", "\xa01"]


@settings(deadline=None)
@given(text=st.text(max_size=8) | st.sampled_from(NO_NUMBERS))
def test_a_text_that_is_no_number_is_refused(text):
    if re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", text, re.ASCII | re.IGNORECASE):
        return
    for scores in ([(1, text)], [(text, 1)]):
        with pytest.raises(UnusableReply):
            read_verdict(json.dumps(verdict(scores)), 1)
    with pytest.raises(UnusableReply):
        read_order(json.dumps({"order": [text]}), 1)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["number", "score", "x"]), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    reply=texts
    | st.builds(lambda items, scores: json.dumps({"items": items, "scores": scores}), anything, anything)
    | st.builds(lambda order: json.dumps({"order": order}), anything),
    n=st.integers(0, 4),
)
def test_any_reply_is_a_verdict_of_the_right_shape_or_refused(reply, n):
    try:
        items, scores, reason = read_verdict(reply, n)
    except UnusableReply:
        pass
    else:
        assert len(scores) == n and all(0 <= score <= 1 for score in scores) and isinstance(reason, str)
        assert all(isinstance(item, str) and item for item in items)
    try:
        order = read_order(reply, n)
    except UnusableReply:
        pass
    else:
        assert len(set(order)) == len(order) and set(order) <= set(range(n))
